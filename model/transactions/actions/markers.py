"""The actions of markers: partitions append them, and the coordinator then completes the
transaction.

A marker is a record that commits or aborts a transaction in one partition. The coordinator sends a
marker until every partition of the transaction has appended the marker. So a delayed copy of the
marker may arrive during a later transaction.

Source: KIP-98; KIP-890; KAFKA-19446.
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    all_of,
    count,
    false,
    forall,
    ite,
    nothing,
    true,
    when,
)
from model.transactions.actions.coordinator import Coordinator, no_partition
from model.transactions.state import (
    COMPLETE,
    PREPARE,
    CoordinatorEpoch,
    Metadata,
    Offset,
    ProducerEpoch,
    TopicPartition,
    Transaction,
)


class Markers(Coordinator):
    @action(fair="weak")
    def write_marker(s, p: TopicPartition, k: Transaction) -> None:
        """A partition appends the marker of a transaction that the coordinator has prepared to
        commit or abort.

        Kafka: TransactionMarkerChannelManager, WriteTxnMarkers.
        Simplified: sending, appending and confirming are one step. The action `write_late_marker`
        delivers repeated markers.

        Every claim also holds without the guard that the coordinator has prepared a commit or
        abort.
        """
        epoch, end = s.coordinator_epoch, s.log[p].end_offset
        when(
            s.metadata.state == PREPARE,
            s.metadata.transaction == k,
            ~s.has_marker(p, k, epoch, end),
        )
        s.put_marker(p, k, epoch)

    @action
    def write_late_marker(s, p: TopicPartition, k: Transaction, epoch: CoordinatorEpoch) -> None:
        """A partition appends a marker that is delivered a second time, or that a failed
        coordinator sent.

        Kafka: WriteTxnMarkers has no deduplication of its own.
        Simplified: a partition appends at most two copies of a marker of each coordinator epoch.

        If the marker of an old transaction closes the next transaction, the claim
        `markers_close_their_own` breaks (version `lax-markers`, 14 steps; KAFKA-19446).
        """
        when(true if s.markers_late else false)
        old = count(
            all_of(
                s.is_marker(p, o),
                s.log[p].record[o].transaction == k,
                s.log[p].record[o].coordinator_epoch == epoch,
            )
            for o in Offset
        )
        when(old < 2, (old == 1) | (epoch < s.coordinator_epoch))
        s.put_marker(p, k, epoch)

    def has_ended(s, p: TopicPartition) -> Bool:
        """Returns True if the partition's log has a committed marker of the commit or abort that
        the coordinator has prepared.
        """
        k, end = s.metadata.transaction, s.log[p].high_watermark
        return s.has_marker(p, k, s.coordinator_epoch, end)

    @action(fair="weak")
    def complete(s) -> None:
        """The coordinator completes a transaction after the transaction's marker is committed in
        every partition of the transaction.

        Kafka: TransactionMarkerChannelManager.maybeWriteTxnCompletion.
        Simplified: the coordinator sees the partitions' logs.

        Without the guard that all markers are committed, the claim `no_hanging_transaction` breaks
        in 12 steps.
        """
        m = s.metadata
        rotates = m.next_id != m.producer_id
        when(
            m.state == PREPARE,
            ~s.is_appending(),
            forall(s.has_ended(p) for p in m.partitions),
        )
        s.write(
            Metadata(
                state=COMPLETE,
                outcome=m.outcome,
                producer_id=m.next_id,
                producer_epoch=ite(rotates, ProducerEpoch(0), m.producer_epoch),
                previous_id=m.producer_id,
                next_id=m.next_id,
                transaction=m.transaction,
                partitions=no_partition(),
            ),
            answering=nothing,
        )
