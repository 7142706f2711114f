"""The offsets of a log ascend, and no offset is missing without a reason.

Retention deletes whole segments from the beginning of a log, so a log may begin at any offset.
Compaction removes records below the offset that the cleaner has reached. If compaction removes
records of a batch, the batch either retains its first and last offset, or disappears completely.

Source: Kafka documentation, "Log", "Log Compaction"; UnifiedLog.append; LogCleanerManager, which
keeps `cleaner-offset-checkpoint`.
Simplified: if a follower copied its log from a compacted leader, the follower's log has gaps too.
These gaps are reported as faults, unless some replica gives evidence of the compaction. The
evidence is a checkpoint of the cleaner, or a batch with missing records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from properties.log_audit.check import Check, Location, count, location
from properties.log_audit.log import Logs, ReplicaLog, base_offset


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OffsetBack(Location):
    """A batch that begins too low: below the end of the previous batch, or below the base offset of
    its segment.
    """

    next_offset: int  # the lowest offset at which it may begin


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OffsetGap(Location):
    """A batch that does not begin at the offset where the previous batch ends, so that offsets
    between them are missing.
    """

    next_offset: int  # the first missing offset


def offsets_back(logs: Logs) -> tuple[OffsetBack, ...]:
    """Returns one violation for each batch that begins below the end of the previous batch, or
    below the base offset of its segment.
    """
    rows: list[OffsetBack] = []
    for log in logs.replicas:
        before = {id(two): one.last_offset + 1 for one, two in log.neighbours()}
        for batch in log.sound:
            least = max(base_offset(batch.segment), before.get(id(batch), 0))
            if batch.base_offset < least:
                rows.append(OffsetBack(**location(log, batch), next_offset=least))
    return tuple(sorted(rows))


def cleaned_to(replicas: list[ReplicaLog]) -> int:
    """Returns the offset below which compaction may have removed records from the replicas of a
    topic partition.

    It is the largest such offset of any replica, because a follower may have copied its log from a
    compacted leader.
    """
    checkpointed = max(log.metadata.cleaned_to for log in replicas)
    compacted = [log for log in replicas if any(batch.compacted for batch in log.batches)]
    # compaction removes records only below the newest segment
    newest = max((base_offset(log.metadata.segments[-1]) for log in compacted), default=0)
    return max(checkpointed, newest)


def offset_gaps(logs: Logs) -> tuple[OffsetGap, ...]:
    """Returns one violation for each batch that follows a gap in the offsets.

    If compaction may have removed all missing offsets (`cleaned_to`), the gap is no violation.
    """
    rows: list[OffsetGap] = []
    for replicas in logs.partitions().values():
        cleaned = cleaned_to(replicas)
        for log in replicas:
            for one, two in log.neighbours():
                if two.base_offset > max(one.last_offset + 1, cleaned):
                    rows.append(OffsetGap(**location(log, two), next_offset=one.last_offset + 1))
    return tuple(sorted(rows))


def neighbours(logs: Logs) -> int:
    return sum(1 for log in logs.replicas for _ in log.neighbours())


CHECKS: Final = (
    Check(
        id="offset-order",
        statement="Offsets of a log ascend from batch to batch.",
        rule=(
            "A batch begins at or below the last offset of the batch before it, or below the base "
            "offset of its segment."
        ),
        explanation=(
            "An offset was assigned twice or batches of two logs were mixed, so a reader that uses "
            "the index and one that scans the file see different logs."
        ),
        source="UnifiedLog.append, which refuses offsets that do not ascend",
        observes="batches with the right checksum",
        row=OffsetBack,
        find=offsets_back,
        observed=lambda logs: count(logs, lambda batch: batch.sound),
        explain=lambda row: (
            f"{row}: the batch begins at offset {row.offset}, but the lowest offset that can "
            f"follow is {row.next_offset}."
        ),
    ),
    Check(
        id="offset-gap",
        statement="No offset is missing between batches, except those that compaction removed.",
        rule=(
            "A batch begins above the next offset, and above every offset that the cleaner of any "
            "replica is known to have reached."
        ),
        explanation=(
            "A leader assigns offsets without gaps, so batches in the middle of the log were lost: "
            "a part of a file, or a whole segment."
        ),
        source="LogValidator; LogCleaner",
        observes="pairs of neighbouring batches",
        row=OffsetGap,
        find=offset_gaps,
        observed=neighbours,
        explain=lambda row: (
            f"{row}: offsets {row.next_offset} to {row.offset - 1} are missing before this batch."
        ),
    ),
)
