"""The snapshot of its producers that a broker starts with is what the log tells of them.

Instead of reading a log from its beginning, a broker that starts reads the newest snapshot and what
lies behind it. What the snapshot has wrong the broker then believes: it refuses the next batch of a
producer, or takes one twice, or waits for a transaction that was ended.

Source: ProducerStateManager (`.snapshot`), KIP-98, KIP-360.
Simplified: of each log the newest snapshot, if it was taken between two batches that are both
there. A producer that it lacks may have been forgotten, a day after it wrote last, and is none. A
producer epoch that only a marker has begun has no sequence number and no offset yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from properties.log_audit.check import Check, Place, place
from properties.log_audit.log import Batch, Logs, ProducerState, ReplicaLog, by_producer
from properties.log_audit.transactions import is_data

Known = Literal[
    "producer epoch", "last sequence", "last offset", "coordinator epoch", "first offset"
]
UNKNOWN: Final = -2  # the log does not tell


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class SnapshotFault(Place):
    """The last batch of a producer below a snapshot that has something else of it."""

    snapshot_offset: int
    producer_id: int
    of: Known
    in_log: int
    in_snapshot: int


def snapshot_faults(logs: Logs) -> tuple[SnapshotFault, ...]:
    """One row per producer and fact that the snapshot has otherwise than the log."""
    rows: list[SnapshotFault] = []
    for log in logs.replicas:
        for last, told, kept in _remembered(log):
            assert log.beside.snapshot is not None
            rows += (
                SnapshotFault(
                    **place(log, last),
                    snapshot_offset=log.beside.snapshot.offset,
                    producer_id=kept.producer_id,
                    of=of,
                    in_log=in_log,
                    in_snapshot=in_snapshot,
                )
                for of, in_log, in_snapshot in facts(told, kept)
                if in_log not in (UNKNOWN, in_snapshot)
            )
    return tuple(sorted(rows))


def facts(told: ProducerState, kept: ProducerState) -> Iterator[tuple[Known, int, int]]:
    """What the log tells of a producer beside what the snapshot has."""
    yield "producer epoch", told.producer_epoch, kept.producer_epoch
    yield "last sequence", told.last_sequence, kept.last_sequence
    yield "last offset", told.last_offset, kept.last_offset
    yield "coordinator epoch", told.coordinator_epoch, kept.coordinator_epoch
    yield "first offset", told.first_offset, kept.first_offset


def _remembered(log: ReplicaLog) -> Iterator[tuple[Batch, ProducerState, ProducerState]]:
    """The producers that the snapshot and the stretch below it both know."""
    snapshot = log.beside.snapshot
    below = [
        [batch for batch in stretch if snapshot and batch.last_offset < snapshot.offset]
        for stretch in log.stretches()
    ]
    for stretch in below:
        if snapshot and stretch and stretch[-1].last_offset + 1 == snapshot.offset:
            whole = stretch[0].base_offset == 0
            for kept in snapshot.producers:
                batches = by_producer(stretch).get(kept.producer_id)
                if batches:
                    yield batches[-1], _told(batches, whole=whole), kept
            return


def _told(batches: list[Batch], *, whole: bool) -> ProducerState:
    """What the batches of a producer tell of it; `whole`: nothing of it lies before them."""
    last = batches[-1]
    data = [batch for batch in batches if not batch.control]
    markers = [batch for batch in batches if batch.marker]
    behind = batches[batches.index(markers[-1]) + 1 :] if markers else batches
    open_data = [batch for batch in behind if is_data(batch)]
    sequence, offset = -1, -1
    if data and data[-1].producer_epoch == last.producer_epoch:
        sequence = data[-1].last_sequence if data[-1].base_sequence >= 0 else -1
        offset = data[-1].last_offset
    elif not data:
        sequence = offset = UNKNOWN
    first = open_data[0].base_offset if open_data else -1
    return ProducerState(
        producer_id=last.producer_id,
        producer_epoch=last.producer_epoch,
        last_sequence=sequence,
        last_offset=offset,
        coordinator_epoch=markers[-1].coordinator_epoch if markers else UNKNOWN,
        first_offset=first if markers or whole else UNKNOWN,
    )


CHECKS: Final = (
    Check(
        id="producer-snapshot",
        statement="The newest snapshot of a log's producers agrees with the log.",
        rule=(
            "The last batch of a producer below the snapshot's offset, and its last marker, tell "
            "another producer epoch, last sequence number, last offset, coordinator epoch or first "
            "offset of an open transaction than the snapshot."
        ),
        explanation=(
            "The broker believes the snapshot when it starts: it then refuses batches that are the "
            "next ones, takes batches that it has, or waits for a transaction that was ended."
        ),
        source="ProducerStateManager, KIP-98; claims: exactly_once_publish",
        observes="producers that a snapshot has and the log below it",
        row=SnapshotFault,
        find=snapshot_faults,
        observed=lambda logs: sum(1 for log in logs.replicas for _ in _remembered(log)),
        explain=lambda row: (
            f"{row}: producer {row.producer_id}: the log tells {row.of} {row.in_log}, the snapshot "
            f"at offset {row.snapshot_offset} has {row.in_snapshot}."
        ),
    ),
)
