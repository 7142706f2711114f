"""A transaction on a partition consists of records of one producer, closed by one marker.

A marker contains the epoch of the coordinator and the epoch of the producer. Since KIP-890, it
contains the next epoch of the producer.

Source: KIP-98, KIP-890; ProducerStateManager, TransactionMarkerChannelManager.
Simplified: if the beginning or the end of a transaction was deleted, the transaction is not
checked. The markers on several partitions belong to one transaction if they have the same producer
id and epoch. Since KIP-890, a marker has a newer epoch than the records before it, and only such
markers are compared. Without KIP-890, two different transactions of a producer may have markers
with the same epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from properties.log_audit.check import Check, Location, count, location
from properties.log_audit.log import Batch, Logs, ReplicaLog, by_producer

RETRIED: Final = "marker written again"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class NotClosed(Location):
    """A batch that follows an open transaction of its producer, but is not part of this
    transaction. So a marker is missing before the batch.

    The batch is not part of the open transaction because it is not transactional, or because it has
    a newer producer epoch.
    """

    producer_id: int
    producer_epoch: int
    earlier_offset: int  # of the open transaction's batch before it
    earlier_producer_epoch: int


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class RepeatedMarker(Location):
    """A marker that follows another marker of the same producer, although the producer wrote no
    record between the two markers.
    """

    producer_id: int
    producer_epoch: int
    marker: str
    earlier_offset: int
    earlier_marker: str


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class CoordinatorEpochBack(Location):
    """A marker that has a lower coordinator epoch than the previous marker of the same producer."""

    producer_id: int
    coordinator_epoch: int
    earlier_offset: int
    earlier_coordinator_epoch: int


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class SplitTransaction(Location):
    """A commit marker of a transaction that was aborted on another partition. The location is the
    commit marker.
    """

    producer_id: int
    producer_epoch: int
    aborted_replica: str
    aborted_partition: str
    aborted_offset: int


def is_data(batch: Batch) -> bool:
    return batch.transactional and not batch.control


def _successive(log: ReplicaLog) -> Iterator[tuple[Batch, Batch]]:
    for run in log.contiguous_runs():
        for of_producer in by_producer(run).values():
            yield from pairwise(of_producer)


def unclosed(logs: Logs) -> tuple[NotClosed, ...]:
    return tuple(
        sorted(
            NotClosed(
                **location(log, two),
                producer_id=two.producer_id,
                producer_epoch=two.producer_epoch,
                earlier_offset=one.base_offset,
                earlier_producer_epoch=one.producer_epoch,
            )
            for log in logs.replicas
            for one, two in _successive(log)
            if is_data(one) and not two.control
            if not is_data(two) or two.producer_epoch > one.producer_epoch
        )
    )


def repeated_markers(logs: Logs) -> tuple[RepeatedMarker, ...]:
    return tuple(
        sorted(
            RepeatedMarker(
                **location(log, two),
                producer_id=two.producer_id,
                producer_epoch=two.producer_epoch,
                marker=two.marker,
                earlier_offset=one.base_offset,
                earlier_marker=one.marker,
            )
            for log in logs.replicas
            for one, two in _successive(log)
            if one.marker and two.marker
        )
    )


def coordinator_epochs_back(logs: Logs) -> tuple[CoordinatorEpochBack, ...]:
    """Returns one violation for each marker that has a lower coordinator epoch than the previous
    marker of the same producer in the log.
    """
    return tuple(
        sorted(
            CoordinatorEpochBack(
                **location(log, two),
                producer_id=two.producer_id,
                coordinator_epoch=two.coordinator_epoch,
                earlier_offset=one.base_offset,
                earlier_coordinator_epoch=one.coordinator_epoch,
            )
            for log in logs.replicas
            for of_producer in by_producer(log.sound).values()
            for one, two in pairwise(batch for batch in of_producer if batch.marker)
            if two.coordinator_epoch < one.coordinator_epoch
        )
    )


def _closings(logs: Logs) -> Iterator[tuple[ReplicaLog, Batch]]:
    for log in logs.replicas:
        for one, two in _successive(log):
            if is_data(one) and two.marker and two.producer_epoch > one.producer_epoch:
                yield log, two


def split_transactions(logs: Logs) -> tuple[SplitTransaction, ...]:
    """Returns one violation for each transaction that was committed on one partition and aborted on
    another partition.

    Several partitions may have a commit marker of the transaction. The violation names the commit
    marker of the partition whose name sorts first. The abort marker is chosen in the same way.
    """
    first: dict[tuple[int, int, str], tuple[tuple[str, int, str], ReplicaLog, Batch]] = {}
    for log, marker in _closings(logs):
        key = marker.producer_id, marker.producer_epoch, marker.marker
        found = (log.metadata.partition, marker.base_offset, log.metadata.replica), log, marker
        first[key] = min(first.get(key, found), found, key=lambda one: one[0])
    rows: list[SplitTransaction] = []
    for (producer_id, producer_epoch, kind), (_, log, commit) in first.items():
        aborted = first.get((producer_id, producer_epoch, "abort"))
        if kind == "commit" and aborted:
            rows.append(
                SplitTransaction(
                    **location(log, commit),
                    producer_id=producer_id,
                    producer_epoch=producer_epoch,
                    aborted_replica=aborted[1].metadata.replica,
                    aborted_partition=aborted[1].metadata.partition,
                    aborted_offset=aborted[2].base_offset,
                )
            )
    return tuple(sorted(rows))


def data(logs: Logs) -> int:
    return count(logs, lambda b: b.sound and b.producer_id >= 0 and is_data(b))


def markers(logs: Logs) -> int:
    return count(logs, lambda b: b.sound and b.producer_id >= 0 and b.marker != "")


CHECKS: Final = (
    Check(
        id="unclosed-transaction",
        statement="A transaction is closed by a marker before its producer writes anything else.",
        rule=(
            "A transactional batch is followed by a batch of the same producer that has a newer "
            "producer epoch or no transaction, although no offset is missing between them."
        ),
        explanation=(
            "The marker of the earlier transaction was never written to this partition, so its "
            "records get the outcome of a later transaction."
        ),
        source="KIP-98; ProducerAppendInfo; claims: atomic_commit",
        observes="batches of transactions",
        row=NotClosed,
        find=unclosed,
        observed=data,
        explain=lambda row: (
            f"{row}: producer {row.producer_id} continues at offset {row.offset} in epoch "
            f"{row.producer_epoch}, but its transaction of epoch {row.earlier_producer_epoch}, "
            f"with its last record at offset {row.earlier_offset}, has no marker."
        ),
    ),
    Check(
        id="repeated-marker",
        statement="A transaction is closed by exactly one marker.",
        rule=(
            "A marker is followed by a marker of the same producer without a record of the "
            "producer in between, although no offset is missing."
        ),
        explanation=(
            "A transaction was ended twice, or one without records on this partition was ended; "
            "readers are not affected, because a marker without records has no effect."
        ),
        permits={
            RETRIED: "a coordinator writes a marker again if it got no response, and a partition "
            "that was added to a transaction gets a marker even without records"
        },
        permitted=lambda _row: RETRIED,
        source="TransactionMarkerChannelManager; KAFKA-19999; claims: atomic_commit",
        observes="markers",
        row=RepeatedMarker,
        find=repeated_markers,
        observed=markers,
        explain=lambda row: (
            f"{row}: producer {row.producer_id} has a {row.marker} marker at offset {row.offset} "
            f"after a {row.earlier_marker} marker at offset {row.earlier_offset}, without a record "
            "in between."
        ),
    ),
    Check(
        id="coordinator-epoch-order",
        statement="Coordinator epochs in a producer's markers never decrease.",
        rule="A marker has a lower coordinator epoch than the producer's marker before it.",
        explanation=(
            "A coordinator that had been replaced ended a transaction that it no longer "
            "coordinated."
        ),
        source="ProducerAppendInfo.checkCoordinatorEpoch; KIP-98",
        observes="markers",
        row=CoordinatorEpochBack,
        find=coordinator_epochs_back,
        observed=markers,
        explain=lambda row: (
            f"{row}: producer {row.producer_id}: the marker at offset {row.offset} has coordinator "
            f"epoch {row.coordinator_epoch}, but the one before it, at offset "
            f"{row.earlier_offset}, has {row.earlier_coordinator_epoch}."
        ),
    ),
    Check(
        id="split-transaction",
        statement="A transaction is committed on all of its partitions, or aborted on all of them.",
        rule=(
            "Two markers of one producer id and epoch, each closing records of an earlier producer "
            "epoch, are a commit on one partition and an abort on another."
        ),
        explanation=(
            "The markers of two transactions were mixed up, or the coordinator lost its decision, "
            "so readers see only part of the transaction."
        ),
        source="KIP-890; KAFKA-17754; claims: atomic_commit",
        observes="markers that close an earlier producer epoch",
        row=SplitTransaction,
        find=split_transactions,
        observed=lambda logs: sum(1 for _ in _closings(logs)),
        explain=lambda row: (
            f"{row}: the transaction of producer {row.producer_id}, epoch {row.producer_epoch}, is "
            f"committed at offset {row.offset} here but aborted in "
            f"{row.aborted_replica}/{row.aborted_partition} at offset {row.aborted_offset}."
        ),
    ),
)
