"""Writes the page docs/hunt.md from the recorded runs of the hunt for unreported defects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tools.hunt.record import Row

PAGE: Final = Path(__file__).parents[2] / "docs" / "hunt.md"
TOP: Final = """<!-- Written by tools/hunt from benchmarks/results/hunt.json: do not edit. -->
# The hunt

`python -m tools.hunt` looks for defects that nobody has reported. Each run draws, from its seed, a
version of Apache Kafka, settings, features, a workload, faults and changes of the cluster:
reassignments, elections and configurations of topics. Real clients record a history. `urteil
analyze` judges the history, and the log directories of the brokers.

Every run is listed, also those that found nothing. A run *holds* if no forbidden anomaly was found
in its few minutes: that is a search, not a proof. *Permitted* anomalies occurred, and Kafka's
promises allow them. `python -m tools.hunt --seed N --on VERSION --runs 1` repeats the plan of a
seed, but not the order in which real threads run. The seeds 1 to 6, and the first run of seed 7,
had longer plans of an earlier version.
"""
NOT_TRIED: Final = """
## What the hunt does not try
The hunt uses three brokers and one controller on one machine, and librdkafka as the only client.
It tries none of these: faults of the controller, lost disks, a power loss of all brokers at once,
cut links (`urteil test --on` draws those), compacted topics, deleted records or topics, share
groups, tiered storage, and an upgrade between versions.
"""


def page(rows: Sequence[Row]) -> str:
    """Returns the page: the totals of each version, the violations, the known defects, and all
    runs.
    """
    return "\n".join((TOP, *_lines(rows))).rstrip() + "\n"


def _lines(rows: Sequence[Row]) -> Iterator[str]:
    drawn = [row for row in rows if not row.known]
    yield from _totals(drawn)
    yield "## What broke"
    broken = [row for row in drawn if row.verdict == "violated"]
    yield from _runs(broken) if broken else ("No drawn run broke a promise.", "")
    yield "## Runs that must find a violation"
    yield "Plans of settings that promise less: they must break."
    yield ""
    yield from _runs([row for row in rows if row.known])
    yield "## What was not found"
    yield from _not_found(drawn)
    yield NOT_TRIED
    yield "## All drawn runs"
    yield from _runs(drawn)


def _totals(rows: Sequence[Row]) -> Iterator[str]:
    yield "| version | runs | minutes | operations | faults | changes | violated | no verdict |"
    yield "|---|---|---|---|---|---|---|---|"
    versions: dict[str, list[Row]] = {"all": [*rows]}
    for row in sorted(rows, key=lambda it: it.version):
        versions.setdefault(row.version, []).append(row)
    for version, ours in versions.items():
        faults = sum(sum(row.faults.values()) for row in ours)
        changes = sum(sum(row.changes.values()) for row in ours)
        yield (
            f"| {version} | {len(ours)} | {sum(row.seconds for row in ours) / 60:.0f} |"
            f" {sum(row.operations for row in ours)} | {faults} | {changes} |"
            f" {sum(row.verdict == 'violated' for row in ours)} |"
            f" {sum(row.verdict not in ('holds', 'violated') for row in ours)} |"
        )
    yield ""


def _not_found(rows: Sequence[Row]) -> Iterator[str]:
    held = [row for row in rows if row.verdict == "holds"]
    if not held:
        yield f"None of {len(rows)} drawn runs has held, so this page does not say what is absent."
        return
    minutes = sum(row.seconds for row in held) / 60
    yield (
        f"{len(held)} of {len(rows)} drawn runs hold, with {sum(row.operations for row in held)}"
        f" operations in {minutes:.0f} minutes. In these runs no acknowledged record was lost,"
        " duplicated or reordered, no reader at read_committed received an aborted or open"
        " transaction, no group's offset went back, and no two replicas differed below their high"
        " watermarks."
    )


def _runs(rows: Sequence[Row]) -> Iterator[str]:
    yield ""
    yield "| seed | day | version | workload | faults | changes | operations | s | verdict | why |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        broke = ", ".join(row.violated) or row.reason.replace("|", "\\|").replace("\n", " ")
        because = f" ({row.finding})" if row.finding else ""
        permitted = f"permitted: {', '.join(row.permitted)}" if row.permitted else ""
        why = "; ".join(filter(None, (f"{broke}{because}", permitted)))
        yield (
            f"| {row.known or row.seed} | {row.day} | {row.version} | {row.workload} |"
            f" {_counted(row.faults)} | {_counted(row.changes)} | {row.operations} |"
            f" {row.seconds:.0f} | {row.verdict} | {why} |"
        )
    yield ""


def _counted(kinds: dict[str, int] | object) -> str:
    counts = kinds if isinstance(kinds, dict) else {}
    return ", ".join(f"{name} {count}" for name, count in counts.items())
