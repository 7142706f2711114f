"""The analysis of a history in pieces: assumptions first, then the anomalies.

Written once in the words of `Pieces`, and so the same wherever it runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from checkers.histories import log_places, real_time, soundness
from checkers.histories.arrow import compute
from checkers.histories.grouping import distinct
from checkers.histories.pieces import Kernel, Pieces
from checkers.histories.rows import schema_of
from properties.anomalies.assumptions import (
    BackwardsOperation,
    MixedOperation,
    OverlappingOperations,
    RepeatedValue,
)
from properties.anomalies.log import duplicate, inconsistent_offsets, lost_write
from properties.anomalies.log.duplicate import Duplicate
from properties.anomalies.log.inconsistent_offsets import InconsistentOffset
from properties.anomalies.log.lost_write import LostWrite
from properties.anomalies.real_time import offset_order_inversion, stale_end_offset
from properties.anomalies.real_time.offset_order_inversion import OffsetOrderInversion
from properties.anomalies.real_time.stale_end_offset import StaleEndOffset

if TYPE_CHECKING:
    from collections.abc import Collection

_TOTALS: Final = pa.schema(
    [("operations", pa.int64()), ("micro_operations", pa.int64()), ("started_ns", pa.int64())]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found of one anomaly or assumption: its rows, and how much was looked at."""

    id: str
    rows: pa.Table
    observations: int


def broken_assumptions(pieces: Pieces, log: Pieces) -> Iterator[Found]:
    """The assumptions that do not hold, with their rows; `log` is what `log_of` made of pieces."""
    for name, rows in (
        ("whole-operations", _mixed(pieces)),
        ("time-goes-forward", _backwards(pieces)),
        ("one-open-operation", _overlapping(pieces)),
        ("values-are-unique", _repeated(log)),
    ):
        if rows.num_rows:
            yield Found(id=name, rows=rows, observations=rows.num_rows)


def _mixed(pieces: Pieces) -> pa.Table:
    schema = schema_of(MixedOperation)
    spans = pieces.gather(
        Kernel("what operations a piece holds", soundness.SPANS, soundness.operation_span)
    )
    stretches = soundness.shared(spans)
    outside = partial(soundness.mixed_outside, stretches=stretches, schema=schema)
    rows = pieces.gather(Kernel("operations are whole", schema, outside))
    if not stretches:
        return rows
    inside = pieces.regroup(
        Kernel(
            "operations that pieces share",
            soundness.ROWS,
            partial(soundness.rows_in, stretches=stretches),
        ),
        ("op",),
    )
    mixed = Kernel("shared operations are whole", schema, partial(soundness.mixed, schema=schema))
    return pa.concat_tables([rows, inside.gather(mixed)])


def _backwards(pieces: Pieces) -> pa.Table:
    schema = schema_of(BackwardsOperation)
    kernel = Kernel("time goes forward", schema, partial(soundness.backwards, schema=schema))
    return distinct(pieces.gather(kernel), tuple(schema.names))


def _overlapping(pieces: Pieces) -> pa.Table:
    schema = schema_of(OverlappingOperations)
    spans = pieces.gather(
        Kernel("when processes were at work", soundness.SPANS, soundness.process_spans)
    )
    crossing = soundness.crossing(spans)
    alone = partial(soundness.overlaps_without, processes=crossing, schema=schema)
    rows = pieces.gather(Kernel("one open operation a process", schema, alone))
    if not crossing:
        return rows
    together = pieces.regroup(
        Kernel(
            "processes at work in several pieces",
            soundness.OPERATIONS,
            partial(soundness.operations_of, processes=crossing),
        ),
        ("process",),
    )
    overlaps = partial(soundness.overlaps, schema=schema)
    kernel = Kernel("one open operation a process, across pieces", schema, overlaps)
    return pa.concat_tables([rows, together.gather(kernel)])


def _repeated(log: Pieces) -> pa.Table:
    schema = schema_of(RepeatedValue)
    kernel = Kernel("values are unique", schema, partial(log_places.repeated_values, schema=schema))
    return log.gather(kernel)


# ---------------------------------------------------------------- anomalies


def log_of(pieces: Pieces) -> Pieces:
    """What the history shows of its logs, regrouped by key and value."""
    doubts = pieces.gather(
        Kernel("sends that nobody knows of", log_places.IN_DOUBT, log_places.in_doubt)
    )
    committed = log_places.OPERATIONS.empty_table()
    if doubts.num_rows:
        read = partial(log_places.read_after_all, doubts=doubts)
        committed = pieces.gather(Kernel("which of them were read", log_places.OPERATIONS, read))
    appear = partial(log_places.appearances, committed_info=committed)
    kernel = Kernel("where values appear", log_places.APPEARANCES, appear)
    return pieces.regroup(kernel, log_places.KEY_VALUE)


def anomalies(pieces: Pieces, log: Pieces, wanted: Collection[str]) -> Iterator[Found]:
    """Each wanted anomaly with its rows, as soon as it is decided."""
    if {offset_order_inversion.ANOMALY.id, stale_end_offset.ANOMALY.id} & set(wanted):
        yield from (found for found in _real_time(pieces) if found.id in wanted)
    if inconsistent_offsets.ANOMALY.id in wanted:
        yield _inconsistent(log)
    if duplicate.ANOMALY.id in wanted:
        yield _duplicates(log)
    if lost_write.ANOMALY.id in wanted:
        yield _lost(log)


def _real_time(pieces: Pieces) -> Iterator[Found]:
    summaries = pieces.gather(
        Kernel("how far each log had reached", real_time.SUMMARIES, real_time.summaries)
    )
    suspect = partial(real_time.suspects, all_summaries=summaries)
    suspects = pieces.gather(Kernel("offsets that look late", real_time.SUSPECTS, suspect))
    witnesses = real_time.WITNESSES.empty_table()
    if suspects.num_rows:
        witness = partial(real_time.witnesses, all_suspects=suspects)
        kernel = Kernel("what was known before them", real_time.WITNESSES, witness)
        witnesses = pieces.gather(kernel)
    asked = dict(_total_by_rule(summaries))
    for rule, row in (
        (real_time.INVERSION, OffsetOrderInversion),
        (real_time.STALE, StaleEndOffset),
    ):
        rows = real_time.broken(suspects, witnesses, rule).cast(schema_of(row))
        yield Found(id=rule, rows=rows, observations=asked.get(rule, 0))


def _total_by_rule(summaries: pa.Table) -> Iterator[tuple[str, int]]:
    totals = summaries.group_by("rule").aggregate([("questions", "sum")])
    return zip(totals["rule"].to_pylist(), totals["questions_sum"].to_pylist(), strict=True)


def _total(log: Pieces, kernel: Kernel) -> int:
    return sum(log.gather(kernel)["count"].to_pylist())


def _inconsistent(log: Pieces) -> Found:
    schema = schema_of(InconsistentOffset)
    places = log.regroup(
        Kernel("places of values", log_places.LOCATED, log_places.located), log_places.KEY_OFFSET
    )
    shared = partial(log_places.inconsistent_offsets, schema=schema)
    count = partial(log_places.count_groups, by=log_places.KEY_OFFSET)
    return Found(
        id=inconsistent_offsets.ANOMALY.id,
        rows=places.gather(Kernel("offsets with two values", schema, shared)),
        observations=_total(places, Kernel("offsets seen", log_places.COUNT, count)),
    )


def _duplicates(log: Pieces) -> Found:
    schema = schema_of(Duplicate)
    twice = partial(log_places.duplicates, schema=schema)
    count = partial(log_places.count_groups, by=log_places.KEY_VALUE)
    return Found(
        id=duplicate.ANOMALY.id,
        rows=log.gather(Kernel("values at two offsets", schema, twice)),
        observations=_total(log, Kernel("values with a place", log_places.COUNT, count)),
    )


def _lost(log: Pieces) -> Found:
    schema = schema_of(LostWrite)
    some = log.gather(Kernel("how far keys were read", log_places.BOUNDS, log_places.bounds))
    bounds = log_places.highest(some)
    lost = partial(log_places.lost_writes, all_bounds=bounds, schema=schema)
    count = partial(log_places.count_owed, all_bounds=bounds)
    return Found(
        id=lost_write.ANOMALY.id,
        rows=log.gather(Kernel("values that nobody read", schema, lost)),
        observations=_total(log, Kernel("values owed to readers", log_places.COUNT, count)),
    )


# ---------------------------------------------------------------- the history itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """How much a history holds, and when its first operation was invoked."""

    operations: int
    micro_operations: int
    started_ns: int


def totals(pieces: Pieces) -> Totals:
    """The totals of the history; it started at 0 if it holds nothing."""
    told = pieces.gather(Kernel("counting", _TOTALS, _count)).to_pydict()
    return Totals(
        operations=sum(told["operations"]),
        micro_operations=sum(told["micro_operations"]),
        started_ns=min(told["started_ns"], default=0),
    )


def _count(piece: pa.Table) -> pa.Table:
    """An operation counts where its first micro-operation is."""
    first = compute.sum(compute.equal(piece["position"], 0)).as_py() or 0
    micro = compute.sum(compute.not_equal(piece["kind"], "none")).as_py() or 0
    rows = [(first, micro, compute.min(piece["invoked_ns"]).as_py())] if piece.num_rows else []
    return pa.Table.from_pylist(
        [dict(zip(_TOTALS.names, row, strict=True)) for row in rows], schema=_TOTALS
    )


def rows_of(pieces: Pieces, ops: Collection[int], schema: pa.Schema) -> pa.Table:
    """The rows of these operations, in order."""
    named = partial(_named, ops=pa.array(sorted(ops), pa.int64()))
    rows = pieces.gather(Kernel("the operations that show it", schema, named))
    return rows.sort_by([("op", "ascending"), ("position", "ascending")])


def _named(piece: pa.Table, ops: pa.Array) -> pa.Table:
    return piece.filter(compute.is_in(piece["op"], value_set=ops))
