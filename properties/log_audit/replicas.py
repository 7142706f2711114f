"""Replicas have equal records below their high watermarks.

If a record is below the high watermark of any replica, the record was committed. So two replicas
must be equal below the lower of their high watermarks. Above this offset, two replicas may differ,
because a leader that failed may have had other records. The checkpointed high watermark of a
replica may be lower than its real high watermark. So not all committed records are compared.

Source: Kafka documentation, "Replication"; replication-offset-checkpoint, ReplicaManager.
Simplified: if only one of two replicas has an offset, this is no difference, because each replica
is compacted at its own time; the check `offset-gap` reports gaps. After an unclean election, a
checkpointed high watermark may be too high, because the replica has truncated records below it. In
this case, records that are not committed are also compared, and reported if they differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from properties.log_audit.check import Check, Location, many
from properties.log_audit.integrity import NOT_STOPPED
from properties.log_audit.log import Batch, Logs, Record, ReplicaLog


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Divergence(Location):
    """A pair of replicas with different committed records. The location is the first offset at
    which the records differ.
    """

    other_replica: str
    other_segment: str
    other_position: int
    offsets: int  # number of offsets at which they differ


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class BeyondEnd(Location):
    """A log whose end is below its checkpointed high watermark."""

    high_watermark: int
    stopped: int  # 1: after a clean shutdown


RecordsByOffset = dict[int, tuple[Batch, Record]]  # with their batches


def _committed(log: ReplicaLog, below: int) -> RecordsByOffset:
    records: RecordsByOffset = {}
    for batch in log.sound:
        if batch.last_offset < below:
            for record in batch.records:
                # the first in file order, if the log has an offset twice
                records.setdefault(record.offset, (batch, record))
    return records


def _pairs(
    logs: Logs,
) -> Iterator[tuple[ReplicaLog, RecordsByOffset, ReplicaLog, RecordsByOffset, list[int]]]:
    for replicas in logs.partitions().values():
        for one, two in combinations(replicas, 2):
            marks = one.metadata.high_watermark, two.metadata.high_watermark
            if marks[0] is not None and marks[1] is not None:
                mine, theirs = (_committed(log, min(marks[0], marks[1])) for log in (one, two))
                yield one, mine, two, theirs, sorted(mine.keys() & theirs.keys())


def _agreed(of: tuple[Batch, Record]) -> tuple[object, ...]:
    batch, record = of
    return (
        batch.leader_epoch,
        batch.producer_id,
        batch.producer_epoch,
        batch.transactional,
        batch.control,
        record.content,
    )


def divergences(logs: Logs) -> tuple[Divergence, ...]:
    rows: list[Divergence] = []
    for one, mine, two, theirs, shared in _pairs(logs):
        differ = [at for at in shared if _agreed(mine[at]) != _agreed(theirs[at])]
        if differ:
            here, there = mine[differ[0]][0], theirs[differ[0]][0]
            rows.append(
                Divergence(
                    partition=one.metadata.partition,
                    offset=differ[0],
                    replica=one.metadata.replica,
                    segment=here.segment,
                    position=here.position,
                    other_replica=two.metadata.replica,
                    other_segment=there.segment,
                    other_position=there.position,
                    offsets=len(differ),
                )
            )
    return tuple(sorted(rows))


def ends_below(logs: Logs) -> tuple[BeyondEnd, ...]:
    rows: list[BeyondEnd] = []
    for log in logs.replicas:
        mark, last = log.metadata.high_watermark, log.batches[-1] if log.batches else None
        if mark is not None and mark > log.end_offset:
            rows.append(
                BeyondEnd(
                    partition=log.metadata.partition,
                    offset=log.end_offset,
                    replica=log.metadata.replica,
                    segment=last.segment if last else log.metadata.segments[-1],
                    position=last.position + last.size if last else 0,
                    high_watermark=mark,
                    stopped=int(log.metadata.stopped),
                )
            )
    return tuple(sorted(rows))


CHECKS: Final = (
    Check(
        id="replica-divergence",
        statement="Replicas of a topic partition are equal below their high watermarks.",
        rule=(
            "At an offset below the checkpointed high watermarks of two replicas, their records "
            "differ in leader epoch, producer, kind, timestamp, key, value or headers."
        ),
        explanation=(
            "Both records count as committed, so the record that a consumer reads depends on which "
            "replica leads."
        ),
        source="claims: identical_replicas, committed_survives",
        observes="offsets that two replicas have below both high watermarks",
        row=Divergence,
        find=divergences,
        observed=lambda logs: sum(len(shared) for *_, shared in _pairs(logs)),
        explain=lambda row: (
            f"{row}: the record at offset {row.offset} differs from the one of replica "
            f"{row.other_replica}, in {row.other_segment} at byte {row.other_position}; the two "
            f"replicas differ at {many(row.offsets, 'offset')}."
        ),
    ),
    Check(
        id="high-watermark-beyond-end",
        statement="The high watermark of a log is not above the log's end.",
        rule="The checkpointed high watermark is above the offset at which the log ends.",
        explanation=(
            "The replica lost committed records, by a power loss before they were on disk, by a "
            "truncated file, or by an unclean election."
        ),
        permits={
            NOT_STOPPED: "a power loss may lose records that only the other replicas have on disk"
        },
        permitted=lambda row: None if row.stopped else NOT_STOPPED,
        source="replication-offset-checkpoint, UnifiedLog",
        observes="logs with a checkpointed high watermark",
        row=BeyondEnd,
        find=ends_below,
        observed=lambda logs: sum(log.metadata.high_watermark is not None for log in logs.replicas),
        explain=lambda row: (
            f"{row}: the log ends at offset {row.offset}, but its checkpointed high watermark is "
            f"{row.high_watermark}."
        ),
    ),
)
