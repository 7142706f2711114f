"""Audits log directories in this process, and defines the parts that all audit engines share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import pyarrow as pa

from checkers.histories.columnar.rows import as_rows, in_order
from checkers.log_dirs import cross_partition
from checkers.log_dirs.columns import row_schema
from checkers.log_dirs.coordinator import coordinated
from checkers.log_dirs.folders import LogDirs, log_dirs
from checkers.log_dirs.in_process import InProcess
from checkers.log_dirs.one_log import Found
from checkers.log_dirs.partition_checks import FOUND, unpacked
from checkers.progress import Watcher, unwatched
from checkers.verdicts import HOLDS, UNDECIDED, VIOLATION, Verdict, verdict_on
from properties.log_audit.catalogue import CHECKS, named
from properties.log_audit.check import Check, many

KEPT: Final = 32  # rows per check that are kept as dataclasses: the first ones in order
Outcome = Literal["holds", "violated", "undecided", "nothing checked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict on one check of the audit.

    Each row of `rows` is a place in a log where the check failed. A check with a row is `violated`,
    even if Kafka's documents permit all its rows. The check for messages of an old format is an
    exception: with a row it is `undecided`, because these messages are not audited.
    """

    check: Check
    verdict: Verdict
    count: int
    observations: int
    permitted: bool = False  # True if every row is permitted
    reason: str | None = None  # why the check is undecided, or the condition that permits its rows
    first: tuple[Any, ...] = ()  # at most KEPT rows, by topic partition and offset
    rows: pa.Table = field(repr=False, compare=False)  # all rows, in the same order


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    logs: int
    partitions: int
    segments: int
    batches: int
    decisions: tuple[Decision, ...]

    @property
    def verdict(self) -> Outcome:
        """Returns the verdict on all checks together. Violations that Kafka's documents permit do
        not count.

        The verdict is `nothing checked` if no record batch was read.
        """
        if any(d.verdict == "violated" and not d.permitted for d in self.decisions):
            return "violated"
        if not self.batches:
            return "nothing checked"
        undecided = any(d.verdict == "undecided" for d in self.decisions)
        return "undecided" if undecided else "holds"

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 0 if the verdict is `holds`, 1 if it is `violated`, and
        3 if it is `undecided` or `nothing checked`.
        """
        return {"holds": HOLDS, "violated": VIOLATION}.get(self.verdict, UNDECIDED)


class Engine(Protocol):
    def judged(self) -> pa.Table:
        """Returns the results of all checks that need only one topic partition."""
        ...

    def compared(self, suspects: pa.Table) -> pa.Table:
        """Returns the records that differ between replicas. Only the records of the batches in
        `suspects` are compared.
        """
        ...


def audit(
    folders: Sequence[Path], *, checks: tuple[str, ...] = (), watch: Watcher = unwatched
) -> Audit:
    """Audits the folders in this process. `checks` has the names of the checks to run; if it is
    empty, all checks run.

    Raises UnreadableLogDir for a folder that cannot be read, and UnknownName for an unknown check.
    """
    chosen = named(checks)
    dirs = log_dirs(folders)
    return audit_of(dirs, InProcess(dirs, watch), chosen)


def audit_of(dirs: LogDirs, engine: Engine, chosen: Sequence[Check]) -> Audit:
    found = engine.judged() if dirs.logs else FOUND.empty_table()
    batches = unpacked(found, "batches").observations
    everything = _everything(dirs, engine, found) if batches else {}
    return Audit(
        logs=len(dirs.logs),
        partitions=len(dirs.partitions),
        segments=len(dirs.segments),
        batches=batches,
        decisions=tuple(_decision(check, everything.get(check.id)) for check in chosen),
    )


def _everything(dirs: LogDirs, engine: Engine, found: pa.Table) -> dict[str, Found]:
    rows_of = {check.id: unpacked(found, check.id) for check in CHECKS}
    newest = found.filter(found["check"].to_numpy(zero_copy_only=False) == "newest_ms")
    newest_ms = max(newest["observations"].to_pylist())
    states = coordinated(dirs)
    for one in cross_partition.open_transactions(unpacked(found, "open"), newest_ms, states):
        rows_of[one.check] = one
    split = cross_partition.split_transactions(unpacked(found, "closings"))
    rows_of[split.check] = split
    suspects = unpacked(found, "suspects")
    differ = unpacked(engine.compared(suspects.rows), "replica-divergence")
    rows_of[differ.check] = Found(
        check=differ.check,
        observations=suspects.observations + differ.observations,
        rows=differ.rows,
    )
    return rows_of


def _decision(check: Check, found: Found | None) -> Decision:
    if found is None:
        nothing = row_schema(check.row).empty_table()
        return Decision(
            check=check,
            verdict="undecided",
            count=0,
            observations=0,
            reason="these folders contain no batch",
            rows=nothing,
        )
    rows = in_order(found.rows) if found.rows.num_columns else row_schema(check.row).empty_table()
    verdict = verdict_on(rows.num_rows, found.observations)
    reason, permitted = None, False
    if rows.num_rows and check.unread:
        verdict, reason = "undecided", f"{many(rows.num_rows, 'place')} not audited"
    elif rows.num_rows and check.permits:
        permitted, reason = _permitted(check, rows)
    return Decision(
        check=check,
        verdict=verdict,
        count=rows.num_rows,
        observations=found.observations,
        permitted=permitted,
        reason=reason,
        first=as_rows(rows.slice(0, KEPT), check.row),
        rows=rows,
    )


def _permitted(check: Check, rows: pa.Table) -> tuple[bool, str | None]:
    conditions = {check.permitted(row) for row in as_rows(rows, check.row)}
    if None in conditions:
        return False, None
    names = sorted(condition for condition in conditions if condition is not None)
    return True, "; ".join(f"{name}: {check.permits[name]}" for name in names)
