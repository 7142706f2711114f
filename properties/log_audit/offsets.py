"""Offsets of a log ascend, and none is missing but for a reason.

Retention takes whole segments from the beginning, so a log may begin anywhere. Compaction takes
records from anywhere below the point that the cleaner has reached; batches keep their first and
last offset then, or go altogether.

Source: Kafka documentation, "Log", "Log Compaction"; UnifiedLog.append; LogCleanerManager, which
keeps `cleaner-offset-checkpoint`.
Simplified: a follower that copied a compacted leader has gaps too. If none of the replicas tells of
the compaction, by its checkpoint or by batches that lack records, such gaps are told as faults.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from properties.log_audit.check import Check, Place, count, place
from properties.log_audit.log import Logs, ReplicaLog, base_offset


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OffsetBack(Place):
    """A batch that begins below the offset that comes next, or below its segment's own."""

    next_offset: int  # the least at which it may begin


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OffsetGap(Place):
    """A batch before which offsets are missing."""

    next_offset: int  # the first that is missing


def offsets_back(logs: Logs) -> tuple[OffsetBack, ...]:
    """One row per batch that begins too low."""
    rows: list[OffsetBack] = []
    for log in logs.replicas:
        before = {id(two): one.last_offset + 1 for one, two in log.neighbours()}
        for batch in log.sound:
            least = max(base_offset(batch.segment), before.get(id(batch), 0))
            if batch.base_offset < least:
                rows.append(OffsetBack(**place(log, batch), next_offset=least))
    return tuple(sorted(rows))


def cleaned_to(replicas: list[ReplicaLog]) -> int:
    """Below this offset compaction may have taken anything from any replica of the partition.

    The newest segment of a replica is never compacted.
    """
    checkpointed = max(log.beside.cleaned_to for log in replicas)
    thinned = [log for log in replicas if any(batch.thinned for batch in log.batches)]
    newest = max((base_offset(log.beside.segments[-1]) for log in thinned), default=0)
    return max(checkpointed, newest)


def offset_gaps(logs: Logs) -> tuple[OffsetGap, ...]:
    """One row per batch before which offsets are missing that nobody has cleaned."""
    rows: list[OffsetGap] = []
    for replicas in logs.partitions().values():
        cleaned = cleaned_to(replicas)
        for log in replicas:
            for one, two in log.neighbours():
                if two.base_offset > max(one.last_offset + 1, cleaned):
                    rows.append(OffsetGap(**place(log, two), next_offset=one.last_offset + 1))
    return tuple(sorted(rows))


def neighbours(logs: Logs) -> int:
    return sum(1 for log in logs.replicas for _ in log.neighbours())


CHECKS: Final = (
    Check(
        id="offset-order",
        statement="Offsets of a log ascend from batch to batch.",
        rule=(
            "A batch begins at or below the last offset of the batch before it, or below the "
            "offset that its segment is named after."
        ),
        explanation=(
            "An offset was given out twice, or batches of two logs were mixed. A reader that comes "
            "by the index and one that comes by the bytes see different logs."
        ),
        source="UnifiedLog.append, which refuses offsets that do not ascend",
        observes="batches with the right checksum",
        row=OffsetBack,
        find=offsets_back,
        observed=lambda logs: count(logs, lambda batch: batch.sound),
        explain=lambda row: (
            f"{row}: the batch begins at offset {row.offset}; {row.next_offset} is the least that "
            "can come there."
        ),
    ),
    Check(
        id="offset-gap",
        statement="No offset is missing between batches, but what compaction took away.",
        rule=(
            "A batch begins above the offset that comes next, and above every offset that the "
            "cleaner of a replica is known to have reached."
        ),
        explanation=(
            "A leader numbers records without gaps. Batches that were in the log are gone from the "
            "middle of it: a part of a file, or a whole segment."
        ),
        source="LogValidator; LogCleaner",
        observes="pairs of neighbouring batches",
        row=OffsetGap,
        find=offset_gaps,
        observed=neighbours,
        explain=lambda row: (
            f"{row}: offsets {row.next_offset} to {row.offset - 1} are missing before the batch."
        ),
    ),
)
