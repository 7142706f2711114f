"""The version `kip-939` of the spec `coordinator-abstract`: two-phase commit, in which a new
instance keeps the ongoing transaction of an older instance.

A client writes to a database and to Kafka. The database first commits its part of the transaction,
together with the *prepared state*: the producer id and epoch of the transaction. Then the client
requests the commit in Kafka.

If the client stops between these two steps, a new instance *keeps* the ongoing transaction: it
sends InitProducerId with keepPreparedTxn. The new instance receives a larger epoch, or another
producer id if the epochs run out. It also receives the producer id and epoch of the ongoing
transaction. If the database has this prepared state, the new instance requests the commit,
otherwise the abort.

So a kept transaction has two epochs: the epoch of its records, and the epoch of the instance that
may end it. The markers have the producer id of the records. The coordinator reserves the epoch of
the markers when the first new instance keeps the transaction. The reserved epoch is above the epoch
of the records, and at most the epoch of the new instance.

This version of the spec has the actions of the version `kip-1228`, and the actions in this table.
No action is fair.

    coordinator  enable_two_phase, keep_prepared, complete_prepared
    database     commit_in_database
    clients      request_completion, receive_completion

Source: KIP-939; TransactionMetadata.isDistributedTwoPhaseCommitTxn and InitProducerIdResponse of
Apache Kafka 4.3; KAFKA-15370.
Simplified: a transactional id takes part in two-phase commit from its first request on, or never.
Every new instance keeps the ongoing transaction, and no administrator ends a transaction. The
database deletes no prepared state. If a new instance finds no prepared state, it stores a refusal
in the database, so that the old instance cannot commit later.
"""

from __future__ import annotations

from model.coordinator_abstract.state import (
    Instance,
    Metadata,
    ProducerEpoch,
    ProducerId,
    Transaction,
    TransactionalId,
)
from model.coordinator_abstract.versions import AbstractCoordinator
from model.language import (
    Bool,
    Map,
    Nothing,
    Record,
    Set,
    action,
    all_of,
    exists,
    false,
    forall,
    implies,
    ite,
    true,
    when,
)


class PreparedState(Record):
    """The producer id and epoch of an ongoing transaction (Kafka: PreparedTxnState)."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch


class TwoPhaseActions(AbstractCoordinator):
    two_phase: Set[TransactionalId]  # with two-phase commit: its transactions have no timeout
    in_database: Set[Transaction]  # the database has committed, with the prepared state
    refused: Set[Transaction]  # the database has stored a refusal instead
    is_keeping: Set[Instance]  # it keeps an ongoing transaction, to end it
    ongoing: Map[Instance, PreparedState]  # the transaction that it keeps, or kept last
    commit_sent: Map[ProducerId, Set[ProducerEpoch]]  # EndTxn to commit a kept transaction
    abort_sent: Map[ProducerId, Set[ProducerEpoch]]  # EndTxn to abort a kept transaction

    keeper: Map[Transaction, Instance | Nothing]  # the newest instance that keeps it; history

    # ---- predicates

    def is_two_phase(s, x: Transaction) -> Bool:
        return s.two_phase[s.stamp[x].transactional_id]

    def is_kept(s, m: Metadata) -> Bool:
        """Returns True if the transaction of the record `m` is ongoing, and a new instance keeps it
        (InitProducerId with keepPreparedTxn).

        The record of a kept transaction reserves an epoch for the markers (`marker_epoch`).
        """
        return m.is_ongoing & (ProducerEpoch.least() < m.marker_epoch)

    def is_ended_for_another(s, m: Metadata) -> Bool:
        return s.has_decision(m) & ~s.is_decided_under(m, m.transaction)

    def id_in_markers(s, m: Metadata) -> ProducerId:
        """Returns the producer id of the transaction's records, even if the instance that keeps the
        transaction has another producer id.

        If the markers have the producer id of the instance, the claim `no_hanging_transaction`
        breaks (bug `marks-new-id`, 15 steps).
        """
        return s.stamp[m.transaction].producer_id

    # ---- the coordinator

    @action
    def enable_two_phase(s, i: TransactionalId) -> None:
        """The first request of a transactional id enables two-phase commit.

        Kafka: transaction.two.phase.commit.enable, InitProducerId with Enable2Pc.
        Simplified: enabling two-phase commit is a step of its own.
        Without the guard that the transactional id has had no producer id, the claim
        `a_database_commit_stays` breaks in 9 steps.
        """
        when(forall(s.assigned[p] != i for p in ProducerId))
        s.two_phase[i] = True

    def may_fence(s, m: Metadata) -> Bool:
        """Returns True if the transaction of the record `m` is ongoing, and is not a transaction of
        two-phase commit.

        Kafka: TransactionStateManager.timedOutTransactions; two-phase commit has no timeout.
        Without this rule, the claim `the_coordinator_aborts_nothing_alone` breaks (bug `times-out`,
        8 steps).
        """
        return super().may_fence(m) & ~s.is_two_phase(m.transaction)

    def keep(
        s, i: TransactionalId, c: Instance, producer_id: ProducerId, producer_epoch: ProducerEpoch
    ) -> None:
        """The coordinator keeps the ongoing transaction for the new instance `c`: it appends a
        record of this transaction to its log. The record has the producer id and epoch of `c`.

        If the coordinator aborts the transaction instead, the claim `a_database_commit_stays`
        breaks (bug `aborts-prepared`, 9 steps). If the log does not have the new producer id and
        epoch, the claim `one_instance_has_an_epoch` breaks (bug `forgets-new-epoch`, 11 steps).
        """
        m = s.log[i]
        reserved = ite(m.producer_id == producer_id, producer_epoch, s.last_epoch)
        s.assigned[producer_id] = i
        s.write(
            i,
            Metadata(
                is_known=true,
                is_ongoing=true,
                is_prepared=false,
                is_complete=false,
                commits=false,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                transaction=m.transaction,
                partitions=m.partitions,
                last_id=producer_id,
                last_epoch=ProducerEpoch.least(),
                marker_epoch=ite(s.is_kept(m), m.marker_epoch, reserved),
            ),
            answering=c,
        )

    @action
    def keep_prepared(
        s, i: TransactionalId, c: Instance, producer_id: ProducerId, producer_epoch: ProducerEpoch
    ) -> None:
        """The coordinator keeps the ongoing transaction open for a new instance, and gives this
        instance a larger epoch or another producer id.

        Kafka: KIP-939, InitProducerId with keepPreparedTxn.
        Simplified: the response arrives immediately or never.
        Without the guard that a transaction is ongoing, the claim `a_database_commit_stays` breaks
        in 9 steps.
        """
        m = s.log[i]
        when(
            s.two_phase[i],
            m.is_ongoing,
            producer_epoch < s.last_epoch,
            s.is_next(m, producer_id, producer_epoch),
        )
        s.keep(i, c, producer_id, producer_epoch)

    def take_effect(s, i: TransactionalId, m: Metadata, answering: Instance | Nothing) -> None:
        """Makes the record `m` the last committed record of `i`, as in the version `kip-1228`. If
        `m` keeps a transaction (keepPreparedTxn), it keeps the transaction for the instance
        `answering`.

        The instance `answering` receives the response to its request. If the request has
        keepPreparedTxn, the response also contains the producer id and epoch of the ongoing
        transaction. With these, the application finds the transaction in its database.
        """
        super().take_effect(i, m, answering)
        x, kept = m.transaction, s.is_kept(m)
        s.keeper[x] = ite(kept, answering, s.keeper[x])
        for c in Instance:
            receives = (answering == c) & kept
            known, stamp = s.ongoing[c], s.stamp[x]
            s.is_keeping[c] = ite(answering == c, kept, s.is_keeping[c])
            s.ongoing[c].producer_id = ite(receives, stamp.producer_id, known.producer_id)
            s.ongoing[c].producer_epoch = ite(receives, stamp.producer_epoch, known.producer_epoch)

    @action
    def complete_prepared(
        s, i: TransactionalId, raised_epoch: ProducerEpoch, next_id: ProducerId
    ) -> None:
        """The coordinator commits or aborts a kept transaction (keepPreparedTxn), because the new
        instance that keeps it requests the commit or abort.

        Kafka: KIP-939, EndTxn under the epoch of the new instance.
        The commit or abort raises the epoch, although InitProducerId of the new instance raised it
        before. If the commit or abort does not raise the epoch, the claim
        `one_instance_has_an_epoch` breaks in 13 steps (bug `raises-epoch-once`).
        Without the guard that the new instance has sent its request, the claim
        `a_database_commit_stays` breaks in 11 steps.
        """
        m = s.log[i]
        p, e, another = m.producer_id, m.producer_epoch, s.needs_another_id(raised_epoch)
        when(s.is_kept(m), s.commit_sent[p][e] | s.abort_sent[p][e])
        s.prepare(i, (m.transaction, s.commit_sent[p][e]), raised_epoch, next_id, another)
        s.appended[i].marker_epoch = m.marker_epoch

    # ---- the client and its database

    @action
    def begin(s, x: Transaction, i: Instance) -> None:
        """A client begins a transaction. A client that keeps the transaction of an older instance
        (keepPreparedTxn) may not begin a transaction.

        This action adds one guard to the action `begin` of the spec's version `kip-1228`. The
        source in Kafka and the simplifications are the same. Without the guard that the client
        keeps no transaction, the claim `the_client_decides` breaks in 13 steps.
        """
        when(~s.is_keeping[i])
        super().begin(x, i)

    def may_decide(s, x: Transaction) -> Bool:
        """Returns True if the database has not stored a refusal of the transaction `x`.

        Kafka cannot enforce this rule. Without this rule, the claim `a_database_commit_stays`
        breaks (bug `zombie-commits-database`, 12 steps).
        """
        return ~s.refused[x]

    @action
    def commit_in_database(s, x: Transaction) -> None:
        """The database commits its part of a transaction, together with the prepared state (the
        producer id and epoch of the transaction).

        Kafka: KIP-939, the prepared state that prepareTransaction returns.
        Simplified: the database may commit before all records of the transaction are acknowledged.
        Without the guard that the client has not requested the abort, the claim
        `a_database_commit_stays` breaks in 8 steps.
        """
        when(s.begun[x], s.is_two_phase(x), ~s.abort_requested[x], s.may_decide(x))
        s.in_database[x] = True

    @action
    def request_commit(s, x: Transaction) -> None:
        """A client sends EndTxn to commit its transaction. In two-phase commit, the application
        also commits in a database. The client sends EndTxn only after the database has committed.

        This action adds one guard to the action `request_commit` of the spec's version `kip-1228`.
        The source in Kafka and the simplifications are the same. Without the guard that the
        database has committed, the claim `the_client_decides` breaks in 9 steps.
        """
        when(implies(s.is_two_phase(x), s.in_database[x]))
        super().request_commit(x)

    @action
    def request_abort(s, x: Transaction) -> None:
        """A client sends EndTxn to abort its transaction, unless the database has committed its
        part.

        This action adds one guard to the action `request_abort` of the spec's version `kip-1228`.
        The source in Kafka and the simplifications are the same. Without the guard that the
        database has not committed, the claim `a_database_commit_stays` breaks in 8 steps.
        """
        when(~s.in_database[x])
        super().request_abort(x)

    # ---- the new instance

    def has_state(s, x: Transaction, state: PreparedState) -> Bool:
        stamp = s.stamp[x]
        return all_of(
            stamp.producer_id == state.producer_id, stamp.producer_epoch == state.producer_epoch
        )

    def is_recorded(s, x: Transaction, state: PreparedState) -> Bool:
        """Returns True if the database has committed its part of `x` with the prepared state
        `state` (a producer id and epoch).

        If only the producer ids are compared, the claim `the_client_decides` breaks (bug
        `ignores-prepared-epoch`, 15 steps).
        """
        return s.in_database[x] & s.has_state(x, state)

    def finds(s, c: Instance) -> Bool:
        """Returns True if the database has committed its part of the transaction that the instance
        `c` keeps (keepPreparedTxn).
        """
        return exists(s.is_recorded(x, s.ongoing[c]) for x in Transaction)

    @action
    def request_completion(s, c: Instance) -> None:
        """A new instance reads the database, and sends EndTxn for the transaction that the instance
        keeps (keepPreparedTxn).

        The instance requests the commit if the database has committed its part of the transaction.
        Otherwise it stores a refusal in the database, and requests the abort. The request may
        arrive late or twice.

        Kafka: KIP-939, completeTransaction of the producer.
        Simplified: the instance reads the database and sends the request in one step.
        Without the guard that the instance keeps a transaction, the claim `a_database_commit_stays`
        breaks in 14 steps.
        Every claim also holds if the instance may read the database again.
        """
        p, e, found = s.held[c].producer_id, s.held[c].producer_epoch, s.finds(c)
        when(s.is_keeping[c], ~s.commit_sent[p][e], ~s.abort_sent[p][e])
        for x in Transaction:
            is_it = s.begun[x] & s.has_state(x, s.ongoing[c])
            s.refused[x] = s.refused[x] | is_it & ~found
        s.commit_sent[p][e] = found
        s.abort_sent[p][e] = ~found

    @action
    def receive_completion(s, c: Instance) -> None:
        """A new instance learns that the transaction that it keeps (keepPreparedTxn) was committed
        or aborted. It receives its next producer id and epoch.

        Kafka: EndTxnResponse, TransactionManager.
        Without the guard that the log has a commit or abort, the claim `one_instance_has_an_epoch`
        breaks in 13 steps.
        """
        held = s.held[c]
        m = s.log[held.transactional_id]
        when(
            s.is_keeping[c],
            s.has_decision(m),
            m.last_id == held.producer_id,
            m.last_epoch == held.producer_epoch,
        )
        s.is_keeping[c] = False
        s.held[c].producer_id = m.producer_id
        s.held[c].producer_epoch = m.producer_epoch
