"""The lemmas about the partitions of a transaction: which records and markers a partition has, and
which epochs it has seen.

First a partition is added to a transaction. Then the partition has pending records of the
transaction, and at the end it has the marker. The partition remembers the producer epoch of each
record and marker, and the coordinator epoch of each marker. So it can refuse records and markers
with smaller epochs.
"""

from __future__ import annotations

from model.coordinator_abstract.proof import CoordinatorLemmas
from model.coordinator_abstract.state import (
    ProducerId,
    TopicPartition,
    Transaction,
    TransactionalId,
)
from model.language import Bool, all_of, any_of, forall, implies, lemma


class PartitionLemmas(CoordinatorLemmas):
    @lemma
    def an_added_partition_is_in_the_log_or_marked(s) -> Bool:
        """If a partition was added to a transaction, the partition has the transaction's marker, or
        the transaction is open in the coordinator's log with this partition.

        The lemma is true because the coordinator waits for the marker of each partition before it
        completes the transaction.
        """
        return forall(
            implies(
                s.added[x][t],
                s.begun[x] & any_of(s.is_open_in_the_log(x, t), s.marked[x][t] & s.decided(x)),
            )
            for x in Transaction
            for t in TopicPartition
        )

    def is_open_in_the_log(s, x: Transaction, t: TopicPartition) -> Bool:
        m = s.metadata_of(x)
        return all_of(m.transaction == x, m.is_ongoing | m.is_prepared, m.partitions[t])

    @lemma
    def pending_records_are_of_the_newest_epoch(s) -> Bool:
        """If a partition has pending records of a transaction, it has no marker of this
        transaction, and it has seen no larger epoch of the transaction's producer id.

        The lemma is true because a partition refuses records of a smaller epoch, and a marker
        commits or aborts all pending records.
        """
        return forall(
            implies(
                s.pending[x][t],
                all_of(
                    s.added[x][t],
                    ~s.marked[x][t],
                    s.seen_epoch[t][s.stamp[x].producer_id] == s.stamp[x].producer_epoch,
                ),
            )
            for x in Transaction
            for t in TopicPartition
        )

    @lemma
    def a_marked_partition_has_seen_the_marker(s) -> Bool:
        """If a partition has a marker of a transaction, the partition has seen the marker's
        producer epoch or a larger epoch.

        Also, the partition was added to this transaction, and the transaction is committed or
        aborted.
        """
        return forall(
            implies(
                s.marked[x][t],
                all_of(
                    s.decided(x),
                    s.added[x][t],
                    s.marker_epoch[x] <= s.seen_epoch[t][s.stamp[x].producer_id],
                ),
            )
            for x in Transaction
            for t in TopicPartition
        )

    @lemma
    def partitions_see_no_newer_epoch(s) -> Bool:
        """No partition has seen a larger epoch of a producer id than the epoch in the coordinator's
        log.

        If the log has prepared a commit or abort, no partition has seen a larger epoch of the
        markers' producer id than the epoch of the markers.
        """
        return forall(
            all_of(
                implies(
                    s.log[i].is_known,
                    s.seen_epoch[t][s.log[i].producer_id] <= s.log[i].producer_epoch,
                ),
                s.sees_nothing_above_the_records(t, i),
                implies(
                    s.log[i].is_prepared,
                    s.seen_epoch[t][s.id_in_markers(s.log[i])] <= s.log[i].marker_epoch,
                ),
            )
            for t in TopicPartition
            for i in TransactionalId
        )

    def sees_nothing_above_the_records(s, t: TopicPartition, i: TransactionalId) -> Bool:
        """Returns True always. The version `kip-939` replaces this method by a limit on the epochs
        that the partition has seen.

        The other versions need no such limit: the log has the epoch of the ongoing transaction's
        records, and the lemma `partitions_see_no_newer_epoch` already limits this epoch. In
        `kip-939`, a new instance may keep the transaction under another epoch.
        """
        return all_of()

    @lemma
    def partitions_see_no_newer_coordinator(s) -> Bool:
        """No partition has a marker from a later coordinator than the present coordinator."""
        return forall(
            s.seen_coordinator[t][p] <= s.coordinator_epoch
            for t in TopicPartition
            for p in ProducerId
        )
