"""Prints the verdicts of all trials as the page docs/trials.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from checkers.trials.record import Decided
from properties.claims.catalogue import CLAIMS
from properties.suites.registry import SUITES

PAGE: Final = Path(__file__).parent.parent / "docs" / "trials.md"
DECIDED: Final = ("holds", "violated")
TOP: Final = """<!-- Written by tools/trials.py from checkers/trials/record.json: do not edit. -->
# Results of trials

`urteil test SUITE --on SYSTEM` runs the programs of the property suites against a running system:
the same clients and the same rules that drive the simulated broker, in real time. After the last
rule all faults end, the system recovers, and the same definitions judge what the clients observed.

A claim *holds* here if no trial broke it. That is a search with a small budget, not a proof.
Outside its condition a claim should be *violated*: the last column says in how many of how many
runs the reduced program did so again. A claim is *undecided* if no trial showed what was expected,
or if the system cannot suffer the faults that it needs. The reference broker alone has seeded bugs,
so sides that need a bug are not listed.
"""


def page(rows: Sequence[Decided]) -> str:
    """Returns the page: a summary by system, then a table of each suite."""
    return "\n".join((TOP, *_lines(rows))).rstrip() + "\n"


def _lines(rows: Sequence[Decided]) -> Iterator[str]:
    systems = sorted({row.system for row in rows})
    yield "| System | Claims decided inside | Claims decided outside | Not as expected |"
    yield "|---|---|---|---|"
    for system in systems:
        ours = [row for row in rows if row.system == system]
        counts = (
            len({row.claim for row in ours if row.side == side and row.verdict in DECIDED})
            for side in ("inside", "outside")
        )
        odd = sum(row.verdict in DECIDED and row.verdict != row.expected for row in ours)
        inside, outside = counts
        yield f"| {system} | {inside} of {len(CLAIMS)} | {outside} of {len(CLAIMS)} | {odd} |"
    yield ""
    for system in systems:
        yield f"## {system}"
        yield ""
        for suite in SUITES:
            ours = [row for row in rows if (row.system, row.suite) == (system, suite)]
            if ours:
                yield from _table(suite, ours)


def _table(suite: str, rows: Sequence[Decided]) -> Iterator[str]:
    yield f"### {suite}"
    yield ""
    yield "| Claim | Setting | Side | Verdict | Because | Trials | Again |"
    yield "|---|---|---|---|---|---|---|"
    for row in sorted(rows, key=lambda it: (it.claim, it.side, it.setting)):
        is_odd = row.verdict in DECIDED and row.verdict != row.expected
        verdict = f"**{row.verdict}**" if is_odd else row.verdict
        why = row.why.replace("|", "\\|")
        yield (
            f"| {row.claim} | {row.setting} | {row.side} | {verdict} | {why} |"
            f" {row.trials} in {row.seconds:.0f} s | {row.again} |"
        )
    yield ""
