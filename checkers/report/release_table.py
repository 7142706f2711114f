"""Renders the table of `--kafka` as text: the claims that do not hold in a release of Kafka, and
the versions of the spec that fix them. This is a table with one release and one spec:

    Kafka 4.3
      reassignment
        ✗ leader_completeness  violated in kafka-4.3, 15 steps   holds in elr-of-replicas
        ✓ 7 other claims hold in kafka-4.3

Here `kafka-4.3` and `elr-of-replicas` are versions of the spec `reassignment`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from checkers.events import ReleaseDecided
from checkers.report.decisions import MARKS, many

WIDTH = 100


def release_table(decided: Sequence[ReleaseDecided], *, verbose: bool = False) -> str:
    """Returns the table as text. In each spec, the claims that do not hold come first.

    The claims that hold have one line for each spec, or, if `verbose` is true, one line for each
    claim.
    """
    open_claims = [one for one in decided if one.claim and one.verdict != "holds"]
    widest = max((len(one.claim or "") for one in open_claims), default=0)
    wide = max((len(_of_release(one)) for one in open_claims), default=0)
    lines: list[str] = []
    for release, of_release in groupby(decided, key=lambda one: one.release):
        lines.append(f"Kafka {release}")
        for spec, rows in groupby(of_release, key=lambda one: one.spec):
            lines.append(f"  {spec}")
            lines += [f"    {line}" for line in _spec(list(rows), widest, wide, verbose=verbose)]
    return "\n".join(lines)


def verdict_of_release(row: ReleaseDecided) -> str:
    """Returns a line such as `violated in kafka-4.3, 15 steps; holds in elr-of-replicas`."""
    return "; ".join(filter(None, (_of_release(row), _of_fix(row))))


def _spec(
    rows: Sequence[ReleaseDecided], widest: int, wide: int, *, verbose: bool
) -> Iterator[str]:
    for row in rows:
        if row.verdict is None:
            yield from wrap(f"- {row.reason}", WIDTH, subsequent_indent="  ")
        elif row.verdict != "holds":
            mark = MARKS[row.verdict]
            line = f"{mark} {row.claim:<{widest}}  {_of_release(row):<{wide}}  {_of_fix(row)}"
            yield line.rstrip()
    holding = [row for row in rows if row.verdict == "holds"]
    if verbose:
        yield from (
            f"{MARKS['holds']} {row.claim:<{widest}}  {_of_release(row)}" for row in holding
        )
    elif holding:
        yield f"{MARKS['holds']} {_counted(holding)} in {_names(row.variant for row in holding)}"


def _counted(holding: Sequence[ReleaseDecided]) -> str:
    return f"{many(len(holding), 'claim')} {'holds' if len(holding) == 1 else 'hold'}"


def _names(variants: Iterable[str | None]) -> str:
    return ", ".join(dict.fromkeys(filter(None, variants)))


def _of_release(row: ReleaseDecided) -> str:
    if row.verdict is None:
        return row.reason or "no version"
    steps = "" if row.steps is None else f", {many(row.steps, 'step')}"
    return f"{row.verdict} in {row.variant}{steps}"


def _of_fix(row: ReleaseDecided) -> str:
    if row.fixed_by is None:
        return ""
    return f"{row.fixed_verdict} in {row.fixed_by}"
