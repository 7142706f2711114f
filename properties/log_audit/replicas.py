"""Replicas are the same below their high watermarks.

What lies below the high watermark of any replica was committed: every replica that is in sync has
it, at the same offset, for ever. Of two replicas, what lies below the high watermarks of both must
be the same. Above it they may differ: a leader that died took records with it that nobody else
had.

The checkpointed high watermark is behind the real one, never ahead of it; so less is compared than
could be, and nothing that may differ.

Source: Kafka documentation, "Replication"; replication-offset-checkpoint, ReplicaManager.
Simplified: an offset that only one replica has is no difference: compaction works on each replica
in its own time, and a gap is told by `offset-gap`. After an unclean election a replica may keep a
checkpoint of what it then cut off: this is told as a difference, and it is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from properties.log_audit.check import Check, Place, many
from properties.log_audit.integrity import NOT_STOPPED
from properties.log_audit.log import Batch, Logs, Record, ReplicaLog


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Divergence(Place):
    """The first offset at which two replicas differ below the high watermarks of both."""

    other_replica: str
    other_segment: str
    other_position: int
    offsets: int  # at so many they differ


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class BeyondEnd(Place):
    """The end of a log that lies below the checkpointed high watermark."""

    high_watermark: int
    stopped: int  # 1: the broker was shut down in order


Held = dict[int, tuple[Batch, Record]]  # the records by their offsets


def _committed(log: ReplicaLog, below: int) -> Held:
    """The records of batches below the offset; of several at one offset the first in the files."""
    held: Held = {}
    for batch in log.sound:
        if batch.last_offset < below:
            for record in batch.records:
                held.setdefault(record.offset, (batch, record))
    return held


def _pairs(logs: Logs) -> Iterator[tuple[ReplicaLog, Held, ReplicaLog, Held, list[int]]]:
    """Any two replicas of a partition, and the offsets that both have of what is committed."""
    for replicas in logs.partitions().values():
        for one, two in combinations(replicas, 2):
            marks = one.beside.high_watermark, two.beside.high_watermark
            if marks[0] is not None and marks[1] is not None:
                mine, theirs = (_committed(log, min(marks[0], marks[1])) for log in (one, two))
                yield one, mine, two, theirs, sorted(mine.keys() & theirs.keys())


def _agreed(of: tuple[Batch, Record]) -> tuple[object, ...]:
    """What replicas must have alike at an offset."""
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
    """One row per pair of replicas that differ."""
    rows: list[Divergence] = []
    for one, mine, two, theirs, shared in _pairs(logs):
        differ = [at for at in shared if _agreed(mine[at]) != _agreed(theirs[at])]
        if differ:
            here, there = mine[differ[0]][0], theirs[differ[0]][0]
            rows.append(
                Divergence(
                    partition=one.beside.partition,
                    offset=differ[0],
                    replica=one.beside.replica,
                    segment=here.segment,
                    position=here.position,
                    other_replica=two.beside.replica,
                    other_segment=there.segment,
                    other_position=there.position,
                    offsets=len(differ),
                )
            )
    return tuple(sorted(rows))


def ends_below(logs: Logs) -> tuple[BeyondEnd, ...]:
    """One row per log that ends below its checkpointed high watermark."""
    rows: list[BeyondEnd] = []
    for log in logs.replicas:
        mark, last = log.beside.high_watermark, log.batches[-1] if log.batches else None
        if mark is not None and mark > log.end_offset:
            rows.append(
                BeyondEnd(
                    partition=log.beside.partition,
                    offset=log.end_offset,
                    replica=log.beside.replica,
                    segment=last.segment if last else log.beside.segments[-1],
                    position=last.position + last.size if last else 0,
                    high_watermark=mark,
                    stopped=int(log.beside.stopped),
                )
            )
    return tuple(sorted(rows))


CHECKS: Final = (
    Check(
        id="replica-divergence",
        statement="Replicas of a topic partition are the same below their high watermarks.",
        rule=(
            "At an offset below the checkpointed high watermarks of two replicas both have a "
            "record, and these differ: in leader epoch, producer, kind, time, key, value or "
            "headers."
        ),
        explanation=(
            "Both told consumers that what they have there is committed. Which of the two a "
            "consumer reads depends on who leads."
        ),
        source="claims: identical_replicas, committed_survives",
        observes="offsets that two replicas have below both high watermarks",
        row=Divergence,
        find=divergences,
        observed=lambda logs: sum(len(shared) for *_, shared in _pairs(logs)),
        explain=lambda row: (
            f"{row}: offset {row.offset} is another record than {row.other_replica} has in "
            f"{row.other_segment} at byte {row.other_position}; they differ at "
            f"{many(row.offsets, 'offset')}."
        ),
    ),
    Check(
        id="high-watermark-beyond-end",
        statement="A log reaches at least as far as its own high watermark.",
        rule="The checkpointed high watermark is above the offset at which the log ends.",
        explanation=(
            "The replica had these records, they were committed, and it lost them: a power loss "
            "before they were on disk, a file that was cut, or an unclean election."
        ),
        permits={NOT_STOPPED: "what was not on disk is gone with the power; the others have it"},
        permitted=lambda row: None if row.stopped else NOT_STOPPED,
        source="replication-offset-checkpoint, UnifiedLog",
        observes="logs with a checkpointed high watermark",
        row=BeyondEnd,
        find=ends_below,
        observed=lambda logs: sum(log.beside.high_watermark is not None for log in logs.replicas),
        explain=lambda row: (
            f"{row}: the log ends at offset {row.offset}, its high watermark was "
            f"{row.high_watermark}."
        ),
    ),
)
