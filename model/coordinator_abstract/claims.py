"""The claims of the spec `coordinator-abstract`, and states that must be reachable."""

from __future__ import annotations

from model.coordinator_abstract.partition_lemmas import PartitionLemmas
from model.coordinator_abstract.state import (
    Instance,
    TopicPartition,
    Transaction,
    TransactionalId,
)
from model.language import Bool, all_of, exists, forall, iff, implies, invariant, witness


class AbstractCoordinatorClaims(PartitionLemmas):
    @invariant
    def atomic(s) -> Bool:
        """No transaction is committed on one partition and aborted on another."""
        return forall(
            ~(s.kept[x][t] & s.dropped[x][u])
            for x in Transaction
            for t in TopicPartition
            for u in TopicPartition
        )

    @invariant
    def faithful(s) -> Bool:
        """A partition commits or aborts the records of a transaction only as the coordinator
        decided.
        """
        return forall(
            implies(s.kept[x][t], s.committed[x]) & implies(s.dropped[x][t], s.aborted[x])
            for x in Transaction
            for t in TopicPartition
        )

    @invariant
    def no_hanging_transaction(s) -> Bool:
        """If a partition has a pending record of a transaction, this transaction is not complete in
        the coordinator's log, and the log lists the partition for this transaction.
        """
        return forall(
            implies(s.pending[x][t], s.is_open_in_the_log(x, t))
            for x in Transaction
            for t in TopicPartition
        )

    @invariant
    def a_decision_survives(s) -> Bool:
        """A commit or abort in the coordinator's log is never changed, even if another coordinator
        takes over.
        """
        return forall(
            all_of(
                ~(s.committed[x] & s.aborted[x]),
                implies(
                    s.decided(x) & (s.metadata_of(x).transaction == x),
                    all_of(
                        ~s.metadata_of(x).is_ongoing,
                        implies(
                            s.has_decision(s.metadata_of(x)),
                            iff(s.metadata_of(x).commits, s.committed[x]),
                        ),
                    ),
                ),
            )
            for x in Transaction
        )

    @invariant
    def an_acknowledged_commit_stays(s) -> Bool:
        """If a client has received the response that its transaction is committed, the log has this
        commit, and no partition aborts a record of the transaction.
        """
        return forall(
            implies(s.confirmed[x] & s.commit_requested[x], s.committed[x] & ~s.dropped[x][t])
            for x in Transaction
            for t in TopicPartition
        )

    @invariant
    def the_client_decides(s) -> Bool:
        """A transaction is committed only if its client has requested a commit."""
        return forall(implies(s.committed[x], s.commit_requested[x]) for x in Transaction)

    @invariant
    def one_instance_has_an_epoch(s) -> Bool:
        """No two instances have the same producer id and epoch."""
        return forall(
            implies(
                all_of(
                    s.is_ready[a],
                    s.is_ready[b],
                    s.held[a].producer_id == s.held[b].producer_id,
                    s.held[a].producer_epoch == s.held[b].producer_epoch,
                ),
                a == b,
            )
            for a in Instance
            for b in Instance
        )

    @invariant
    def only_the_newest_epoch_writes(s) -> Bool:
        """If a transaction with a pending record is neither committed nor aborted, the transaction
        has the newest producer id and epoch of its transactional id.
        """
        return forall(
            implies(s.pending[x][t], s.decided(x) | s.is_current(x))
            for x in Transaction
            for t in TopicPartition
        )

    @invariant
    def no_instance_has_the_last_epoch(s) -> Bool:
        """No instance receives the largest possible producer epoch, because a commit or abort could
        not raise this epoch.
        """
        return forall(
            implies(s.is_ready[i], s.held[i].producer_epoch < s.last_epoch) for i in Instance
        )

    @invariant
    def markers_are_accepted(s) -> Bool:
        """A partition accepts each marker that the present coordinator must write to it."""
        return forall(
            implies(
                s.log[i].is_prepared & s.log[i].partitions[t],
                all_of(
                    s.accepts_coordinator(t, s.id_in_markers(s.log[i]), s.coordinator_epoch),
                    s.accepts_marker(t, s.id_in_markers(s.log[i]), s.log[i].marker_epoch),
                ),
            )
            for i in TransactionalId
            for t in TopicPartition
        )

    # ---- witnesses

    @witness
    def the_next_coordinator_goes_on(s) -> Bool:
        """Reachable: a partition has a marker of a failed coordinator, and the next coordinator
        must still complete the transaction.
        """
        return exists(
            all_of(
                s.log[i].is_prepared,
                s.marked[s.log[i].transaction][t],
                s.seen_coordinator[t][s.id_in_markers(s.log[i])] < s.coordinator_epoch,
            )
            for i in TransactionalId
            for t in TopicPartition
        )

    @witness
    def a_client_is_answered_before_the_markers(s) -> Bool:
        """Reachable: a client has the response that its transaction is committed, and a partition
        still has a pending record of this transaction.
        """
        return exists(
            s.confirmed[x] & s.commit_requested[x] & s.pending[x][t]
            for x in Transaction
            for t in TopicPartition
        )

    @witness
    def another_producer_id_writes(s) -> Bool:
        """Reachable: a partition has committed a transaction. It also has pending records under
        another producer id of the same transactional id.
        """
        return exists(
            all_of(
                s.kept[x][t],
                s.pending[y][t],
                s.stamp[x].transactional_id == s.stamp[y].transactional_id,
                s.stamp[x].producer_id != s.stamp[y].producer_id,
            )
            for x in Transaction
            for y in Transaction
            for t in TopicPartition
        )

    @witness
    def a_late_record_is_fenced(s) -> Bool:
        """Reachable: a partition refuses a transaction's records, because it has seen a larger
        epoch of the producer id.
        """
        return exists(
            s.added[x][t] & (s.stamp[x].producer_epoch < s.seen_epoch[t][s.stamp[x].producer_id])
            for x in Transaction
            for t in TopicPartition
        )
