"""The claims about two-phase commit (KIP-939), and states that must be reachable.

A new instance of a client *keeps* the ongoing transaction of an older instance: it sends
InitProducerId with keepPreparedTxn. It receives a producer id and epoch with which it may end this
transaction.
"""

from __future__ import annotations

from model.coordinator_abstract.state import (
    CoordinatorEpoch,
    Instance,
    TopicPartition,
    Transaction,
    TransactionalId,
)
from model.coordinator_abstract.two_phase_database import DatabaseLemmas
from model.language import Bool, all_of, any_of, exists, forall, implies, invariant, ite, witness
from model.releases import unreleased
from model.variants import version


@version(
    "kip-939",
    at={"instances": 2},
    in_force=unreleased(
        "Kafka 4.1 to 4.3 never time out a transaction of two-phase commit "
        "(transaction.two.phase.commit.enable), but refuse keepPreparedTxn"
    ),
)
class TwoPhaseCommit(DatabaseLemmas):
    """The spec's version `kip-1228` with two-phase commit (KIP-939).

    A new instance keeps the ongoing transaction of an older instance (keepPreparedTxn), and ends
    this transaction as the database decided.
    """

    @invariant
    def a_database_commit_stays(s) -> Bool:
        """If the database has committed its part of a transaction, Kafka never aborts the
        transaction, and no partition aborts a record of the transaction.
        """
        return forall(
            implies(s.in_database[x], ~s.aborted[x] & ~s.dropped[x][t])
            for x in Transaction
            for t in TopicPartition
        )

    @invariant
    def the_client_decides(s) -> Bool:
        """A transaction is committed only if its client has requested a commit. In two-phase
        commit, the database must have committed its part of the transaction.
        """
        return forall(
            implies(
                s.committed[x],
                ite(s.is_two_phase(x), s.in_database[x], s.commit_requested[x]),
            )
            for x in Transaction
        )

    @invariant
    def the_coordinator_aborts_nothing_alone(s) -> Bool:
        """A transaction of two-phase commit is aborted only if its client has requested the abort,
        or if a new instance has found no commit in the database.
        """
        return forall(
            implies(s.aborted[x] & s.is_two_phase(x), s.abort_requested[x] | s.refused[x])
            for x in Transaction
        )

    @invariant
    def only_the_newest_epoch_writes(s) -> Bool:
        """A transaction with a pending record is in one of three cases. Either it is committed or
        aborted. Or it has the newest producer id and epoch of its transactional id. Or a new
        instance keeps it (keepPreparedTxn).
        """
        return forall(
            implies(
                s.pending[x][t],
                any_of(
                    s.decided(x),
                    s.is_current(x),
                    s.is_kept(s.metadata_of(x)) & (s.metadata_of(x).transaction == x),
                ),
            )
            for x in Transaction
            for t in TopicPartition
        )

    # ---- witnesses

    @witness
    def a_new_instance_commits(s) -> Bool:
        """Reachable: a new instance has committed the transaction of an older instance, and a
        partition still has a pending record of this transaction.
        """
        return exists(
            all_of(
                s.is_ended_for_another(s.metadata_of(x)),
                s.metadata_of(x).transaction == x,
                s.committed[x],
                s.pending[x][t],
                s.keeper[x] != s.client[x],
            )
            for x in Transaction
            for t in TopicPartition
        )

    @witness
    def a_new_instance_aborts(s) -> Bool:
        """Reachable: a new instance has aborted the transaction of an older instance, because the
        new instance found no commit in the database.
        """
        return exists(
            s.aborted[x] & s.refused[x] & (s.keeper[x] != s.client[x]) for x in Transaction
        )

    @witness
    def the_next_coordinator_knows_the_new_epoch(s) -> Bool:
        """Reachable: another coordinator has taken over, and its log has the producer id and epoch
        of a new instance that keeps an ongoing transaction (keepPreparedTxn).
        """
        return exists(
            all_of(
                exists(e < s.coordinator_epoch for e in CoordinatorEpoch),
                s.is_kept(s.log[i]),
                s.holds(c, s.log[i].producer_id, s.log[i].producer_epoch),
                s.pending[s.log[i].transaction][t],
            )
            for i in TransactionalId
            for c in Instance
            for t in TopicPartition
        )

    @witness
    def a_kept_transaction_gets_another_id(s) -> Bool:
        """Reachable: the epochs run out while a new instance keeps a transaction (keepPreparedTxn).
        So the new instance has another producer id than the transaction's pending records.
        """
        return exists(
            all_of(
                s.is_kept(s.log[i]),
                s.log[i].producer_id != s.id_in_markers(s.log[i]),
                s.pending[s.log[i].transaction][t],
            )
            for i in TransactionalId
            for t in TopicPartition
        )
