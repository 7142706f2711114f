"""The claims about transaction version 1 with verification, and the failures that verification does
not prevent.

- A record is late if its transaction is not open in the coordinator's log.
- A request is late if its transaction is already committed or aborted.
- A marker is late if the coordinator does not wait for it.

Requests and markers arrive *in order* until a late request takes effect, or until a late marker
commits or aborts records.

A claim about a transaction leaves out the partitions where a record of the transaction was late.
The two methods whose docstrings begin with "Reachable" describe states to which late records and
late requests may lead.
"""

from __future__ import annotations

from model.coordinator_abstract.state import TopicPartition, Transaction
from model.coordinator_abstract.verification_proof import VerificationLemmas
from model.language import Bool, all_of, any_of, exists, forall, implies, invariant, witness
from model.releases import kafka
from model.variants import version


@version(
    "kip-890-part-1",
    at={"producer_epochs": 2, "adds_late": False},
    in_force=kafka("3.6", "3.9"),
)
class Verification(VerificationLemmas):
    """Transaction version 1 with verification (KIP-890 part 1): before a record opens a
    transaction in a partition, the coordinator must confirm the transaction to the leader.
    """

    @invariant
    def atomic(s) -> Bool:
        """While requests and markers arrive in order, no transaction is committed on one partition
        and aborted on another partition.

        Requests and markers arrive in order until a late request takes effect, or a late marker
        commits or aborts records (`disordered`). A record is late on a partition if its transaction
        is not open in the coordinator's log when the record arrives. The claim leaves out a pair of
        partitions if a record of the transaction was late on one of them.
        """
        return s.disordered | forall(
            any_of(
                ~(s.kept[x][t] & s.dropped[x][u]),
                s.late[x][t],
                s.late[x][u],
            )
            for x in Transaction
            for t in TopicPartition
            for u in TopicPartition
        )

    @invariant
    def faithful(s) -> Bool:
        """While requests and markers arrive in order, a partition commits or aborts the records of
        a transaction only as the coordinator decided.

        Requests and markers arrive in order until a late request takes effect, or a late marker
        commits or aborts records (`disordered`). A record is late on a partition if its transaction
        is not open in the coordinator's log when the record arrives. The claim leaves out a
        partition on which a record of the transaction was late.
        """
        return s.disordered | forall(
            any_of(
                s.late[x][t],
                implies(s.kept[x][t], s.committed[x]) & implies(s.dropped[x][t], s.aborted[x]),
            )
            for x in Transaction
            for t in TopicPartition
        )

    @invariant
    def no_hanging_transaction(s) -> Bool:
        """If a partition has a pending record, the coordinator's log has an open transaction with
        the record's producer id and epoch and with this partition. The partition does not have the
        marker of this transaction yet.

        So a marker will end the record's transaction, even if requests and markers arrive out of
        order.
        """
        return forall(
            implies(s.pending[x][t], s.is_covered(x, t))
            for x in Transaction
            for t in TopicPartition
        )

    @invariant
    def a_decision_survives(s) -> Bool:
        """While requests and markers arrive in order, a commit or abort in the coordinator's log is
        never changed.

        Requests and markers arrive in order until a late request takes effect, or a late marker
        commits or aborts records (`disordered`).
        """
        return s.disordered | super().a_decision_survives()

    @invariant
    def an_acknowledged_commit_stays(s) -> Bool:
        """While requests and markers arrive in order, a transaction stays committed after its
        client has the response to the commit, and no partition aborts a record of this transaction.

        Requests and markers arrive in order until a late request takes effect, or a late marker
        commits or aborts records (`disordered`). A record is late on a partition if its transaction
        is not open in the coordinator's log when the record arrives. The second part of the claim
        leaves out a partition on which a record of the transaction was late.
        """
        return s.disordered | forall(
            implies(
                s.confirmed[x] & s.commit_requested[x],
                s.committed[x] & (s.late[x][t] | ~s.dropped[x][t]),
            )
            for x in Transaction
            for t in TopicPartition
        )

    @invariant
    def the_client_decides(s) -> Bool:
        """While requests and markers arrive in order, a transaction is committed only if its client
        has requested a commit.

        Requests and markers arrive in order until a late request takes effect, or a late marker
        commits or aborts records (`disordered`).
        """
        return s.disordered | super().the_client_decides()

    @invariant
    def only_the_newest_epoch_writes(s) -> Bool:
        """A pending record has the newest producer id and epoch of its transactional id, unless the
        coordinator's log has a prepared commit or abort for this transactional id.

        In this version, the claim follows from the claim `no_hanging_transaction`.
        """
        return forall(
            implies(s.pending[x][t], s.metadata_of(x).is_prepared | s.is_current(x))
            for x in Transaction
            for t in TopicPartition
        )

    @witness
    def a_late_record_joins_the_next_transaction(s) -> Bool:
        """Reachable: a record of an aborted transaction is committed with the next transaction,
        although no request to the coordinator and no marker was late.

        Only the record was late: when it arrived, the aborted transaction was not open in the
        coordinator's log.
        """
        return exists(
            all_of(~s.disordered, s.added[x][t], s.aborted[x], s.kept[x][t])
            for x in Transaction
            for t in TopicPartition
        )

    @witness
    def a_late_request_ends_the_next_transaction(s) -> Bool:
        """Reachable: a transaction is committed, although its client requested no commit."""
        return exists(s.committed[x] & ~s.commit_requested[x] for x in Transaction)
