"""Writes the page docs/mutants.md from the recorded results of `tools.mutants`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tools.mutants.record import Tried

PAGE: Final = Path(__file__).parents[2] / "docs" / "mutants.md"
COLUMNS: Final = ("killed", "survived", "crash", "timeout")
TOP: Final = """<!-- Written by tools/mutants: do not edit. -->
# Mutants

A test suite that passes says little until it is seen to fail. `python -m tools.mutants` changes one
point of the product at a time. It runs the tests of the changed part, and then tests that judge the
part from outside. These are the simulation and the property suites, the counts and verdicts of a
spec, or the agreement of a kernel with its definition. A seed draws the points. The parts with the
fewest mutants tried come first.

A mutant is *killed* if a test fails by an assertion, or by a line such as `(row,) = rows`, which
asserts that there is one row. A *crash* (another exception, or an assertion of the product itself)
and a *timeout* are counted apart and are no kills; after a crash the tests go on, because a later
assertion may fail. The *score* is the share of killed mutants among those that were killed or
survived, rounded down.

Open survivors are tried again when tests are added. So the score is that of the tests of today, and
higher than the share that was killed at first. An *explained* survivor is equivalent to the source,
for the reason in the list below. The score counts it as survived. The last column leaves it out, as
is usual, because no test can kill it: that is the share of killed mutants among those that were
killed or are open.

One process imports the product and collects the tests of a part once. For each mutant it forks, and
the fork gives the changed functions their new code. The first tests are those in the file that has
the path of the mutated one. If the mutant survives them, the part's own tests follow, and then
those that judge it from outside. Tests that call a changed function come before others, and quick
tests before slow ones. A change of a table, or of another line that runs during the imports, needs
new imports instead. That is the slow and obvious way, and `--both-ways` tries recorded mutants in
both: each must survive in both or in neither.

`make mutants` goes on where the record ends. `python -m tools.mutants --again survived` tries the
open survivors again, and `--changed` all mutants of the lines that differ from `main`.
"""
WHY: Final = """
## Why a tool of our own

- mutmut 3 replaces functions by trampolines. It leaves tables at module level alone, and a spec is
  traced from its methods' own source. Its result is the exit code of the tests.
- cosmic-ray starts a test command for each mutant and takes every failure for a kill, crashes
  too. It does not select tests by the changed part of the product.
- mutatest has had no release since 2022.

None of them separates an assertion from a crash, which is what the score rests on.
"""
CRASHES: Final = """
## Crashes

No assertion failed, but other exceptions ended some tests. *no value*: each call that ran the
changed statement ended in the same exception, or the module could not be imported. So no value came
back that an assertion could compare. The calls are counted until twenty tests have crashed. They
are not counted in a mutant that needs new imports. *open*: some calls returned, and a better test
may kill the mutant."""
FOOT: Final = """
## What the score does not say

Only points that the operators of `tools/mutants/mutations.py` reach are changed, one at a time, and
only those that were drawn. A survivor may be killed by a test that the list of its part leaves out:
the list is chosen for speed. The wire, the simulation and the command line are not mutated, nor are
the bugs, claims and proofs of specs and the seeded bugs of the broker. An assertion of the product
is no point, and neither is `strict=True`, which asserts that two sequences are equally long.
"""


def page(rows: Iterable[Tried], points: Mapping[str, int]) -> str:
    """Returns the page: a score for each part of the source code, and the mutants that survived.

    `points` has the number of mutants of each part, in the order of the parts on the page.
    """
    ordered = sorted(rows, key=lambda row: (row.file, row.line, row.id))
    table = _scores(ordered, points)
    lists = (*_survivors(ordered, points), CRASHES, *_crashes(ordered, points))
    return "\n".join((TOP, *table, WHY, *lists, FOOT)).rstrip() + "\n"


def _scores(rows: list[Tried], points: Mapping[str, int]) -> Iterator[str]:
    yield (f"| part | of | tried | {' | '.join(COLUMNS)} | explained | score | without explained |")
    yield "|---|---|---|" + "---|" * len(COLUMNS) + "---|---|---|"
    for part, number in points.items():
        yield _score(part, number, [row for row in rows if row.room == part])
    yield _score("all", sum(points.values()), rows)


def _score(name: str, number: int, rows: list[Tried]) -> str:
    counts = Counter(row.outcome for row in rows)
    killed, survived = counts["killed"], counts["survived"]
    numbers = " | ".join(str(counts[column]) for column in COLUMNS)
    explained = sum(row.outcome == "survived" and bool(row.reason) for row in rows)
    scores = f"{_share(killed, survived)} | {_share(killed, survived - explained)}"
    return f"| {name} | {number:,} | {len(rows):,} | {numbers} | {explained} | {scores} |"


def _share(killed: int, survived: int) -> str:
    decided = killed + survived
    return f"{100 * killed // decided} %" if decided else ""  # 100 % only if all are killed


def _survivors(rows: list[Tried], points: Mapping[str, int]) -> Iterator[str]:
    yield "## Survivors\n"
    yield "*open*: no test sees the mutant, and nobody has shown yet that none can."
    for part in points:
        some = [row for row in rows if row.room == part and row.outcome == "survived"]
        if some:
            yield f"\n### {part}\n"
            yield "| where | change | reason |"
            yield "|---|---|---|"
        for row in some:
            yield f"| {_where(row)} | {_change(row)} | {row.reason or 'open'} |"


def _crashes(rows: list[Tried], points: Mapping[str, int]) -> Iterator[str]:
    for part in points:
        some = [row for row in rows if row.room == part and row.outcome == "crash"]
        if some:
            yield f"\n### Crashes of {part}\n"
            yield "| where | change | exception | calls that raise | why no assertion sees it |"
            yield "|---|---|---|---|---|"
        for row in some:
            calls = f"{row.raised:,} of {row.ran:,}" if row.ran else ""
            reason = row.reason or ("no value" if no_value(row) else "open")
            yield f"| {_where(row)} | {_change(row)} | {_code(row.error)} | {calls} | {reason} |"


def no_value(row: Tried) -> bool:
    """Returns True if each call that ran the changed statement ended in the same exception, or if
    the module cannot be imported.
    """
    fails_to_import = not row.ran and "::" not in row.test
    return fails_to_import or 0 < row.ran == row.raised


def is_undefended(row: Tried) -> bool:
    """Returns True if the mutant survives or crashes, and nothing explains this. A crash explains
    itself if the changed line returns no value.
    """
    if row.reason:
        return False
    return row.outcome == "survived" or (row.outcome == "crash" and not no_value(row))


def _where(row: Tried) -> str:
    return f"{row.file.removeprefix(row.room)}:{row.line} {row.scope}".strip("/ ")


def _change(row: Tried) -> str:
    return f"{row.operator}: {_code(row.before)} → {_code(row.after) or 'nothing'}"


def _code(text: str) -> str:
    short = text if len(text) <= 60 else f"{text[:59]}…"
    return f"`` {short.replace('|', chr(92) + '|')} ``" if short else ""
