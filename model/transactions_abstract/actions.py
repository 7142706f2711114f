"""The actions of abstract transactions: producer and coordinator, then partitions.

The coordinator decides. A partition keeps records pending until a marker carries the decision.
Requests may arrive late and twice, so an action stays possible as long as no rule forbids it. A
marker names a producer and an epoch but no transaction, so epochs alone distinguish the
transactions of a producer.

Next, as in TLA+; no action is fair, because only safety is proved.

    coordinator  begin, add_partition, end_commit, end_abort, fence, init_producer,
                 complete_transaction
    partitions   append, write_marker, write_marker_again
"""

from __future__ import annotations

from model.language import Bool, action, forall, implies, when
from model.transactions_abstract.state import (
    AbstractTransactionsState,
    Producer,
    ProducerEpoch,
    TopicPartition,
    Transaction,
)


class AbstractTransactionsActions(AbstractTransactionsState):
    """The actions of abstract transactions, by the rules of version 2."""

    # ---- rules that versions replace

    def may_end_under(s, x: Transaction, marker_epoch: ProducerEpoch) -> Bool:
        """True if the decision may move the producer to this epoch, which its markers carry."""
        return s.current_epoch[s.producer[x]] < marker_epoch

    def accepts_marker(s, t: TopicPartition, x: Transaction) -> Bool:
        """True if the marker's epoch is larger than every epoch that the partition has seen of the
        producer.

        With an equal epoch the marker may belong to the transaction before: the variant
        `lax-markers` breaks the claim `faithful` in 9 steps.
        """
        return s.seen_epoch[t][s.producer[x]] < s.marker_epoch[x]

    def ends_above_records(s, x: Transaction) -> Bool:
        """True if the marker's epoch is larger than that of the transaction's records, so it
        fences late ones.
        """
        return s.producer_epoch[x] < s.marker_epoch[x]

    # ---- the producer and its coordinator

    @action
    def begin(s, x: Transaction, producer: Producer) -> None:
        """A producer begins a transaction when its earlier transactions are complete."""
        when(~s.begun[x], s.has_nothing_open(producer))
        s.begun[x] = True
        s.producer[x] = producer
        s.producer_epoch[x] = s.current_epoch[producer]

    @action
    def add_partition(s, x: Transaction, t: TopicPartition) -> None:
        """The coordinator adds a partition to the transaction."""
        when(s.begun[x], ~s.decided(x))
        s.added[x][t] = True

    @action
    def end_commit(s, x: Transaction, marker_epoch: ProducerEpoch) -> None:
        """The coordinator decides to commit.

        Kafka: TransactionCoordinator.handleEndTransaction. If markers carry the epoch of the
        records, a late record is accepted after its marker: the variant `v1` breaks the claim
        `no_hanging_transaction` in 6 steps.
        """
        when(s.begun[x], ~s.decided(x), s.may_end_under(x, marker_epoch))
        s.committed[x] = True
        s.end_under(x, marker_epoch)

    @action
    def end_abort(s, x: Transaction, marker_epoch: ProducerEpoch) -> None:
        """The coordinator decides to abort."""
        when(s.begun[x], ~s.decided(x), s.may_end_under(x, marker_epoch))
        s.aborted[x] = True
        s.end_under(x, marker_epoch)

    @action
    def fence(s, x: Transaction, marker_epoch: ProducerEpoch) -> None:
        """The coordinator aborts an open transaction, because of a new instance or a timeout."""
        when(s.begun[x], ~s.decided(x), s.current_epoch[s.producer[x]] < marker_epoch)
        s.aborted[x] = True
        s.end_under(x, marker_epoch)

    def end_under(s, x: Transaction, marker_epoch: ProducerEpoch) -> None:
        """Moves the producer and the transaction's markers to this epoch."""
        s.marker_epoch[x] = marker_epoch
        s.current_epoch[s.producer[x]] = marker_epoch

    @action
    def init_producer(s, producer: Producer, new_epoch: ProducerEpoch) -> None:
        """A new instance of a producer without an open transaction receives a larger epoch."""
        when(s.current_epoch[producer] < new_epoch, s.has_nothing_open(producer))
        s.current_epoch[producer] = new_epoch

    @action
    def complete_transaction(s, x: Transaction) -> None:
        """The coordinator has a confirmed marker from every partition of the transaction."""
        when(s.decided(x), forall(s.marked[x][t] for t in s.added[x]))
        s.complete[x] = True

    # ---- partitions

    @action
    def append(s, x: Transaction, t: TopicPartition) -> None:
        """A partition appends a record, however late, unless it has seen a larger epoch."""
        producer = s.producer[x]
        when(s.begun[x], s.added[x][t], s.seen_epoch[t][producer] <= s.producer_epoch[x])
        s.written[x][t] = True
        s.pending[x][t] = True
        s.seen_epoch[t][producer] = s.producer_epoch[x]

    @action
    def write_marker(s, x: Transaction, t: TopicPartition) -> None:
        """A marker decides everything that its producer has pending in the partition."""
        producer = s.producer[x]
        when(s.decided(x), s.added[x][t], s.accepts_marker(t, x))
        s.seen_epoch[t][producer] = s.marker_epoch[x]
        s.marked[x][t] = True
        for y in Transaction:
            closes = s.pending[y][t] & (s.producer[y] == producer)
            s.kept[y][t] = s.kept[y][t] | closes & s.committed[x]
            s.dropped[y][t] = s.dropped[y][t] | closes & s.aborted[x]
            s.pending[y][t] = s.pending[y][t] & ~closes

    @action
    def write_marker_again(s, x: Transaction, t: TopicPartition) -> None:
        """A repeated marker that finds nothing pending changes nothing (KAFKA-19999)."""
        producer = s.producer[x]
        when(
            s.marked[x][t],
            s.seen_epoch[t][producer] == s.marker_epoch[x],
            forall(implies(s.producer[y] == producer, ~s.pending[y][t]) for y in Transaction),
        )
        s.marked[x][t] = True
