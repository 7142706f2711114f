"""The actions of the transaction coordinator: its log has every decision before a client learns it.

The coordinator answers from its metadata, which changes when an append to its log is committed.
While an append waits, and from a decision until every marker is written, the transactional id is
*busy*: calls are answered CONCURRENT_TRANSACTIONS. A new coordinator reads the log: it completes a
decision, and forgets an append that was not committed.

A decision moves the producer to the next epoch, and its markers carry that epoch, so that later
requests of the old epoch are refused. When the epochs of a producer id run out, the last marker
carries the largest epoch, and the producer goes on under another id.

Source: KIP-890 part 2 and its TransactionMetadata, TransactionCoordinator; KAFKA-19367;
KAFKA-20090.
Simplified: an answer to InitProducerId is not lost. An append fails without a coordinator failure
only in version 1.
"""

from __future__ import annotations

from model.language import (
    Bool,
    Map,
    Nothing,
    Set,
    action,
    all_of,
    count,
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
    Offset,
    Outcome,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    Transaction,
    TransactionState,
)


def no_partition() -> Set[TopicPartition]:
    """Returns the empty set of partitions."""
    return Map(TopicPartition, lambda p: p != p)


class Coordinator(Partitions):
    """The coordinator of one transactional id, by the rules of transaction version 2."""

    # ---- the coordinator's log

    def is_appending(s) -> Bool:
        """True if an append to the coordinator's log is not committed yet."""
        return s.transaction_state.appended != s.transaction_state.committed

    def is_busy(s) -> Bool:
        """True if calls are answered CONCURRENT_TRANSACTIONS."""
        return s.is_appending() | (s.metadata.state == PREPARE)

    def appends_wait(s) -> bool:
        """True if an append may be lost; otherwise it is committed at once."""
        return s.coordinator_failures > 0

    def write(s, metadata: Metadata, answering: Instance | Nothing) -> None:
        """Appends metadata to the coordinator's log."""
        if s.appends_wait():
            s.transaction_state.appended = metadata
            s.answering = answering
        else:
            s.transaction_state.appended = metadata
            s.take_effect(metadata, answering)

    def take_effect(s, metadata: Metadata, answering: Instance | Nothing) -> None:
        """The record is committed: metadata follows the log, and waiting markers and answers go
        out.
        """
        k, decides = metadata.transaction, metadata.state == PREPARE
        s.decided[k] = ite(decides, metadata.outcome, s.decided[k])
        for p in TopicPartition:
            s.addressed[k][p] = ite(decides, metadata.partitions[p], s.addressed[k][p])
        s.marker_stamp[k].producer_id = ite(
            decides, metadata.producer_id, s.marker_stamp[k].producer_id
        )
        s.marker_stamp[k].producer_epoch = ite(
            decides, metadata.producer_epoch, s.marker_stamp[k].producer_epoch
        )
        s.marker_sent[k][s.coordinator_epoch] = decides | s.marker_sent[k][s.coordinator_epoch]
        for i in Instance:
            asks = answering == i
            s.producer[i].producer_id = ite(asks, metadata.producer_id, s.producer[i].producer_id)
            s.producer[i].producer_epoch = ite(
                asks, metadata.producer_epoch, s.producer[i].producer_epoch
            )
        s.transaction_state.committed = metadata
        s.metadata = metadata

    @action(fair="weak")
    def commit_append(s) -> None:
        """The record that the coordinator appended is committed.

        Kafka: TransactionStateManager.appendTransactionToLog and its callback. Simplified: one
        append at a time.
        """
        when(s.is_appending())
        s.take_effect(s.transaction_state.appended, s.answering)
        s.answering = nothing

    @action
    def fail_over(s, epoch: CoordinatorEpoch) -> None:
        """Another coordinator reads the log; uncommitted appends and all memory are lost.

        Kafka: TransactionStateManager.loadTransactionsForTxnTopicPartition. Simplified: loading is
        one step. A decision in the log sends its markers again, so partitions must accept them:
        `refuses-repeated-markers`.
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
        """True for the last producer epoch that a client may receive."""
        return producer_epoch >= s.max_epoch - 1

    def take_producer_id(s, needed: Bool) -> ProducerId:
        """Returns an unused producer id, and uses it up if `needed`."""
        unused = s.next_producer_id
        when(implies(needed, unused < s.producer_ids))
        s.next_producer_id = ite(needed, unused + 1, unused)
        return unused

    def may_init(s, i: Instance) -> Bool:
        """True if the instance is newer than every instance that received a producer id."""
        return forall(implies(i <= j, s.producer[j].producer_id == nothing) for j in Instance)

    @action
    def init_producer(s, i: Instance) -> None:
        """A new instance receives the next epoch, or epoch 0 of a new producer id.

        Kafka: TransactionCoordinator.handleInitProducerId. Simplified: no expected producer id or
        epoch (KIP-360) is sent. An ongoing transaction is fenced first. A client that asks again
        after expiry is let in wrongly: `returns-after-expiry`, 9 steps.
        """
        m = s.metadata
        fresh = (m.state == DEAD) | s.is_exhausted(m.producer_epoch)
        when(~s.is_busy(), m.state != ONGOING, s.may_init(i))
        unused = s.take_producer_id(fresh)
        s.write(
            s.idle(
                EMPTY,
                ite(fresh, unused, m.producer_id),
                ite(fresh, ProducerEpoch(0), m.producer_epoch + 1),
            ),
            answering=i,
        )

    @action
    def expire(s) -> None:
        """An unused transactional id expires: the coordinator forgets it.

        Kafka: transactional.id.expiration.ms,
        TransactionStateManager.removeExpiredTransactionalIds. Simplified: may happen at any time in
        EMPTY or COMPLETE, and is one record instead of DEAD and a tombstone.
        """
        when(true if s.ids_expire else false, ~s.is_busy())
        when((s.metadata.state == EMPTY) | (s.metadata.state == COMPLETE))
        s.write(s.idle(DEAD, ProducerId(0), ProducerEpoch(0)), answering=nothing)

    def idle(
        s, state: TransactionState, producer_id: ProducerId, producer_epoch: ProducerEpoch
    ) -> Metadata:
        """Returns metadata without an open transaction and without a last decision."""
        return Metadata(
            state=state,
            outcome=Outcome(0),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            previous_id=producer_id,
            next_id=producer_id,
            transaction=Transaction(0),
            partitions=no_partition(),
        )

    # ---- a transaction

    def asks_to_add(s, k: Transaction, p: TopicPartition) -> Bool:
        """True if the leader asks to add the partition for an arrived record, because nothing is
        open there.
        """
        return s.is_in_flight(p, k) & ~s.is_ongoing(p, k)

    def has_added(s, k: Transaction, p: TopicPartition) -> Bool:
        """True if the coordinator has the partition in the ongoing transaction of this producer
        epoch.
        """
        m = s.metadata
        return all_of(m.state == ONGOING, s.is_current(k), m.partitions[p])

    @action
    def add_partition(s, p: TopicPartition, k: Transaction) -> None:
        """The coordinator adds a partition to the transaction; the first partition opens the
        transaction.

        Kafka: TransactionCoordinator.handleAddPartitionsToTransaction. Simplified: one partition.
        Only after this may the partition's leader append. The busy check comes before the epoch
        check: otherwise the variant `epoch-before-pending` breaks the claim `none_fences_itself` in
        6 steps.
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
            Metadata(
                state=ONGOING,
                outcome=Outcome(0),
                producer_id=m.producer_id,
                producer_epoch=m.producer_epoch,
                previous_id=m.producer_id,
                next_id=m.producer_id,
                transaction=ite(opened, m.transaction, k),
                partitions=Map(TopicPartition, lambda q: (opened & m.partitions[q]) | (q == p)),
            ),
            answering=nothing,
        )

    def vouches(s, k: Transaction, p: TopicPartition) -> Bool:
        """True if the coordinator confirms to a leader that the transaction is ongoing and has the
        partition.

        A waiting append does not matter; if it did, the variant `vouches-when-idle` breaks the
        claim `what_is_added_is_vouched_for` in 6 steps (KAFKA-14904).
        """
        return s.has_added(k, p)

    @action
    def verify(s, p: TopicPartition, k: Transaction) -> None:
        """The leader creates a guard and asks the coordinator, which confirms the transaction.

        Kafka: AddPartitionsToTxnManager, and
        ProducerStateManager.maybeCreateVerificationStateEntry. Simplified: request and answer are
        one step. The guard ends with the next record or marker (`keeps_guard`).
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
        """True if the decision uses the last epoch of the producer id, so that another id
        follows.
        """
        return s.is_exhausted(s.metadata.producer_epoch)

    def epoch_of_decision(s) -> ProducerEpoch:
        """Returns the producer epoch of a decision: the next one."""
        return s.metadata.producer_epoch + 1

    def prepare(
        s, k: Transaction, outcome: Outcome, producer_epoch: ProducerEpoch, last: Bool
    ) -> None:
        """Appends a decision, with the epoch of its markers."""
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
        """True if a transaction is ongoing and the transactional id is not busy."""
        return ~s.is_busy() & (s.metadata.state == ONGOING)

    @action(fair="weak")
    def fence(s) -> None:
        """The coordinator aborts an ongoing transaction: it timed out, or a new instance started.

        Kafka: TransactionCoordinator.handleInitProducerId (fence) and abortTimedOutTransactions.
        Simplified: may happen at any time. One epoch is used; `fences-twice` uses two and fails
        epochs_stay_in_range in 9 steps, `fence-keeps-id` keeps an exhausted id and fails it in 12.
        """
        when(s.may_fence())
        s.prepare(s.metadata.transaction, ABORT, s.epoch_of_decision(), s.ends_epochs())

    # ---- markers

    @action(fair="weak")
    def write_marker(s, p: TopicPartition, k: Transaction) -> None:
        """A partition appends the marker, which the coordinator sends until the partition confirms
        it.

        Kafka: TransactionMarkerChannelManager, WriteTxnMarkers. Simplified: sending, appending and
        confirming are one step; a repeated marker is `write_late_marker`.
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
        """A marker is delivered again, or comes from a coordinator that has failed since.

        Kafka: WriteTxnMarkers has no deduplication of its own. Simplified: at most two markers of
        one coordinator. Without strict markers this closes the next transaction: `lax-markers`, 14
        steps (KAFKA-19446).
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

    @action(fair="weak")
    def complete(s) -> None:
        """Every partition of the transaction has committed a marker of this coordinator.

        Kafka: TransactionMarkerChannelManager.maybeWriteTxnCompletion. Simplified: the coordinator
        sees the partitions' logs.
        """
        m = s.metadata
        rotates = m.next_id != m.producer_id
        when(
            m.state == PREPARE,
            ~s.is_appending(),
            forall(
                s.has_marker(p, m.transaction, s.coordinator_epoch, s.log[p].high_watermark)
                for p in m.partitions
            ),
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
