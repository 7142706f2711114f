"""`analyze`: the verdict on a history, in this process; and what any engine's verdict is made of.

Assumptions come first. If one is broken, no anomaly is decided: a recorder's mistake must not look
like a broker's. If there was nothing to observe at all, nothing was checked, and nothing holds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa

from checkers.histories import deciding
from checkers.histories.anomalies.findings import Found
from checkers.histories.columnar.memory import keep_freed
from checkers.histories.columnar.rows import as_rows, in_order, sizes
from checkers.histories.io.reading import parquet_parts, refuse
from checkers.histories.io.recorded import as_operations
from checkers.histories.plan.batches import Chunks, LocalPieces
from checkers.histories.plan.partitions import (
    MOST_READ,
    Chunk,
    Rows,
    chunk_size,
    chunks_of,
    read_twice,
    row_groups,
)
from checkers.histories.plan.partitions import (
    in_order as in_op_order,
)
from checkers.progress import Progress, Watcher, unwatched
from checkers.verdicts import HOLDS, UNDECIDED, VIOLATION, Verdict
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
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.delivery import Delivery, breaking

KEPT: Final = 32  # rows of an anomaly that are kept with their operations, the worst first
PICTURED: Final = 8  # of these are drawn in time, and so kept with the operations around theirs
AROUND: Final = 10  # operations that completed before one of a row, and as many behind it
NAMED: Final = 16  # operations of one row that are drawn
_ROW_OF: Final[dict[str, type[Any]]] = {
    "whole-operations": MixedOperation,
    "time-goes-forward": BackwardsOperation,
    "one-open-operation": OverlappingOperations,
    "values-are-unique": RepeatedValue,
}

Outcome = Literal["holds", "violated", "assumptions broken", "nothing checked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict on one anomaly: `violated` whenever it occurs, permitted or not.

    `observations` is how many observations it rests on: 0 means that nothing could have shown it.
    """

    anomaly: Anomaly
    verdict: Verdict
    count: int
    observations: int
    permitted: bool = False
    reason: str | None = None  # why it is undecided, or what permits it
    worst: tuple[Row, ...] = ()  # at most KEPT, the worst first
    rows: pa.Table = field(repr=False, compare=False)  # all of them, as the worst


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenAssumption:
    """An assumption that the history does not meet."""

    assumption: Assumption
    count: int
    rows: tuple[AssumptionRow, ...]  # at most KEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What an engine says of a history."""

    history: str
    operations: int
    micro_operations: int
    started_ns: int  # when the first operation was invoked
    decisions: tuple[Decision, ...]
    broken: tuple[BrokenAssumption, ...]
    shown: Mapping[int, Operation] = field(repr=False)  # those that worst rows name, and nearby
    delivered: tuple[Delivery, ...] = ()  # what each application was; not of chosen anomalies alone

    @property
    def verdict(self) -> Outcome:
        """Of all anomalies together; what is permitted violates nothing."""
        if self.broken:
            return "assumptions broken"
        if any(d.verdict == "violated" and not d.permitted for d in self.decisions):
            return "violated"
        checked = any(d.verdict != "undecided" for d in self.decisions)
        return "holds" if checked else "nothing checked"

    @property
    def exit_code(self) -> int:
        """0 holds, 1 violated, 3 nothing checked or assumptions broken."""
        return {"holds": HOLDS, "violated": VIOLATION}.get(self.verdict, UNDECIDED)


def analyze(
    history: Path | pa.Table,
    *,
    anomalies: tuple[str, ...] = (),
    declared: Declarations = NOTHING_DECLARED,
    watch: Watcher = unwatched,
) -> Analysis:
    """The verdict on the history, of these anomalies or of all, in this process.

    UnreadableHistory, or UnknownName for an anomaly that there is not.
    """
    chosen = named(anomalies, declared)
    keep_freed()
    with tempfile.TemporaryDirectory(prefix="urteil-history-") as folder:
        if isinstance(history, Path):
            watch(Progress(stage="reading"))
            pieces = LocalPieces(stored(history, Path(folder)), watch)
            return analysis_of(pieces, chosen, name=str(history), declared=declared)
        pieces = LocalPieces(chunks_of([Rows(history)]), watch)
        return analysis_of(pieces, chosen, name="a table", declared=declared)


def stored(history: Path, folder: Path, rows_per_chunk: int | None = None) -> tuple[Chunk, ...]:
    """The chunks of a history on disk; what is not Parquet, or not in order, gets into the folder.

    UnreadableHistory.
    """
    parts = parquet_parts(history, folder / "read")
    stretches = [group for part in parts for group in row_groups(part)]
    size = rows_per_chunk or chunk_size(sum(stretch.rows for stretch in stretches))
    chunks = chunks_of(stretches, size)
    if read_twice(chunks, stretches) <= MOST_READ:
        return chunks
    ordered = in_op_order(stretches, folder / "in-order")
    return chunks_of([group for part in ordered for group in row_groups(part)], size)


def analysis_of(
    pieces: Chunks,
    chosen: Iterable[Anomaly],
    *,
    name: str,
    declared: Declarations = NOTHING_DECLARED,
    groups: int | None = None,
    decided: Callable[[Decision], None] | None = None,
) -> Analysis:
    """The same of a history in pieces, whoever holds them; `decided` hears of each decision."""
    chosen = tuple(chosen)
    everything = {one.id for one in chosen} >= {one.id for one in named((), declared)}
    wanted = {name for one in chosen for name in one.made_of or (one.id,)}
    with deciding.at_hand(pieces, wanted, delivery=everything) as history:
        told = deciding.decide(history, wanted, declared, groups, delivery=everything)
        refuse(told.odd, name)
        decisions = _decisions(told, chosen, declared)
        for decision in decisions:
            if decided:
                decided(decision)
        ops = _to_show(decision.worst for decision in decisions)
        ops.update(op for it in breaking(told.delivered) for op in it.ops)
        shown = dict(_operations(deciding.rows_of(history, ops))) if ops else {}
    return Analysis(
        history=name,
        operations=told.totals.operations,
        micro_operations=told.totals.micro_operations,
        started_ns=told.totals.started_ns,
        decisions=tuple(decisions),
        broken=tuple(_broken(found) for found in told.broken),
        shown=shown,
        delivered=told.delivered,
    )


def _decisions(
    told: deciding.Decided, chosen: Iterable[Anomaly], declared: Declarations
) -> list[Decision]:
    if told.broken:
        ids = ", ".join(found.id for found in told.broken)
        return [_undecided(anomaly, f"assumptions broken: {ids}") for anomaly in chosen]
    if any(one.observations for one in told.anomalies.values()):
        return [_decision(anomaly, _found(anomaly, told.anomalies), declared) for anomaly in chosen]
    return [_undecided(anomaly, "nothing to observe") for anomaly in chosen]


def _to_show(worst: Iterable[tuple[Row, ...]]) -> set[int]:
    """What the worst rows of each anomaly name; of those that are drawn, what is around it too."""
    ops: set[int] = set()
    for rows in worst:
        ops.update(op for row in rows for op in row.ops)
        for row in rows[:PICTURED]:
            for op in row.ops[:NAMED]:
                ops.update(range(max(0, op - AROUND), op + AROUND + 1))
    return ops


def _found(anomaly: Anomaly, told: Mapping[str, Found]) -> Found:
    """What was found of it, or of all that it is made of."""
    parts = [told[name] for name in anomaly.made_of or (anomaly.id,)]
    return Found(
        id=anomaly.id,
        rows=pa.concat_tables([part.rows for part in parts]),
        observations=max(part.observations for part in parts),
    )


def _decision(anomaly: Anomaly, found: Found, declared: Declarations) -> Decision:
    rows = in_order(found.rows, sizes(found.rows, anomaly.row))
    reasons = [why for when, why in anomaly.permits.items() if when in declared.conditions()]
    return Decision(
        anomaly=anomaly,
        verdict="violated" if rows.num_rows else "holds",
        count=rows.num_rows,
        observations=found.observations,
        permitted=bool(rows.num_rows and reasons),
        reason="; ".join(reasons) if rows.num_rows and reasons else None,
        worst=as_rows(rows.slice(0, KEPT), anomaly.row),
        rows=rows,
    )


def _undecided(anomaly: Anomaly, reason: str) -> Decision:
    return Decision(
        anomaly=anomaly,
        verdict="undecided",
        count=0,
        observations=0,
        reason=reason,
        rows=pa.table({}),
    )


def _broken(found: Found) -> BrokenAssumption:
    assumption = next(one for one in ASSUMPTIONS if one.id == found.id)
    rows = as_rows(in_order(found.rows).slice(0, KEPT), _ROW_OF[found.id])
    return BrokenAssumption(assumption=assumption, count=found.rows.num_rows, rows=rows)


def _operations(rows: pa.Table) -> Iterable[tuple[int, Operation]]:
    numbers = list(dict.fromkeys(rows["op"].to_pylist()))
    return zip(numbers, as_operations(rows), strict=True)
