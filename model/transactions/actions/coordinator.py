"""The transaction coordinator: what it decides is in its log before anyone is told.

It answers from memory, which changes when an append to its log is committed. While an append waits,
and from a decision until every marker is written, the transactional id is *busy*: calls are told to
come again. A coordinator that takes over reads the log: a decision is carried out, an append that
was not committed never was.

A decision moves the producer to the next epoch, which its markers carry, so that whatever is still
on its way under the old one is refused. Where the epochs of a producer id run out, its last marker
carries the largest epoch and the producer goes on under another id.

Source: KIP-890 part 2 and its TransactionMetadata,
TransactionCoordinator; KAFKA-19367; KAFKA-20090.
Simplified: an answer to InitProducerId is not lost. An append that fails without a failure of the
coordinator is a matter of version 1.
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
    return Map(TopicPartition, lambda p: p != p)


class Coordinator(Partitions):
    """One transactional id, by the rules of version 2."""

    # ---- its log

    def is_appending(s) -> Bool:
        return s.transaction_state.appended != s.transaction_state.committed

    def is_busy(s) -> Bool:
        """Calls are answered CONCURRENT_TRANSACTIONS."""
        return s.is_appending() | (s.metadata.state == PREPARE)

    def appends_wait(s) -> bool:
        """Whether an append may be lost; where none may, it is committed at once."""
        return s.coordinator_failures > 0

    def write(s, metadata: Metadata, answering: Instance | Nothing) -> None:
        """Appends to the log."""
        if s.appends_wait():
            s.transaction_state.appended = metadata
            s.answering = answering
        else:
            s.transaction_state.appended = metadata
            s.take_effect(metadata, answering)

    def take_effect(s, metadata: Metadata, answering: Instance | Nothing) -> None:
        """The record is committed: memory follows the log, and what waited for it goes out."""
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
        """What the coordinator appended is committed."""
        when(s.is_appending())
        s.take_effect(s.transaction_state.appended, s.answering)
        s.answering = nothing

    @action
    def fail_over(s, epoch: CoordinatorEpoch) -> None:
        """Another coordinator reads the log; what was not committed is lost, and all memory."""
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
        """The last epoch that is handed out."""
        return producer_epoch >= s.max_epoch - 1

    def take_producer_id(s, needed: Bool) -> ProducerId:
        """A producer id that nobody has, to be used if it is needed."""
        unused = s.next_producer_id
        when(implies(needed, unused < s.producer_ids))
        s.next_producer_id = ite(needed, unused + 1, unused)
        return unused

    def may_init(s, i: Instance) -> Bool:
        """The instance is newer than every one that was answered."""
        return forall(implies(i <= j, s.producer[j].producer_id == nothing) for j in Instance)

    @action
    def init_producer(s, i: Instance) -> None:
        """A new instance takes the next epoch, or the next producer id."""
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
        """A transactional id that was not used for long is forgotten."""
        when(true if s.ids_expire else false, ~s.is_busy())
        when((s.metadata.state == EMPTY) | (s.metadata.state == COMPLETE))
        s.write(s.idle(DEAD, ProducerId(0), ProducerEpoch(0)), answering=nothing)

    def idle(
        s, state: TransactionState, producer_id: ProducerId, producer_epoch: ProducerEpoch
    ) -> Metadata:
        """Nothing is open, and nothing was decided last."""
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
        """The leader adds the partition for a record that has come, as it has nothing open."""
        return s.is_in_flight(p, k) & ~s.is_ongoing(p, k)

    def has_added(s, k: Transaction, p: TopicPartition) -> Bool:
        """The coordinator knows that the transaction of this producer and epoch writes there."""
        m = s.metadata
        return all_of(m.state == ONGOING, s.is_current(k), m.partitions[p])

    @action
    def add_partition(s, p: TopicPartition, k: Transaction) -> None:
        """The coordinator learns that a transaction writes to a partition; the first one opens it.

        Only then may its leader append."""
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
        """The coordinator's answer to a leader: what it appends just now does not matter."""
        return s.has_added(k, p)

    @action
    def verify(s, p: TopicPartition, k: Transaction) -> None:
        """The leader makes a guard and asks: the transaction is ongoing, and writes there."""
        stamp = s.stamp[k]
        when(
            s.is_in_flight(p, k),
            ~s.fences(p, stamp.producer_id, stamp.producer_epoch),
            ~s.may_append(p, k),
            s.vouches(k, p),
        )
        s.verified[k][p] = True

    # ---- the decision

    def ends_epochs(s) -> Bool:
        """The decision uses up the epochs of the producer id, which gives way to another."""
        return s.is_exhausted(s.metadata.producer_epoch)

    def epoch_of_decision(s) -> ProducerEpoch:
        return s.metadata.producer_epoch + 1

    def prepare(
        s, k: Transaction, outcome: Outcome, producer_epoch: ProducerEpoch, last: Bool
    ) -> None:
        """Appends a decision, and with it the epoch of its markers."""
        m, unused = s.metadata, s.take_producer_id(last)
        opened = m.state == ONGOING  # else a client aborts nothing, to be sure
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
        return ~s.is_busy() & (s.metadata.state == ONGOING)

    @action(fair="weak")
    def fence(s) -> None:
        """An ongoing transaction is aborted: it took too long, or a new instance has come."""
        when(s.may_fence())
        s.prepare(s.metadata.transaction, ABORT, s.epoch_of_decision(), s.ends_epochs())

    # ---- markers

    @action(fair="weak")
    def write_marker(s, p: TopicPartition, k: Transaction) -> None:
        """A partition appends the marker that the coordinator sends until it hears that it did."""
        epoch, end = s.coordinator_epoch, s.log[p].end_offset
        when(
            s.metadata.state == PREPARE,
            s.metadata.transaction == k,
            ~s.has_marker(p, k, epoch, end),
        )
        s.put_marker(p, k, epoch)

    @action
    def write_late_marker(s, p: TopicPartition, k: Transaction, epoch: CoordinatorEpoch) -> None:
        """A marker comes again, or from a coordinator that has failed since."""
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
        """Every partition has committed a marker of this coordinator."""
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
