"""DOC transactions_abstract actions"""

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
    """DOC AbstractTransactionsActions"""

    # ---- the rules that versions differ in

    def may_end_under(s, x: Transaction, marker_epoch: ProducerEpoch) -> Bool:
        """The epoch to which the decision moves the producer, and which its markers carry."""
        return s.current_epoch[s.producer[x]] < marker_epoch

    def accepts_marker(s, t: TopicPartition, x: Transaction) -> Bool:
        """Under the very epoch that the partition has seen, a marker may be one of the past."""
        return s.seen_epoch[t][s.producer[x]] < s.marker_epoch[x]

    def ends_above_records(s, x: Transaction) -> Bool:
        """A marker fences the records of its own transaction that are still on their way."""
        return s.producer_epoch[x] < s.marker_epoch[x]

    # ---- the producer and its coordinator

    @action
    def begin(s, x: Transaction, producer: Producer) -> None:
        """A producer begins a transaction once its earlier ones are complete."""
        when(~s.begun[x], s.has_nothing_open(producer))
        s.begun[x] = True
        s.producer[x] = producer
        s.producer_epoch[x] = s.current_epoch[producer]

    @action
    def add_partition(s, x: Transaction, t: TopicPartition) -> None:
        """The coordinator learns that the transaction writes to a partition."""
        when(s.begun[x], ~s.decided(x))
        s.added[x][t] = True

    @action
    def end_commit(s, x: Transaction, marker_epoch: ProducerEpoch) -> None:
        """The coordinator decides to commit."""
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
        """The old instance is fenced and its open transaction aborted: by a new one, or in time."""
        when(s.begun[x], ~s.decided(x), s.current_epoch[s.producer[x]] < marker_epoch)
        s.aborted[x] = True
        s.end_under(x, marker_epoch)

    def end_under(s, x: Transaction, marker_epoch: ProducerEpoch) -> None:
        s.marker_epoch[x] = marker_epoch
        s.current_epoch[s.producer[x]] = marker_epoch

    @action
    def init_producer(s, producer: Producer, new_epoch: ProducerEpoch) -> None:
        """A new instance of a producer that has nothing open takes a larger epoch."""
        when(s.current_epoch[producer] < new_epoch, s.has_nothing_open(producer))
        s.current_epoch[producer] = new_epoch

    @action
    def complete_transaction(s, x: Transaction) -> None:
        """The coordinator has heard of a marker from every partition of the transaction."""
        when(s.decided(x), forall(s.marked[x][t] for t in s.added[x]))
        s.complete[x] = True

    # ---- partitions

    @action
    def append(s, x: Transaction, t: TopicPartition) -> None:
        """A record reaches its partition, however late, unless a larger epoch was there before."""
        producer = s.producer[x]
        when(s.begun[x], s.added[x][t], s.seen_epoch[t][producer] <= s.producer_epoch[x])
        s.written[x][t] = True
        s.pending[x][t] = True
        s.seen_epoch[t][producer] = s.producer_epoch[x]

    @action
    def write_marker(s, x: Transaction, t: TopicPartition) -> None:
        """A marker decides whatever its producer has pending there: it names no transaction."""
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
        """A marker that comes again and finds nothing pending changes nothing (KAFKA-19999)."""
        producer = s.producer[x]
        when(
            s.marked[x][t],
            s.seen_epoch[t][producer] == s.marker_epoch[x],
            forall(implies(s.producer[y] == producer, ~s.pending[y][t]) for y in Transaction),
        )
        s.marked[x][t] = True
