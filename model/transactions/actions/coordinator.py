"""The actions of the transaction coordinator: its log has every decision before a client learns the
decision.

A *decision* is an entry of this log: a transaction is to be committed or aborted. The transactional
id is *busy* in two cases: an append to the log is not committed, or a partition has not written its
marker of a decision. While the transactional id is busy, the coordinator answers requests with
CONCURRENT_TRANSACTIONS.

A new coordinator reads the log; appends that were not committed are lost. In Kafka, the new
coordinator may have them (bug `acts-on-unreplicated`). If the log ends with a decision, the new
coordinator sends the markers again.

A decision moves the producer to the next epoch, and the markers carry this epoch. So partitions and
the coordinator refuse later requests of the old epoch. When the epochs of a producer id run out,
the last marker carries the largest epoch, and the producer continues with another producer id.

Source: KIP-890 part 2 and its TransactionMetadata, TransactionCoordinator; KAFKA-19367;
KAFKA-20090.
Simplified: an answer to InitProducerId is not lost. In transaction version 2, an append is lost
only if the coordinator fails. In transaction version 1, an append may also fail because too few
replicas are in sync.
"""

from __future__ import annotations

from model.language import (
    Bool,
    Map,
    Nothing,
    Set,
    action,
    all_of,
    false,
    forall,
    implies,
    ite,
    nothing,
    true,
    when,
)
from model.transactions.actions.partitions import Partitions
from model.transactions.state import (
    ABORT,
    COMPLETE,
    DEAD,
    EMPTY,
    ONGOING,
    PREPARE,
    CoordinatorEpoch,
    Instance,
    Metadata,
    Outcome,
    ProducerEpoch,
    ProducerId,
    Stamp,
    TopicPartition,
    Transaction,
    TransactionState,
)


def no_partition() -> Set[TopicPartition]:
    return Map(TopicPartition, lambda p: p != p)


class Coordinator(Partitions):
    # ---- the coordinator's log

    def is_appending(s) -> Bool:
        return s.transaction_state.appended != s.transaction_state.committed

    def is_busy(s) -> Bool:
        """Returns True if an append to the coordinator's log is not committed, or if the
        coordinator waits for the markers of a commit or abort. The coordinator then answers
        requests with CONCURRENT_TRANSACTIONS.
        """
        return s.is_appending() | (s.metadata.state == PREPARE)

    def appends_wait(s) -> bool:
        """Returns True if an append to the coordinator's log and the commit of the appended record
        are two steps. Between the two steps, the append may be lost.

        If the constant `coordinator_failures` is 0, no append can be lost, and the two steps are
        one.
        """
        return s.coordinator_failures > 0

    def write(s, metadata: Metadata, answering: Instance | Nothing) -> None:
        """Appends transaction metadata to the coordinator's log.

        When the append is committed, the coordinator sends a response to the instance `answering`.
        If `answering` is nothing, no instance waits for a response.
        """
        if s.appends_wait():
            s.transaction_state.appended = metadata
            s.answering = answering
        else:
            s.transaction_state.appended = metadata
            s.take_effect(metadata, answering)

    def take_effect(s, metadata: Metadata, answering: Instance | Nothing) -> None:
        """Applies a record of the coordinator's log that is now committed.

        If the record prepares a commit or abort, the coordinator sends the markers. If `answering`
        is an instance, this instance receives the producer id and epoch of the record.
        """
        k, decides = metadata.transaction, metadata.state == PREPARE
        s.decided[k] = ite(decides, metadata.outcome, s.decided[k])
        for p in TopicPartition:
            s.addressed[k][p] = ite(decides, metadata.partitions[p], s.addressed[k][p])
        s.marker_stamp[k] = ite(decides, s.stamp_of_markers(metadata), s.marker_stamp[k])
        s.marker_sent[k][s.coordinator_epoch] = decides | s.marker_sent[k][s.coordinator_epoch]
        for i in Instance:
            asks = answering == i
            s.producer[i].producer_id = ite(asks, metadata.producer_id, s.producer[i].producer_id)
            s.producer[i].producer_epoch = ite(
                asks, metadata.producer_epoch, s.producer[i].producer_epoch
            )
        s.transaction_state.committed = metadata
        s.metadata = metadata

    def stamp_of_markers(s, metadata: Metadata) -> Stamp:
        """Returns the producer id and epoch in the markers of a commit or abort. They are those of
        `metadata`, the record of the commit or abort in the coordinator's log.
        """
        return Stamp(producer_id=metadata.producer_id, producer_epoch=metadata.producer_epoch)

    @action(fair="weak")
    def commit_append(s) -> None:
        """The record that the coordinator appended to its log is committed.

        Kafka: TransactionStateManager.appendTransactionToLog and its callback.
        Simplified: at most one append is pending.

        Every claim also holds without the guard of this action.
        """
        when(s.is_appending())
        s.take_effect(s.transaction_state.appended, s.answering)
        s.answering = nothing

    @action
    def fail_over(s, epoch: CoordinatorEpoch) -> None:
        """A new coordinator reads the log; appends that are not committed are lost.

        Kafka: TransactionStateManager.loadTransactionsForTxnTopicPartition.
        Simplified: loading is one step. In Kafka, the new coordinator also reads records that are
        not committed. If it acts on such a record, the claim `atomic` breaks (bug
        `acts-on-unreplicated`, 20 steps).

        If the log ends with a commit or abort, the new coordinator sends its markers again. If a
        partition refuses the repeated marker, the claim `markers_are_accepted` breaks (bug
        `refuses-repeated-markers`, 10 steps).
        """
        when(epoch == s.coordinator_epoch + 1, epoch <= s.coordinator_failures)
        committed = s.transaction_state.committed
        k, decided = committed.transaction, committed.state == PREPARE
        s.marker_sent[k][epoch] = decided | s.marker_sent[k][epoch]
        s.coordinator_epoch = epoch
        s.answering = nothing
        s.transaction_state.appended = committed
        s.metadata = committed

    # ---- producer ids and epochs

    def is_exhausted(s, producer_epoch: ProducerEpoch) -> Bool:
        return producer_epoch >= s.max_epoch - 1

    def take_producer_id(s, needed: Bool) -> ProducerId:
        """Returns the next unused producer id. If `needed` is true, marks this id as used."""
        unused = s.next_producer_id
        when(implies(needed, unused < s.producer_ids))
        s.next_producer_id = ite(needed, unused + 1, unused)
        return unused

    def next_stamp(s, fresh: Bool) -> Stamp:
        """Returns the present producer id with its next epoch. If `fresh` is true, returns an
        unused producer id with epoch 0 instead.
        """
        m, unused = s.metadata, s.take_producer_id(fresh)
        return Stamp(
            producer_id=ite(fresh, unused, m.producer_id),
            producer_epoch=ite(fresh, ProducerEpoch(0), m.producer_epoch + 1),
        )

    def may_init(s, i: Instance) -> Bool:
        return forall(implies(i <= j, s.producer[j].producer_id == nothing) for j in Instance)

    @action
    def init_producer(s, i: Instance) -> None:
        """A new instance receives the next epoch, or epoch 0 of a new producer id.

        Kafka: TransactionCoordinator.handleInitProducerId.
        Simplified: the request has no expected producer id or epoch (KIP-360). If a transaction is
        ongoing, the coordinator aborts it before this step (`fence`).

        If a client whose transactional id has expired gets a new producer id, the claim
        `zombies_write_nothing` breaks (bug `returns-after-expiry`, 9 steps).
        """
        m = s.metadata
        when(~s.is_busy(), m.state != ONGOING, s.may_init(i))
        stamp = s.next_stamp((m.state == DEAD) | s.is_exhausted(m.producer_epoch))
        s.write(s.idle(EMPTY, stamp.producer_id, stamp.producer_epoch), answering=i)

    @action
    def expire(s) -> None:
        """A transactional id without an open transaction expires, and the coordinator forgets the
        transactional id.

        Kafka: transactional.id.expiration.ms,
        TransactionStateManager.removeExpiredTransactionalIds.
        Simplified: in the states EMPTY and COMPLETE, a transactional id may expire at any time. The
        log receives one record instead of a record DEAD and a tombstone.

        Without the guard for these states, the claim `states_follow_the_table` breaks in 8 steps.
        """
        when(true if s.ids_expire else false, ~s.is_busy())
        when((s.metadata.state == EMPTY) | (s.metadata.state == COMPLETE))
        s.write(s.idle(DEAD, ProducerId(0), ProducerEpoch(0)), answering=nothing)

    def idle(
        s,
        state: TransactionState,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        previous_id: ProducerId | None = None,
    ) -> Metadata:
        """Returns transaction metadata with this state, producer id and epoch. The metadata has no
        partitions.

        If `previous_id` is None, the previous producer id is `producer_id`.
        """
        return Metadata(
            state=state,
            outcome=Outcome(0),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            previous_id=producer_id if previous_id is None else previous_id,
            next_id=producer_id,
            transaction=Transaction(0),
            partitions=no_partition(),
        )

    # ---- a transaction

    def asks_to_add(s, k: Transaction, p: TopicPartition) -> Bool:
        """Returns True if the partition's leader asks the coordinator to add the partition to the
        transaction. It asks if a record of the transaction has arrived, and the transaction is not
        open in the partition yet.
        """
        return s.is_in_flight(p, k) & ~s.is_ongoing(p, k)

    def has_added(s, k: Transaction, p: TopicPartition) -> Bool:
        """Returns True if the transaction `k` has the current producer id and epoch, and the
        coordinator has added the partition `p` to the ongoing transaction.
        """
        m = s.metadata
        return all_of(m.state == ONGOING, s.is_current(k), m.partitions[p])

    @action
    def add_partition(s, p: TopicPartition, k: Transaction) -> None:
        """The coordinator adds a partition to the transaction. The first partition opens the
        transaction.

        Kafka: TransactionCoordinator.handleAddPartitionsToTransaction.
        Simplified: a request adds one partition.

        The partition's leader may append the transaction's record only after this step. If the
        coordinator checks the epoch before `is_busy`, the claim `no_instance_fences_itself` breaks
        (bug `epoch-before-pending`, 6 steps).
        """
        m = s.metadata
        when(
            s.asks_to_add(k, p),
            ~s.is_busy(),
            s.is_current(k),
            m.state != DEAD,
            ~s.has_added(k, p),
        )
        opened = m.state == ONGOING
        s.write(
            s.ongoing(
                m.producer_id,
                m.producer_epoch,
                ite(opened, m.transaction, k),
                Map(TopicPartition, lambda q: (opened & m.partitions[q]) | (q == p)),
            ),
            answering=nothing,
        )

    def ongoing(
        s,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
        k: Transaction,
        partitions: Set[TopicPartition],
    ) -> Metadata:
        return Metadata(
            state=ONGOING,
            outcome=Outcome(0),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            previous_id=producer_id,
            next_id=producer_id,
            transaction=k,
            partitions=partitions,
        )

    def vouches(s, k: Transaction, p: TopicPartition) -> Bool:
        """Returns True if the coordinator confirms to the leader of `p` that `p` is in the
        transaction.

        The coordinator answers even while an append to its own log is not committed. If it does
        not, the claim `added_partitions_are_confirmed` breaks (bug `confirms-when-idle`, 6 steps;
        KAFKA-14904).
        """
        return s.has_added(k, p)

    @action
    def verify(s, p: TopicPartition, k: Transaction) -> None:
        """The coordinator confirms to a partition's leader that the partition is in the
        transaction. After this verification, the leader may append a record of the transaction.

        Kafka: AddPartitionsToTxnManager, and
        ProducerStateManager.maybeCreateVerificationStateEntry.
        Simplified: the request and the answer are one step. The verification (in Kafka a
        *verification guard*) is valid until the leader appends the producer's next record or marker
        (`keeps_guard`).

        Without the guard that the coordinator confirms the transaction, the claim
        `no_hanging_transaction` breaks in 6 steps.
        """
        stamp = s.stamp[k]
        when(
            s.is_in_flight(p, k),
            ~s.fences(p, stamp.producer_id, stamp.producer_epoch),
            ~s.may_append(p, k),
            s.vouches(k, p),
        )
        s.verified[k][p] = True

    # ---- decisions

    def ends_epochs(s) -> Bool:
        """Returns True if the next commit or abort uses up the last epoch of the producer id, so
        that the producer gets another producer id.
        """
        return s.is_exhausted(s.metadata.producer_epoch)

    def epoch_of_decision(s) -> ProducerEpoch:
        """Returns the producer epoch that a commit or abort and its markers carry. It is the
        producer's present epoch plus 1.
        """
        return s.metadata.producer_epoch + 1

    def prepare(
        s, k: Transaction, outcome: Outcome, producer_epoch: ProducerEpoch, last: Bool
    ) -> None:
        """Appends the commit or abort of the transaction to the coordinator's log.

        The markers carry `producer_epoch`. `last` is true if the producer continues with another
        producer id after this commit or abort.
        """
        m, unused = s.metadata, s.take_producer_id(last)
        opened = m.state == ONGOING  # else the client aborts an empty transaction
        s.write(
            Metadata(
                state=PREPARE,
                outcome=outcome,
                producer_id=m.producer_id,
                producer_epoch=producer_epoch,
                previous_id=m.producer_id,
                next_id=ite(last, unused, m.producer_id),
                transaction=k,
                partitions=Map(TopicPartition, lambda p: opened & m.partitions[p]),
            ),
            answering=nothing,
        )

    def may_fence(s) -> Bool:
        """Returns True if the coordinator may fence: abort the ongoing transaction without a
        request of its client. There must be an ongoing transaction, and the coordinator must not be
        busy.
        """
        return ~s.is_busy() & (s.metadata.state == ONGOING)

    @action(fair="weak")
    def fence(s) -> None:
        """The coordinator aborts an ongoing transaction, because the transaction timed out or a new
        instance started.

        Kafka: TransactionCoordinator.handleInitProducerId (fence) and abortTimedOutTransactions.
        Simplified: a fence may happen at any time.

        A fence raises the epoch by 1. If it raises the epoch by 2, the claim `epochs_stay_in_range`
        breaks (bug `fences-twice`, 9 steps). If the epochs run out and the producer gets no other
        producer id, the claim `epochs_stay_in_range` breaks (bug `fence-keeps-id`, 12 steps).
        """
        when(s.may_fence())
        s.prepare(s.metadata.transaction, ABORT, s.epoch_of_decision(), s.ends_epochs())
