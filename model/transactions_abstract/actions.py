"""The actions of the spec `transactions-abstract`: the actions of the coordinator, and the actions
of the partitions.

Records stay pending in a partition until a commit or abort marker arrives. A request may arrive
late or twice, so an action may be repeated until its guard is false. A marker carries a producer
and an epoch, but no transaction. So only epochs distinguish a producer's transactions.

The table lists all actions (`Next` in TLA+). Each row begins with the part of the system that takes
the actions. No action is fair, because only safety is proved.

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
    # ---- rules that versions replace

    def may_end_under(s, x: Transaction, marker_epoch: ProducerEpoch) -> Bool:
        """Returns True if a commit or abort of `x` may raise the producer's epoch to
        `marker_epoch`. `marker_epoch` must be larger than the producer's present epoch.
        """
        return s.current_epoch[s.producer[x]] < marker_epoch

    def accepts_marker(s, t: TopicPartition, x: Transaction) -> Bool:
        """Returns True if the marker of `x` has a larger epoch than every epoch of the producer
        that the partition `t` has seen. Only then does the partition accept the marker.

        If an equal epoch suffices, the claim `faithful` breaks (bug `lax-markers`, 9 steps).
        """
        return s.seen_epoch[t][s.producer[x]] < s.marker_epoch[x]

    def ends_above_records(s, x: Transaction) -> Bool:
        """Returns True if the epoch of the markers of `x` is larger than the epoch of its records.
        Partitions that have a marker then refuse late records.
        """
        return s.producer_epoch[x] < s.marker_epoch[x]

    def may_complete(s, x: Transaction) -> Bool:
        """Returns True if every partition that was added to the transaction has the transaction's
        marker.

        Kafka 4.3.0 does not wait for a partition without a leader (KAFKA-20734). So the claim
        `faithful` breaks (bug `skips-marker`, 9 steps).
        """
        return forall(s.marked[x][t] for t in s.added[x])

    # ---- the producer and its coordinator

    @action
    def begin(s, x: Transaction, producer: Producer) -> None:
        """A producer begins a transaction, if all its earlier transactions are complete.

        Kafka: TransactionManager.beginTransaction; the coordinator answers CONCURRENT_TRANSACTIONS
        while an earlier transaction is not complete.
        Simplified: the spec numbers the transactions; the requests of Kafka name no transaction.
        Without the guard that the earlier transactions are complete, the claim `faithful` breaks in
        7 steps.
        """
        when(~s.begun[x], s.has_nothing_open(producer))
        s.begun[x] = True
        s.producer[x] = producer
        s.producer_epoch[x] = s.current_epoch[producer]

    @action
    def add_partition(s, x: Transaction, t: TopicPartition) -> None:
        """The coordinator adds a partition to a transaction that is neither committed nor aborted.

        Kafka: TransactionCoordinator.handleAddPartitionsToTransaction.
        Simplified: the request always arrives in time.
        Without the guard that the transaction is undecided, the claim `no_hanging_transaction`
        breaks in 5 steps.
        """
        when(s.begun[x], ~s.decided(x))
        s.added[x][t] = True

    @action
    def end_commit(s, x: Transaction, marker_epoch: ProducerEpoch) -> None:
        """The coordinator decides to commit a transaction.

        Kafka: TransactionCoordinator.handleEndTransaction.
        Simplified: the commit is one step, and no coordinator fails.
        If the markers carry the epoch of the records, a partition accepts a record after the
        marker, and the claim `no_hanging_transaction` breaks (version `v1`, 6 steps).
        """
        when(s.begun[x], ~s.decided(x), s.may_end_under(x, marker_epoch))
        s.committed[x] = True
        s.end_under(x, marker_epoch)

    @action
    def end_abort(s, x: Transaction, marker_epoch: ProducerEpoch) -> None:
        """The coordinator decides to abort a transaction.

        Kafka: TransactionCoordinator.handleEndTransaction.
        Simplified: the abort is one step, and no coordinator fails.
        Without the guard that the transaction is undecided, the claim `atomic` breaks in 6 steps.
        """
        when(s.begun[x], ~s.decided(x), s.may_end_under(x, marker_epoch))
        s.aborted[x] = True
        s.end_under(x, marker_epoch)

    @action
    def fence(s, x: Transaction, marker_epoch: ProducerEpoch) -> None:
        """The coordinator aborts an open transaction, because of a new instance or a timeout.

        Kafka: TransactionCoordinator.handleInitProducerId and abortTimedOutTransactions.
        Simplified: the coordinator may abort an open transaction at any time.
        Without the guard that the transaction is undecided, the claim `atomic` breaks in 6 steps.
        """
        when(s.begun[x], ~s.decided(x), s.current_epoch[s.producer[x]] < marker_epoch)
        s.aborted[x] = True
        s.end_under(x, marker_epoch)

    def end_under(s, x: Transaction, marker_epoch: ProducerEpoch) -> None:
        s.marker_epoch[x] = marker_epoch
        s.current_epoch[s.producer[x]] = marker_epoch

    @action
    def init_producer(s, producer: Producer, new_epoch: ProducerEpoch) -> None:
        """A new instance of a producer receives a larger epoch, if the producer has no open
        transaction.

        Kafka: TransactionCoordinator.handleInitProducerId.
        Simplified: epochs never run out.
        At the default constants, every claim also holds without the guard on the epoch, and without
        the guard on open transactions.
        """
        when(s.current_epoch[producer] < new_epoch, s.has_nothing_open(producer))
        s.current_epoch[producer] = new_epoch

    @action
    def complete_transaction(s, x: Transaction) -> None:
        """The coordinator completes a transaction after each partition of the transaction has the
        marker.

        Kafka: TransactionMarkerChannelManager.maybeWriteTxnCompletion.
        Simplified: the coordinator sees which partitions have the marker.
        Without the guard that all partitions have the marker, the claim `no_hanging_transaction`
        breaks in 5 steps.
        """
        when(s.decided(x), s.may_complete(x))
        s.complete[x] = True

    # ---- partitions

    @action
    def append(s, x: Transaction, t: TopicPartition) -> None:
        """A partition appends a record of the transaction, unless the partition has seen a larger
        epoch of the producer.

        Kafka: ProducerAppendInfo.checkProducerEpoch.
        Simplified: the partition stores no records, but only the set of pending transactions. A
        record may arrive late.
        Without the guard that the partition has seen no larger epoch, the claim
        `no_hanging_transaction` breaks in 6 steps.
        """
        producer = s.producer[x]
        when(s.begun[x], s.added[x][t], s.seen_epoch[t][producer] <= s.producer_epoch[x])
        s.written[x][t] = True
        s.pending[x][t] = True
        s.seen_epoch[t][producer] = s.producer_epoch[x]

    @action
    def write_marker(s, x: Transaction, t: TopicPartition) -> None:
        """A partition writes a marker, which commits or aborts all pending records of the marker's
        producer.

        Kafka: ProducerAppendInfo.appendEndTxnMarker.
        Simplified: the coordinator's request, the append of the marker and the response are one
        step.
        Without the guard `accepts_marker`, the claim `faithful` breaks in 9 steps.
        """
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
        """A partition receives a marker that it has already written. The state does not change
        (KAFKA-19999).

        Kafka: WriteTxnMarkers, repeated by a new coordinator.
        Simplified: the partition receives such a marker only while it has no pending record of the
        producer.
        Without the guard that the partition has already written the marker, a first marker would
        count as written without any effect, and the claim `no_hanging_transaction` breaks in 6
        steps.
        """
        producer = s.producer[x]
        when(
            s.marked[x][t],
            s.seen_epoch[t][producer] == s.marker_epoch[x],
            forall(implies(s.producer[y] == producer, ~s.pending[y][t]) for y in Transaction),
        )
        s.marked[x][t] = True
