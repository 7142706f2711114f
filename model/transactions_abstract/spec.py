"""Transactions, small enough to prove for any number of producers, partitions and transactions.

A coordinator decides; partitions keep what was written pending until a marker tells them the
decision. Requests may arrive late and twice: an action stays possible as long as no rule forbids
it. A marker names a producer and an epoch but no transaction, so epochs alone must tell the
transactions of a producer apart.

Source: KIP-98; KIP-890 part 2 (an epoch for every transaction); KIP-1228 (a marker is accepted
only above the epoch that the partition has seen).
Simplified: the coordinator never fails, and epochs never run out. A producer that asks to end a
transaction names it, so that version 1's delayed EndTxn (KAFKA-17754) has no place here. What a
partition holds is a set of transactions, not a log. Verification (KIP-890 part 1), which refuses
more, is not here.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Map,
    Ordered,
    Scope,
    Set,
    Sort,
    Spec,
    action,
    all_of,
    any_of,
    exists,
    forall,
    implies,
    invariant,
    lemma,
    when,
    witness,
)


class Producer(Sort):
    """A transactional id, and the producer id that goes with it."""


class TopicPartition(Sort):
    """Keeps records, and remembers the largest epoch it has seen of each producer."""


class Transaction(Sort):
    """One transaction, from begin to complete."""


class ProducerEpoch(Ordered):
    """Fences requests of the past."""


class Transactions(Spec):
    """Version 2: a decision moves the producer to a larger epoch, and markers carry that epoch."""

    producers: Annotated[int, range(1, 10)] = 1
    transactions: Annotated[int, range(1, 10)] = 2
    partitions: Annotated[int, range(1, 10)] = 1
    epochs: Annotated[int, range(1, 10)] = 4

    # what the coordinator knows
    current_epoch: Map[Producer, ProducerEpoch]
    begun: Set[Transaction]
    producer: Map[Transaction, Producer]
    producer_epoch: Map[Transaction, ProducerEpoch]  # carried by the records of the transaction
    added: Map[Transaction, Set[TopicPartition]]
    committed: Set[Transaction]
    aborted: Set[Transaction]
    marker_epoch: Map[Transaction, ProducerEpoch]  # carried by its markers
    complete: Set[Transaction]

    # what partitions know
    seen_epoch: Map[TopicPartition, Map[Producer, ProducerEpoch]]
    marked: Map[Transaction, Set[TopicPartition]]
    written: Map[Transaction, Set[TopicPartition]]
    pending: Map[Transaction, Set[TopicPartition]]  # written, and not yet decided there
    kept: Map[Transaction, Set[TopicPartition]]  # decided there: committed
    dropped: Map[Transaction, Set[TopicPartition]]  # decided there: aborted

    def scope(s) -> Scope:
        return {
            Producer: s.producers,
            Transaction: s.transactions,
            TopicPartition: s.partitions,
            ProducerEpoch: s.epochs,
        }

    def init(s, someone: Producer) -> None:
        """Nothing has begun."""
        for x in Transaction:
            s.producer[x] = someone  # without meaning until x begins

    # ---- words

    def decided(s, x: Transaction) -> Bool:
        return s.committed[x] | s.aborted[x]

    def is_open(s, x: Transaction) -> Bool:
        return s.begun[x] & ~s.complete[x]

    def has_nothing_open(s, producer: Producer) -> Bool:
        return forall(implies(s.producer[x] == producer, ~s.is_open(x)) for x in Transaction)

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

    # ---- what is claimed

    @invariant
    def atomic(s) -> Bool:
        """No transaction is committed on one partition and aborted on another."""
        return forall(
            ~(s.kept[x][t] & s.dropped[x][u])
            for x in Transaction
            for t in TopicPartition
            for u in TopicPartition
        )

    @invariant
    def no_hanging_transaction(s) -> Bool:
        """A complete transaction has nothing pending anywhere."""
        return forall(
            implies(s.complete[x], ~s.pending[x][t]) for x in Transaction for t in TopicPartition
        )

    @invariant
    def faithful(s) -> Bool:
        """Partitions keep and drop what the coordinator decided to commit and to abort."""
        return forall(
            implies(s.kept[x][t], s.committed[x]) & implies(s.dropped[x][t], s.aborted[x])
            for x in Transaction
            for t in TopicPartition
        )

    # ---- what must be possible

    @witness
    def a_record_is_committed(s) -> Bool:
        """Some partition keeps what a complete transaction wrote."""
        return exists(s.complete[x] & s.kept[x][t] for x in Transaction for t in TopicPartition)

    @witness
    def a_record_is_aborted(s) -> Bool:
        """Some partition drops what a complete transaction wrote."""
        return exists(s.complete[x] & s.dropped[x][t] for x in Transaction for t in TopicPartition)

    @witness
    def the_next_writes(s) -> Bool:
        """A producer writes in its second transaction, where the first was committed."""
        return exists(
            all_of(s.kept[x][t], s.pending[y][t], s.producer[x] == s.producer[y])
            for x in Transaction
            for y in Transaction
            for t in TopicPartition
        )

    @witness
    def a_late_record_is_fenced(s) -> Bool:
        """A partition refuses the records of a transaction: it has seen a larger epoch."""
        return exists(
            all_of(s.added[x][t], s.producer_epoch[x] < s.seen_epoch[t][s.producer[x]])
            for x in Transaction
            for t in TopicPartition
        )

    # ---- why it is true

    @lemma
    def one_decision(s) -> Bool:
        """A transaction begins, is decided once, and is complete only then.

        True because every decision asks for a begun transaction that has none.
        """
        return forall(
            all_of(
                ~(s.committed[x] & s.aborted[x]),
                implies(s.decided(x), s.begun[x]),
                implies(s.complete[x], s.decided(x)),
            )
            for x in Transaction
        )

    @lemma
    def epochs_grow(s) -> Bool:
        """The records of a transaction, its markers, its producer: none under a smaller epoch.

        True because a transaction takes its producer's epoch, which only grows, and its markers
        take the epoch to which the decision moves the producer.
        """
        return forall(
            all_of(
                implies(s.begun[x], s.producer_epoch[x] <= s.current_epoch[s.producer[x]]),
                implies(
                    s.decided(x),
                    all_of(
                        s.ends_above_records(x),
                        s.marker_epoch[x] <= s.current_epoch[s.producer[x]],
                    ),
                ),
            )
            for x in Transaction
        )

    @lemma
    def one_open(s) -> Bool:
        """A producer has at most one transaction that is not complete.

        True because it begins one only when it has nothing open.
        """
        return forall(
            implies(
                all_of(s.is_open(x), s.is_open(y), s.producer[x] == s.producer[y]),
                x == y,
            )
            for x in Transaction
            for y in Transaction
        )

    @lemma
    def one_after_another(s) -> Bool:
        """Of two transactions of a producer, the markers of one precede the records of the other.

        True because the later one began when the earlier was complete, under the epoch to which
        the earlier decision had moved the producer, or a larger one.
        """
        return forall(
            implies(
                all_of(s.begun[y], s.decided(x), x != y, s.producer[x] == s.producer[y]),
                any_of(
                    s.marker_epoch[x] <= s.producer_epoch[y],
                    s.decided(y) & (s.marker_epoch[y] <= s.producer_epoch[x]),
                ),
            )
            for x in Transaction
            for y in Transaction
        )

    @lemma
    def pending_is_fresh(s) -> Bool:
        """Where something is pending, its epoch is the largest seen and its marker has not come.

        True because a record is refused once its transaction's marker was there, whose epoch is
        larger; and a marker leaves nothing of its producer pending. Version 1, where both carry
        the same epoch, lets the record in: it hangs.
        """
        return forall(
            all_of(
                implies(s.pending[x][t], s.written[x][t] & ~s.marked[x][t]),
                implies(
                    s.pending[x][t],
                    s.seen_epoch[t][s.producer[x]] == s.producer_epoch[x],
                ),
                implies(s.written[x][t], s.begun[x] & s.added[x][t]),
            )
            for t in TopicPartition
            for x in Transaction
        )

    @lemma
    def marked_is_decided(s) -> Bool:
        """A partition with a marker was added, and remembers the marker's epoch or a larger one.

        True because markers are sent for decided transactions to added partitions, and what a
        partition has seen only grows.
        """
        return forall(
            implies(
                s.marked[x][t],
                all_of(
                    s.decided(x),
                    s.added[x][t],
                    s.marker_epoch[x] <= s.seen_epoch[t][s.producer[x]],
                ),
            )
            for t in TopicPartition
            for x in Transaction
        )

    @lemma
    def complete_is_marked(s) -> Bool:
        """A complete transaction has its marker in every partition that was added to it.

        True because completing it asks for that, and nothing is added after the decision.
        """
        return forall(
            implies(s.complete[x], s.marked[x][t]) for x in Transaction for t in s.added[x]
        )
