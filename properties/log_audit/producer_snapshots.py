"""The newest producer snapshot, which a broker reads when it starts, agrees with the log.

If the snapshot is wrong, the broker may refuse a producer's next batch, append a batch twice, or
wait for a transaction that has ended.

A transaction marker may begin a new producer epoch (KIP-890). Until the producer has written a
record in the new epoch, the snapshot must have no last sequence number and no last offset for the
producer.

Source: ProducerStateManager (`.snapshot`), KIP-98, KIP-360.
Simplified: only the newest snapshot of each log is compared, and only if the log has a readable
batch (`Batch.sound`) that ends directly below the snapshot's offset. If a producer is missing in
the snapshot, this is no fault: the broker drops a producer's state one day after the producer's
last write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from properties.log_audit.check import Check, Location, location
from properties.log_audit.log import Batch, Logs, ProducerState, ReplicaLog, by_producer
from properties.log_audit.transactions import is_data

Known = Literal[
    "producer epoch", "last sequence", "last offset", "coordinator epoch", "first offset"
]
UNKNOWN: Final = -2  # the log does not show the value


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class SnapshotFault(Location):
    """A value in a producer snapshot that contradicts the log.

    The location is the producer's newest batch below the offset of the snapshot.
    """

    snapshot_offset: int
    producer_id: int
    of: Known
    in_log: int
    in_snapshot: int


def snapshot_faults(logs: Logs) -> tuple[SnapshotFault, ...]:
    """Returns one violation for each value of a producer's state that is different in the log and
    in the snapshot.

    If the log does not show a value, the value is not compared.
    """
    rows: list[SnapshotFault] = []
    for log in logs.replicas:
        for last, in_log, in_snapshot in _in_both(log):
            assert log.metadata.snapshot is not None
            rows += (
                SnapshotFault(
                    **location(log, last),
                    snapshot_offset=log.metadata.snapshot.offset,
                    producer_id=in_snapshot.producer_id,
                    of=of,
                    in_log=logged,
                    in_snapshot=kept,
                )
                for of, logged, kept in facts(in_log, in_snapshot)
                if logged not in (UNKNOWN, kept)
            )
    return tuple(sorted(rows))


def facts(in_log: ProducerState, in_snapshot: ProducerState) -> Iterator[tuple[Known, int, int]]:
    """Yields (name, value in the log, value in the snapshot) for each part of a producer's
    state.
    """
    yield "producer epoch", in_log.producer_epoch, in_snapshot.producer_epoch
    yield "last sequence", in_log.last_sequence, in_snapshot.last_sequence
    yield "last offset", in_log.last_offset, in_snapshot.last_offset
    yield "coordinator epoch", in_log.coordinator_epoch, in_snapshot.coordinator_epoch
    yield "first offset", in_log.first_offset, in_snapshot.first_offset


def _in_both(log: ReplicaLog) -> Iterator[tuple[Batch, ProducerState, ProducerState]]:
    snapshot = log.metadata.snapshot
    below = [
        [batch for batch in run if snapshot and batch.last_offset < snapshot.offset]
        for run in log.contiguous_runs()
    ]
    for run in below:
        if snapshot and run and run[-1].last_offset + 1 == snapshot.offset:
            whole = run[0].base_offset == 0
            for kept in snapshot.producers:
                batches = by_producer(run).get(kept.producer_id)
                if batches:
                    yield batches[-1], _state_in_log(batches, whole=whole), kept
            return


def _state_in_log(batches: list[Batch], *, whole: bool) -> ProducerState:
    # A field that these batches do not show is UNKNOWN. `whole`: no earlier batch is missing.
    last = batches[-1]
    data = [batch for batch in batches if not batch.control]
    markers = [batch for batch in batches if batch.marker]
    after_marker = batches[batches.index(markers[-1]) + 1 :] if markers else batches
    open_data = [batch for batch in after_marker if is_data(batch)]
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
            "The batches of a producer below the snapshot's offset give another producer epoch, "
            "last sequence number, last offset, coordinator epoch or first offset of an open "
            "transaction than the snapshot."
        ),
        explanation=(
            "A broker that starts from this snapshot refuses a producer's next batch, appends a "
            "batch twice, or waits for a transaction that has ended."
        ),
        source="ProducerStateManager, KIP-98; claims: exactly_once_publish",
        observes="producers in a snapshot and in the log below it",
        row=SnapshotFault,
        find=snapshot_faults,
        observed=lambda logs: sum(1 for log in logs.replicas for _ in _in_both(log)),
        explain=lambda row: (
            f"{row}: producer {row.producer_id} has {row.of} {row.in_log} in the log, but "
            f"{row.in_snapshot} in the snapshot at offset {row.snapshot_offset}."
        ),
    ),
)
