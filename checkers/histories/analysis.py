"""Analyzes a history without Spark (`analyze`), and defines the verdicts that all engines return.

If the history breaks an assumption, the analysis gives no verdict on any anomaly. The fault may be
the recorder's, and must not be reported as the broker's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa

from checkers.histories import deciding
from checkers.histories.anomalies.findings import Finding
from checkers.histories.columnar.memory import keep_freed
from checkers.histories.columnar.rows import as_rows, in_order, sizes
from checkers.histories.io.locations import Location
from checkers.histories.io.operation_rows import as_operations
from checkers.histories.io.partitions import (
    MAX_READS_PER_ROW,
    HistoryPartition,
    TableRows,
    partition_size,
    partitions_of,
    reads_per_row,
    row_groups_of,
    sorted_by_operation,
)
from checkers.histories.io.reading import parquet_parts
from checkers.histories.io.row_rules import refuse
from checkers.histories.plan.cost import PassCost
from checkers.histories.plan.dataset import HistoryDataset
from checkers.histories.plan.in_process import LocalDataset
from checkers.histories.shortening import shortened, with_short_texts
from checkers.progress import Progress, Watcher, unwatched
from checkers.verdicts import HOLDS, UNDECIDED, VIOLATION, Verdict, verdict_on
from model.histories import Operation
from properties.anomalies.anomaly import Anomaly, Row
from properties.anomalies.assumptions import (
    ASSUMPTIONS,
    Assumption,
    AssumptionRow,
    BackwardsOperation,
    MixedOperation,
    OverlappingOperations,
    RepeatedValue,
)
from properties.anomalies.catalogue import named
from properties.anomalies.consequences import Consequence, causes
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.contradictions import Judged, judged
from properties.delivery import Delivery, breaking

KEPT: Final = 32  # rows of an anomaly that are kept with their operations, the worst first
PICTURED: Final = 8  # rows of an anomaly that get a timeline, with nearby operations
AROUND: Final = 10  # operations before and after each operation of the row, in a timeline
NAMED: Final = 16  # operations of the row in a timeline, at most
_ROW_OF: Final[dict[str, type[Any]]] = {
    "whole-operations": MixedOperation,
    "time-goes-forward": BackwardsOperation,
    "one-open-operation": OverlappingOperations,
    "values-are-unique": RepeatedValue,
}

Outcome = Literal["holds", "violated", "assumptions broken", "nothing checked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict on one anomaly.

    The verdict is `violated` if the anomaly occurs in the history, even if the anomaly is
    permitted. The verdict is `not exercised` if no observation of a client could have revealed the
    anomaly.
    """

    anomaly: Anomaly
    verdict: Verdict
    count: int
    observations: int  # the number of observations that could have shown the anomaly
    permitted: bool = False
    reason: str | None = None  # why the anomaly is undecided, or why it is permitted
    worst: tuple[Row, ...] = ()  # at most KEPT, the worst first
    follows: tuple[Consequence, ...] = ()  # anomalies that occur, from which this one may follow
    rows: pa.Table = field(repr=False, compare=False)  # all rows, the worst first


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenAssumption:
    assumption: Assumption
    count: int
    rows: tuple[AssumptionRow, ...]  # at most KEPT
    every: pa.Table = field(repr=False, compare=False)  # all rows, in order


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The result of an analysis: a decision on each anomaly of a history, and its broken
    assumptions.

    If an assumption is broken, each decision has the verdict `undecided`.
    """

    history: str
    operations: int
    micro_operations: int
    started_ns: int  # when the first operation was invoked
    decisions: tuple[Decision, ...]
    broken: tuple[BrokenAssumption, ...]
    shown: Mapping[int, Operation] = field(repr=False)  # operations of the worst rows, and nearby
    delivered: tuple[Delivery, ...] = ()  # of each application; only if all anomalies are decided
    passes: tuple[PassCost, ...] = field(default=(), repr=False, compare=False)

    @property
    def verdict(self) -> Outcome:
        """The verdict on the whole history. An anomaly that is permitted does not make the
        verdict `violated`.
        """
        if self.broken:
            return "assumptions broken"
        if any(d.verdict == "violated" and not d.permitted for d in self.decisions):
            return "violated"
        checked = any(d.verdict in ("holds", "violated") for d in self.decisions)
        return "holds" if checked else "nothing checked"

    @property
    def delivery(self) -> Judged | None:
        """The strongest delivery semantics of the history, such as `at-least-once`.

        The property is None if no application received a record, or if only some anomalies were
        checked.
        """
        violated = [d for d in self.decisions if d.verdict == "violated" and not d.permitted]
        return judged(self.delivered, (d.anomaly.id for d in violated))

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 0 for the verdict `holds`, 1 for `violated`, and 3 for
        any other verdict.
        """
        return {"holds": HOLDS, "violated": VIOLATION}.get(self.verdict, UNDECIDED)


def analyze(
    history: Location | pa.Table,
    *,
    anomalies: tuple[str, ...] = (),
    declared: Declarations = NOTHING_DECLARED,
    watch: Watcher = unwatched,
) -> Analysis:
    """Returns the verdicts on the anomalies with the names `anomalies`. If `anomalies` is empty,
    all anomalies are checked.

    Raises UnreadableHistory if the history cannot be read, and UnknownName if there is no anomaly
    with such a name.
    """
    chosen = named(anomalies, declared)
    keep_freed()
    with tempfile.TemporaryDirectory(prefix="urteil-history-") as folder:
        if not isinstance(history, pa.Table):
            watch(Progress(stage="reading the history"))
            dataset = LocalDataset(partitioned(history, Path(folder)), watch)
            return analysis_of(dataset, chosen, name=str(history), declared=declared)
        dataset = LocalDataset(partitions_of([TableRows(history)]), watch)
        return analysis_of(dataset, chosen, name="a table", declared=declared)


def partitioned(
    history: Location, folder: Path, rows_per_partition: int | None = None
) -> tuple[HistoryPartition, ...]:
    """Returns the partitions of a stored history. All rows of an operation are in the same
    partition.

    If necessary, the function first rewrites the history as Parquet files in `folder`. If
    `rows_per_partition` is None, the size of a partition depends on the number of rows. Raises
    UnreadableHistory if the history cannot be read.
    """
    # A history that is not Parquet is first written as Parquet into `folder`.
    parts = parquet_parts(history, folder / "read")
    row_ranges = row_groups_of(parts)
    size = rows_per_partition or partition_size(sum(one.rows for one in row_ranges))
    partitions = partitions_of(row_ranges, size)
    if reads_per_row(partitions, row_ranges) <= MAX_READS_PER_ROW:
        return partitions
    ordered = sorted_by_operation(row_ranges, folder / "in-order")
    return partitions_of(row_groups_of(ordered), size)


def analysis_of(
    dataset: HistoryDataset,
    chosen: Iterable[Anomaly],
    *,
    name: str,
    declared: Declarations = NOTHING_DECLARED,
    shuffle_partitions: int | None = None,
    decided: Callable[[Decision], None] | None = None,
) -> Analysis:
    """Returns the verdicts on the anomalies in `chosen`, for a history in a dataset.

    `name` is the name of the history in the result. If `decided` is not None, it is called with
    each decision.
    """
    chosen = tuple(chosen)
    wanted, delivery = deciding.wanted_by(chosen, declared)
    passes: list[PassCost] = []
    measured = dataset.measured_by(passes.append)
    with deciding.cached(measured, wanted, delivery=delivery) as history:
        found = deciding.decide(history, wanted, declared, shuffle_partitions, delivery=delivery)
        refuse(found.invalid, name)
        decisions = _decisions(found, chosen, declared)
        for decision in decisions:
            if decided:
                decided(decision)
        ops = _to_show(decision.worst for decision in decisions)
        ops.update(op for it in breaking(found.delivered) for op in it.ops)
        shown = dict(_operations(deciding.rows_of(history, ops))) if ops else {}
    return Analysis(
        history=name,
        operations=found.totals.operations,
        micro_operations=found.totals.micro_operations,
        started_ns=found.totals.started_ns,
        decisions=tuple(decisions),
        broken=tuple(_broken(finding) for finding in found.broken),
        shown=shown,
        delivered=shortened(found.delivered),
        passes=tuple(passes),
    )


def _decisions(
    found: deciding.Decided, chosen: Iterable[Anomaly], declared: Declarations
) -> list[Decision]:
    if found.broken:
        ids = ", ".join(finding.id for finding in found.broken)
        return [_undecided(anomaly, f"assumptions broken: {ids}") for anomaly in chosen]
    if any(one.observations for one in found.anomalies.values()):
        return _with_causes(
            [_decision(anomaly, _finding(anomaly, found.anomalies), declared) for anomaly in chosen]
        )
    return [_undecided(anomaly, "nothing to observe") for anomaly in chosen]


def _to_show(worst: Iterable[tuple[Row, ...]]) -> set[int]:
    ops: set[int] = set()
    for rows in worst:
        ops.update(op for row in rows for op in row.ops)
        # a timeline also shows the operations around
        for row in rows[:PICTURED]:
            for op in row.ops[:NAMED]:
                ops.update(range(max(0, op - AROUND), op + AROUND + 1))
    return ops


def _finding(anomaly: Anomaly, found: Mapping[str, Finding]) -> Finding:
    parts = [found[name] for name in anomaly.made_of or (anomaly.id,)]
    return Finding(
        id=anomaly.id,
        rows=pa.concat_tables([part.rows for part in parts]),
        observations=max(part.observations for part in parts),
    )


def _decision(anomaly: Anomaly, finding: Finding, declared: Declarations) -> Decision:
    rows = in_order(finding.rows, sizes(finding.rows, anomaly.row))
    reasons = [why for when, why in anomaly.permits.items() if when in declared.conditions()]
    return Decision(
        anomaly=anomaly,
        verdict=verdict_on(rows.num_rows, finding.observations),
        count=rows.num_rows,
        observations=finding.observations,
        permitted=bool(rows.num_rows and reasons),
        reason="; ".join(reasons) if rows.num_rows and reasons else None,
        worst=shortened(as_rows(rows.slice(0, KEPT), anomaly.row)),
        rows=rows,
    )


def _with_causes(decisions: list[Decision]) -> list[Decision]:
    keys = {d.anomaly.id: _keys(d.rows) for d in decisions if d.verdict == "violated"}
    return [
        replace(
            decision,
            follows=tuple(
                one
                for one in causes(decision.anomaly.id, keys)
                if _overlap(keys[one.cause], keys[decision.anomaly.id])
            ),
        )
        if decision.anomaly.id in keys
        else decision
        for decision in decisions
    ]


def _keys(rows: pa.Table) -> frozenset[str] | None:
    # A cycle may use many keys, so the table of cycles has no such column.
    return frozenset(rows["key"].unique().to_pylist()) if "key" in rows.column_names else None


def _overlap(some: frozenset[str] | None, others: frozenset[str] | None) -> bool:
    return some is None or others is None or not some.isdisjoint(others)


def _undecided(anomaly: Anomaly, reason: str) -> Decision:
    return Decision(
        anomaly=anomaly,
        verdict="undecided",
        count=0,
        observations=0,
        reason=reason,
        rows=pa.table({}),
    )


def _broken(finding: Finding) -> BrokenAssumption:
    assumption = next(one for one in ASSUMPTIONS if one.id == finding.id)
    every = in_order(finding.rows)
    rows = shortened(as_rows(every.slice(0, KEPT), _ROW_OF[finding.id]))
    return BrokenAssumption(assumption=assumption, count=every.num_rows, rows=rows, every=every)


def _operations(rows: pa.Table) -> Iterable[tuple[int, Operation]]:
    numbers = list(dict.fromkeys(rows["op"].to_pylist()))
    return zip(numbers, as_operations(with_short_texts(rows)), strict=True)
