"""Two-phase commit: a database commits first, then the client or its new instance commits in Kafka.

A client *prepares* its transaction: all records are acknowledged. The database commits its own
part, together with the *prepared state*: the producer id and epoch of the transaction. The client
then commits in Kafka.

If the client crashes between the two commits, a new instance of the client sends InitProducerId
with keepPreparedTxn. The coordinator raises the epoch for the new instance. It does not abort the
ongoing transaction. The new instance reads the prepared state from the database, and calls
completeTransaction. If the prepared state names the ongoing transaction, Kafka commits the
transaction. Otherwise Kafka aborts the transaction. So Kafka and the database both commit, or both
abort.

A transaction of two-phase commit has no timeout. So it stays open until an instance completes it.

This version adds four actions:

    coordinator  keep_prepared
    clients      commit_in_database, WF complete_prepared, WF receive_completion

Source: KIP-939; TransactionManager and TransactionStateManager.timedOutTransactions of Apache Kafka
4.3; KAFKA-15370.
Simplified: every client takes part in two-phase commit, and every new instance sets
keepPreparedTxn. No administrator ends a transaction. A new instance's request to end a prepared
transaction is not delivered late. The database stores only the newest prepared state, and refuses
the commit of an instance that was replaced.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Map,
    Nothing,
    Set,
    Temporal,
    action,
    action_property,
    all_of,
    any_of,
    exists,
    false,
    forall,
    iff,
    implies,
    invariant,
    ite,
    leads_to,
    liveness,
    nothing,
    when,
    witness,
)
from model.releases import unreleased
from model.transactions.claims.agreement import Agreement
from model.transactions.state import (
    ABORT,
    COMMIT,
    COMPLETE,
    ONGOING,
    PREPARE,
    Instance,
    Metadata,
    Offset,
    Outcome,
    Stamp,
    TopicPartition,
    Transaction,
)
from model.transactions.versions import Transactions
from model.variants import version


@version(
    "kip-939",
    at={"leader_changes": 0, "replication_lags": False, "ids_expire": False},
    in_force=unreleased(
        "Kafka 4.1 to 4.3 never time out a transaction of two-phase commit "
        "(transaction.two.phase.commit.enable), but refuse keepPreparedTxn"
    ),
)
class TwoPhaseCommit(Transactions):
    """Two-phase commit with a database (KIP-939), with the rules of transaction version 2.

    A new instance sends InitProducerId with keepPreparedTxn. It then commits or aborts the prepared
    transaction of the old instance, as the database has decided.
    """

    instances: Annotated[int, range(1, 5)] = 2

    in_database: Set[Transaction]  # the database has committed, together with the prepared state
    kept: Map[Instance, Transaction | Nothing]  # this new instance must complete it

    # ---- the coordinator

    def may_fence(s) -> Bool:
        """Returns False always: a transaction has no timeout, and the coordinator does not abort it
        for a new instance.

        Kafka: TransactionStateManager.timedOutTransactions.

        If a transaction times out, the claim `a_database_commit_stays` breaks (bug `times-out`, 8
        steps).
        """
        return false

    def keep(s, i: Instance) -> None:
        m = s.metadata
        stamp = s.next_stamp(s.is_exhausted(m.producer_epoch))
        s.write(
            s.ongoing(stamp.producer_id, stamp.producer_epoch, m.transaction, m.partitions),
            answering=i,
        )

    @action
    def keep_prepared(s, i: Instance) -> None:
        """The coordinator answers InitProducerId with keepPreparedTxn: the new instance receives
        the next epoch, and the ongoing transaction stays open.

        Kafka: KIP-939; the response also has the producer id and epoch of the ongoing transaction.
        Simplified: in the response, the transaction's number stands for its producer id and epoch.

        If the coordinator aborts the transaction, the claim `a_database_commit_stays` breaks (bug
        `aborts-prepared`, 8 steps).
        """
        when(~s.is_busy(), s.metadata.state == ONGOING, s.may_init(i))
        s.keep(i)

    def take_effect(s, metadata: Metadata, answering: Instance | Nothing) -> None:
        """Applies a committed record of the coordinator's log, and answers the instance
        `answering`, if any.

        The instance may have sent InitProducerId with keepPreparedTxn. Then the record contains the
        ongoing transaction, and the instance must complete this prepared transaction.
        """
        for i in Instance:
            keeps = (answering == i) & (metadata.state == ONGOING)
            s.kept[i] = ite(keeps, metadata.transaction, s.kept[i])
        super().take_effect(metadata, answering)

    def stamp_of_markers(s, metadata: Metadata) -> Stamp:
        """Returns the producer id and epoch that a transaction's markers carry. The producer id is
        the producer id of the transaction's records, and the epoch is the epoch of the records plus
        1.

        If the markers carry the producer id of a new instance, the claim `no_hanging_transaction`
        breaks (bug `marks-new-id`, 10 steps).
        """
        records = s.stamp[metadata.transaction]
        return Stamp(producer_id=records.producer_id, producer_epoch=records.producer_epoch + 1)

    # ---- the client and its database

    @action
    def begin(s, k: Transaction, i: Instance) -> None:
        """A client begins a transaction, unless it must complete the prepared transaction of an
        older instance.

        Kafka: TransactionManager.beginTransaction.
        Simplified: as in the class `Clients`, whose guards this action also has.

        Without the guard that the client has no transaction to complete, the claim
        `no_hanging_transaction` breaks in 9 steps.
        """
        when(s.kept[i] == nothing)
        super().begin(k, i)

    def may_send(s, p: TopicPartition, k: Transaction) -> Bool:
        """Returns True if the database has not committed its part of the transaction yet. Only then
        may the client send a record of the transaction.
        """
        return super().may_send(p, k) & ~s.in_database[k]

    def may_ask(s, k: Transaction, outcome: Outcome) -> Bool:
        """Returns True if the client may request this outcome for its transaction. It may request a
        commit only if the database has committed its part, and an abort only if the database has
        not committed its part.
        """
        return super().may_ask(k, outcome) & iff(outcome == COMMIT, s.in_database[k])

    def is_prepared(s, k: Transaction) -> Bool:
        """Returns True if the open transaction has records, and all of its records are
        acknowledged.
        """
        return super().may_ask(k, COMMIT) & s.may_ask_for_nothing(k, COMMIT)

    def may_decide(s, i: Instance) -> Bool:
        """Returns True if no newer instance has a producer id. Only then does the database accept a
        commit of the instance `i`.

        Simplified: in the spec, the database refuses the old instance at once. A real application
        need only do so before the newer instance reads the prepared state. Kafka cannot enforce
        this order.

        Without this rule, the claim `a_database_commit_stays` breaks (bug
        `zombie-commits-database`, 9 steps).
        """
        return forall(implies(i < j, s.producer[j].producer_id == nothing) for j in Instance)

    @action
    def commit_in_database(s, k: Transaction, i: Instance) -> None:
        """The database commits its part of a prepared transaction, and stores the prepared state
        (the transaction's producer id and epoch).

        Kafka: TransactionManager.prepareTransaction, which returns the prepared state in KIP-939.
        Simplified: the client prepares and the database commits in one step.

        Without the guard that all records are acknowledged, the claim `a_database_commit_stays`
        breaks in 4 steps.
        """
        when(s.owner[k] == i, ~s.in_database[k], s.is_prepared(k), s.may_decide(i))
        s.in_database[k] = True

    # ---- the new instance

    def is_recorded(s, j: Transaction, k: Transaction) -> Bool:
        """Returns True if the transactions `j` and `k` have the same prepared state (producer id
        and epoch). The prepared state of `j` in the database then also names `k`.
        """
        return s.stamp[j] == s.stamp[k]

    def matches(s, k: Transaction) -> Bool:
        """Returns True if the newest prepared state in the database is the prepared state of the
        transaction `k`.
        """
        return exists(
            all_of(
                s.in_database[j],
                s.is_recorded(j, k),
                forall(implies(s.in_database[x], x <= j) for x in Transaction),
            )
            for j in Transaction
        )

    @action(fair="weak")
    def complete_prepared(s, k: Transaction, i: Instance) -> None:
        """A new instance commits or aborts the prepared transaction, as the database has decided.

        Kafka: KIP-939, completeTransaction of the producer.
        Simplified: the instance reads the database and ends the transaction in one step.

        If only the producer ids are compared, the claim `the_client_decides` breaks (bug
        `ignores-prepared-epoch`, 16 steps). The new instance has raised the epoch once, and the
        decision raises the epoch again. If the decision does not raise the epoch, the claim
        `no_two_instances_are_one` breaks (bug `raises-epoch-once`, 9 steps). Without the guard that
        the instance has the newest epoch, the claim `states_follow_the_table` breaks in 10 steps.
        """
        when(s.kept[i] == k, ~s.is_busy(), s.has_newest_epoch(i))
        outcome = ite(s.matches(k), COMMIT, ABORT)
        s.prepare(k, outcome, s.epoch_of_decision(), s.ends_epochs())

    @action(fair="weak")
    def receive_completion(s, k: Transaction, i: Instance) -> None:
        """A new instance learns that the prepared transaction is committed or aborted.

        Kafka: EndTxnResponse, and TransactionManager.
        Simplified: if an answer is lost, the instance learns the outcome in a later step.

        Without the guard that a commit or abort has raised the instance's epoch, the claim
        `no_two_instances_are_one` breaks in 9 steps.
        """
        m = s.metadata
        when(
            s.kept[i] == k,
            (m.state == PREPARE) | (m.state == COMPLETE),
            s.is_raised_from(s.stamp_of(i)),
        )
        s.kept[i] = nothing
        s.take_next_epoch(i)

    # ---- claims

    @invariant
    def a_database_commit_stays(s) -> Bool:
        """If the database has committed its part of a transaction, Kafka never aborts the
        transaction, and Kafka has all records of the transaction.
        """
        return forall(
            implies(
                s.in_database[k],
                all_of(
                    s.decided[k] != ABORT,
                    forall(s.has_record(p, k) for p in s.sent[k]),
                ),
            )
            for k in Transaction
        )

    @invariant
    def the_client_decides(s) -> Bool:
        """Kafka commits a transaction only if the database has committed its part."""
        return forall(implies(s.decided[k] == COMMIT, s.in_database[k]) for k in Transaction)

    @action_property
    def zombies_write_nothing(s, after: Agreement) -> Bool:
        """After an instance has received a producer id, a partition appends a record of an older
        instance only if the transaction of the record is not complete.
        """
        m = s.metadata
        is_open = any_of(m.state == ONGOING, m.state == PREPARE)
        return forall(
            implies(
                all_of(
                    after.has_record(p, k),
                    ~s.has_record(p, k),
                    s.owner[k] == i,
                    i < j,
                    s.producer[j].producer_id != nothing,
                ),
                is_open & (m.transaction == k),
            )
            for p in TopicPartition
            for k in Transaction
            for i in Instance
            for j in Instance
        )

    @liveness
    def open_transactions_close(s, p: TopicPartition, o: Offset) -> Temporal:
        """If a new instance sent InitProducerId with keepPreparedTxn for an open transaction, a
        marker eventually closes the transaction.

        Without a new instance, a transaction may stay open for ever, because it has no timeout.
        """
        is_kept = exists(s.is_in(p, o, k) & (s.kept[i] == k) for k in Transaction for i in Instance)
        return leads_to(s.is_open(p, o) & is_kept, ~s.is_open(p, o))

    # ---- witnesses

    @witness
    def a_new_instance_commits(s) -> Bool:
        """Reachable: a new instance commits the transaction of an older instance."""
        return exists(
            (s.kept[i] == k) & (s.decided[k] == COMMIT) for i in Instance for k in Transaction
        )

    @witness
    def a_new_instance_aborts(s) -> Bool:
        """Reachable: a new instance aborts a transaction that the database has not committed."""
        return exists(
            (s.kept[i] == k) & (s.decided[k] == ABORT) for i in Instance for k in Transaction
        )
