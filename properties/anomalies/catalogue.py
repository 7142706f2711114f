"""The anomalies that the history analysis decides, as rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from model.faults import UnknownName
from model.histories import History, Operation
from properties.anomalies import (
    duplicate,
    inconsistent_offsets,
    lost_write,
    offset_order_inversion,
    stale_end_offset,
)
from properties.anomalies.duplicate import Duplicate
from properties.anomalies.inconsistent_offsets import InconsistentOffset
from properties.anomalies.lost_write import LostWrite
from properties.anomalies.offset_order_inversion import OffsetOrderInversion
from properties.anomalies.stale_end_offset import StaleEndOffset

Row = OffsetOrderInversion | StaleEndOffset | InconsistentOffset | Duplicate | LostWrite


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """One thing that clients must never observe.

    `permits` tells under which condition it is no fault, and why. `observes` says what
    `observed` counts: the observations that a verdict rests on.
    """

    id: str
    statement: str
    rule: str
    explanation: str
    permits: Mapping[str, str]
    source: str
    observes: str
    row: type[Row]
    find: Callable[[History], tuple[Row, ...]]
    observed: Callable[[History], int]
    explain: Callable[[Any, Mapping[int, Operation]], str]  # a row of `row`, its operations


CATALOGUE: Final = (
    Anomaly(
        id=offset_order_inversion.ID,
        statement="Offsets given to acknowledged sends agree with real time.",
        rule="ack(o1) completed before the send of o2 was invoked, same key, and o1 >= o2.",
        explanation=(
            "Appends of a partition log are ordered, and an acknowledged append is in it. One that "
            "begins later comes behind it. A lower offset means that the log lost its end, or that "
            "two leaders gave out offsets."
        ),
        permits={},
        source="claims: linearizable_offsets; Herlihy and Wing, linearizability",
        observes="sends acknowledged at an offset",
        row=OffsetOrderInversion,
        find=offset_order_inversion.inversions,
        observed=offset_order_inversion.observed,
        explain=offset_order_inversion.explain,
    ),
    Anomaly(
        id=stale_end_offset.ID,
        statement="A read of a log's end sees all that was known of it before the read began.",
        rule=(
            "An end h was read by an operation invoked after the completion of a send acknowledged "
            "at o, and h <= o; or after the completion of a read of h1, and h < h1."
        ),
        explanation=(
            "Who asks for the end after an acknowledgement must be told at least what lies behind "
            "the acknowledged record. A lower answer comes from a replica that is behind, or from "
            "a log that lost its end."
        ),
        permits={},
        source="claims: linearizable_offsets; ListOffsets, KIP-207",
        observes="reads of an end offset",
        row=StaleEndOffset,
        find=stale_end_offset.stale_end_offsets,
        observed=stale_end_offset.observed,
        explain=stale_end_offset.explain,
    ),
    Anomaly(
        id=inconsistent_offsets.ID,
        statement="An offset of a log identifies one record for ever.",
        rule=(
            "Two values were seen at one offset of a key, by polls however they ended or by sends "
            "that must have taken effect."
        ),
        explanation=(
            "Two clients were told different records for one place: replicas diverged, or an "
            "acknowledged suffix was cut off and its offsets were given out again."
        ),
        permits={},
        source="jepsen.tests.kafka inconsistent-offsets; claims: offset_identifies",
        observes="offsets of logs that were seen",
        row=InconsistentOffset,
        find=inconsistent_offsets.inconsistent_offsets,
        observed=inconsistent_offsets.observed,
        explain=inconsistent_offsets.explain,
    ),
    Anomaly(
        id=duplicate.ID,
        statement="A value that was sent once lies in the log at most once.",
        rule="One value was seen at two or more offsets of a key.",
        explanation=(
            "A retry was appended again: the producer is not idempotent, or the broker forgot the "
            "producer's sequence, or the client began a new producer epoch and sent again."
        ),
        permits={},
        source="jepsen.tests.kafka duplicate; claims: exactly_once_publish",
        observes="values with a known place in a log",
        row=Duplicate,
        find=duplicate.duplicates,
        observed=duplicate.observed,
        explain=duplicate.explain,
    ),
    Anomaly(
        id=lost_write.ID,
        statement="A write that took effect is read by someone once a later record was read.",
        rule=(
            "A value's send must have taken effect, its last place in the log is not above the "
            "highest place that a poll ended ok has read, and no poll ended ok was given it."
        ),
        explanation=(
            "Readers went past the place and were never given the record: it was acknowledged and "
            "is gone, or is hidden from them."
        ),
        permits={},
        source="jepsen.tests.kafka lost-write; claims: committed_survives",
        observes="values that had to be read",
        row=LostWrite,
        find=lost_write.lost_writes,
        observed=lost_write.observed,
        explain=lost_write.explain,
    ),
)
BY_ID: Final = {anomaly.id: anomaly for anomaly in CATALOGUE}


def named(names: tuple[str, ...] = ()) -> tuple[Anomaly, ...]:
    """The anomalies of these names in catalogue order, all of them without a name; UnknownName."""
    for name in names:
        if name not in BY_ID:
            raise UnknownName("anomaly", name, BY_ID)
    return tuple(anomaly for anomaly in CATALOGUE if not names or anomaly.id in names)


def worst_first(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """The rows by size, greatest first; rows of one size in their own order."""
    return tuple(sorted(sorted(rows), key=lambda row: -row.size))
