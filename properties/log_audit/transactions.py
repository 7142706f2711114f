"""A transaction on a partition is records of one producer, closed by one marker.

A marker is a control batch that the coordinator has written: commit or abort. It carries the
producer's epoch, or since KIP-890 the next one, and the coordinator's own epoch. Until it comes,
readers that read committed records wait.

Source: KIP-98, KIP-890; ProducerStateManager, TransactionMarkerChannelManager.
Simplified: of a transaction whose beginning or end was deleted nothing is said. A marker that
closes records of an earlier producer epoch names a transaction across partitions; one of the same
epoch does not, as the next transaction may have that epoch too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from properties.log_audit.check import Check, Place, count, place
from properties.log_audit.log import Batch, Logs, ReplicaLog, by_producer

RETRIED: Final = "marker written again"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class NotClosed(Place):
    """A batch that its producer wrote while a transaction was open, and no part of it."""

    producer_id: int
    producer_epoch: int
    earlier_offset: int  # of the batch of the open transaction before it
    earlier_producer_epoch: int


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class RepeatedMarker(Place):
    """A marker that follows a marker of the same producer."""

    producer_id: int
    producer_epoch: int
    marker: str
    earlier_offset: int
    earlier_marker: str


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class CoordinatorEpochBack(Place):
    """A marker of an earlier coordinator epoch than the one before it."""

    producer_id: int
    coordinator_epoch: int
    earlier_offset: int
    earlier_coordinator_epoch: int


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class SplitTransaction(Place):
    """A commit marker of a transaction that was aborted elsewhere."""

    producer_id: int
    producer_epoch: int
    aborted_replica: str
    aborted_partition: str
    aborted_offset: int


def is_data(batch: Batch) -> bool:
    """Records that are part of a transaction."""
    return batch.transactional and not batch.control


def _successive(log: ReplicaLog) -> Iterator[tuple[Batch, Batch]]:
    """Batches of a producer with nothing of it between them, and no offset missing."""
    for stretch in log.stretches():
        for of_producer in by_producer(stretch).values():
            yield from pairwise(of_producer)


def unclosed(logs: Logs) -> tuple[NotClosed, ...]:
    """One row per batch that goes on without the marker that must come before it."""
    return tuple(
        sorted(
            NotClosed(
                **place(log, two),
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
    """One row per marker for which its producer wrote nothing since the marker before it."""
    return tuple(
        sorted(
            RepeatedMarker(
                **place(log, two),
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
    """One row per marker whose coordinator was replaced before the marker before it."""
    return tuple(
        sorted(
            CoordinatorEpochBack(
                **place(log, two),
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
    """The markers that close records of an earlier producer epoch."""
    for log in logs.replicas:
        for one, two in _successive(log):
            if is_data(one) and two.marker and two.producer_epoch > one.producer_epoch:
                yield log, two


def split_transactions(logs: Logs) -> tuple[SplitTransaction, ...]:
    """One row per transaction that was both committed and aborted: of each the first marker."""
    first: dict[tuple[int, int, str], tuple[tuple[str, int, str], ReplicaLog, Batch]] = {}
    for log, marker in _closings(logs):
        key = marker.producer_id, marker.producer_epoch, marker.marker
        found = (log.beside.partition, marker.base_offset, log.beside.replica), log, marker
        first[key] = min(first.get(key, found), found, key=lambda one: one[0])
    rows: list[SplitTransaction] = []
    for (producer_id, producer_epoch, kind), (_, log, commit) in first.items():
        aborted = first.get((producer_id, producer_epoch, "abort"))
        if kind == "commit" and aborted:
            rows.append(
                SplitTransaction(
                    **place(log, commit),
                    producer_id=producer_id,
                    producer_epoch=producer_epoch,
                    aborted_replica=aborted[1].beside.replica,
                    aborted_partition=aborted[1].beside.partition,
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
        statement="A transaction is closed by a marker before its producer goes on.",
        rule=(
            "With no offset missing between them, a transactional batch is followed by a batch of "
            "the same producer that is of a newer producer epoch, or of no transaction."
        ),
        explanation=(
            "The marker of the earlier transaction was never written here. Its records have no "
            "outcome of their own: they share that of whatever comes next."
        ),
        source="KIP-98; ProducerAppendInfo; claims: atomic_commit",
        observes="batches of transactions",
        row=NotClosed,
        find=unclosed,
        observed=data,
        explain=lambda row: (
            f"{row}: producer {row.producer_id} goes on at offset {row.offset} in epoch "
            f"{row.producer_epoch}; its transaction of epoch {row.earlier_producer_epoch}, last "
            f"written to at offset {row.earlier_offset}, has no marker."
        ),
    ),
    Check(
        id="repeated-marker",
        statement="A transaction is closed by one marker, not by two.",
        rule=(
            "With no offset missing between them, a marker is followed by a marker of the same "
            "producer, which wrote nothing in between."
        ),
        explanation=(
            "A transaction was ended again, or one that never wrote here. Readers are not misled: "
            "a marker without records ends nothing."
        ),
        permits={
            RETRIED: "a coordinator that does not know that a marker arrived writes it again, and "
            "a partition that was added to a transaction gets one even if nothing was written"
        },
        permitted=lambda _row: RETRIED,
        source="TransactionMarkerChannelManager; KAFKA-19999; claims: atomic_commit",
        observes="markers",
        row=RepeatedMarker,
        find=repeated_markers,
        observed=markers,
        explain=lambda row: (
            f"{row}: producer {row.producer_id}: {row.marker} at offset {row.offset}, behind "
            f"{row.earlier_marker} at offset {row.earlier_offset}; nothing was written in between."
        ),
    ),
    Check(
        id="coordinator-epoch-order",
        statement="Markers of a producer come from ever newer coordinators.",
        rule="A marker has a lower coordinator epoch than the one of its producer before it.",
        explanation=(
            "A coordinator that had been replaced decided over a transaction that was not its own "
            "any more."
        ),
        source="ProducerAppendInfo.checkCoordinatorEpoch; KIP-98",
        observes="markers",
        row=CoordinatorEpochBack,
        find=coordinator_epochs_back,
        observed=markers,
        explain=lambda row: (
            f"{row}: producer {row.producer_id}: the marker at offset {row.offset} is of "
            f"coordinator epoch {row.coordinator_epoch}, the one before it, at offset "
            f"{row.earlier_offset}, of {row.earlier_coordinator_epoch}."
        ),
    ),
    Check(
        id="split-transaction",
        statement="A transaction is committed on all of its partitions, or aborted on all.",
        rule=(
            "Markers of one producer id and epoch, each closing records of an earlier producer "
            "epoch, say commit on one partition and abort on another."
        ),
        explanation=(
            "Readers see a part of a transaction: the markers of two transactions were mixed up, "
            "or the coordinator forgot what it had decided."
        ),
        source="KIP-890; KAFKA-17754; claims: atomic_commit",
        observes="markers that close an earlier producer epoch",
        row=SplitTransaction,
        find=split_transactions,
        observed=lambda logs: sum(1 for _ in _closings(logs)),
        explain=lambda row: (
            f"{row}: producer {row.producer_id}, epoch {row.producer_epoch}: committed at offset "
            f"{row.offset}, and aborted in {row.aborted_replica}/{row.aborted_partition} at offset "
            f"{row.aborted_offset}."
        ),
    ),
)
