"""Builds the page docs/seeds.md from the recorded results of `tools.seeds`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from tools.seeds.campaign import SEEDS, Search
from tools.seeds.record import INSIDE, Row, Searched

PAGE: Final = Path(__file__).parents[2] / "docs" / "seeds.md"
TOP: Final = """<!-- Written by tools/seeds: do not edit. -->
# Ten seeds

A suite searches for runs by chance, so its verdicts may depend on the seed. `make seeds` repeats
the searches of `urteil test` and `urteil test --outside` on the seeds 0 to 9, at the profile `pr`.
Inside the conditions of its claims, a suite must find no violation, and must find a run for each
behaviour that the claims call possible. Outside, it must break each claim. A search that had to
find something and did not is *undecided*.
"""


def page(every: Collection[Search], rows: Mapping[Searched, Row]) -> str:
    """Returns the page: for each suite, the number of seeds with the expected verdicts."""
    return "\n".join((TOP, *_lines(every, rows))).rstrip() + "\n"


def _lines(every: Collection[Search], rows: Mapping[Searched, Row]) -> Iterator[str]:
    done = sum(one.key in rows for one in every)
    wrong = [row for row in rows.values() if row.other]
    yield (
        f"{done:,} of {len(every):,} searches are done; {len(wrong)} had another verdict than the "
        "expected one."
    )
    yield ""
    yield "| suite | claims | as expected, of seeds tried | CPU of a seed, at most |"
    yield "|---|---|---|---|"
    for suite, where in dict.fromkeys((it.key.suite, it.key.where) for it in every):
        of = [
            row
            for seed in SEEDS
            if (row := rows.get(Searched(suite=suite, where=where, seed=seed)))
        ]
        expected = sum(not row.other for row in of)
        if not of:
            yield f"| {suite} | {where} | not tried | |"
            continue
        claims = f"{of[0].claims} inside" if where == INSIDE else where
        longest = max(row.cpu_s for row in of)
        yield f"| {suite} | {claims} | {expected} of {len(of)} | {longest:.1f} s |"
    yield ""
    yield "## Other verdicts"
    yield ""
    if not wrong:
        yield "None is known."
    for row in sorted(wrong, key=lambda it: it.searched):
        for claim, verdict in row.other.items():
            at = row.searched
            yield f"- {at.suite}, {at.where}, seed {at.seed}: {claim} is {verdict}."
