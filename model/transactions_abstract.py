"""Transactions, small enough to prove for any number of producers, partitions, transactions and epochs.

A coordinator decides, partitions hold what was written until a marker tells them the decision. Requests may arrive late and twice: an
action stays possible as long as the rules do not forbid it.

Source: KIP-98; KIP-890 (an epoch for every transaction); KIP-1228 (a marker carries a larger epoch than the partition has seen).
Simplified: the coordinator never fails; a partition's log is one set of transactions; epochs never run out.
"""

from __future__ import annotations

from model.language.words import Bool, Ordered, Sort, all_of, any_of, forall, implies
from model.language.places import Map, Set
from model.language.spec import Spec, action, invariant, lemma, when


class Producer(Sort):
    """A transactional id, and the producer id that goes with it."""


class TopicPartition(Sort):
    """Keeps records, and remembers the largest epoch it has seen of each producer."""


class Transaction(Sort):
    """One transaction, from begin to complete."""


class ProducerEpoch(Ordered):
    """Fences requests of the past."""


class Transactions(Spec):
    """Version 2 (KIP-890): a decision moves the producer to a larger epoch, and markers carry that epoch."""

    # what the coordinator knows
    epoch: Map[Producer, ProducerEpoch]
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

    def init(s, someone: Producer) -> None:
        for x in Transaction:
            s.producer[x] = someone  # without meaning until x begins

    # ---- words

    def decided(s, x: Transaction) -> Bool:
        return s.committed[x] | s.aborted[x]

    def has_nothing_open(s, producer: Producer) -> Bool:
        return forall(implies(s.begun[x] & (s.producer[x] == producer), s.complete[x]) for x in Transaction)

    def may_end(s, x: Transaction, epoch: ProducerEpoch) -> Bool:
        """The epoch under which the coordinator may decide the transaction."""
        return s.epoch[s.producer[x]] < epoch

    def accepts_marker(s, t: TopicPartition, x: Transaction) -> Bool:
        return s.seen_epoch[t][s.producer[x]] < s.marker_epoch[x]

    def ends_above_records(s, x: Transaction) -> Bool:
        return s.producer_epoch[x] < s.marker_epoch[x]

    # ---- the producer and its coordinator

    @action
    def begin(s, x: Transaction, producer: Producer) -> None:
        """A producer begins a transaction once its earlier ones are complete."""
        when(~s.begun[x], s.has_nothing_open(producer))
        s.begun[x] = True
        s.producer[x] = producer
        s.producer_epoch[x] = s.epoch[producer]

    @action
    def add_partition(s, x: Transaction, t: TopicPartition) -> None:
        """The coordinator learns that the transaction writes to a partition."""
        when(s.begun[x], ~s.decided(x))
        s.added[x][t] = True

    @action
    def end_commit(s, x: Transaction, epoch: ProducerEpoch) -> None:
        """The coordinator decides to commit."""
        when(s.begun[x], ~s.decided(x), s.may_end(x, epoch))
        s.committed[x] = True
        s.end_under(x, epoch)

    @action
    def end_abort(s, x: Transaction, epoch: ProducerEpoch) -> None:
        """The coordinator decides to abort."""
        when(s.begun[x], ~s.decided(x), s.may_end(x, epoch))
        s.aborted[x] = True
        s.end_under(x, epoch)

    def end_under(s, x: Transaction, epoch: ProducerEpoch) -> None:
        s.marker_epoch[x] = epoch
        s.epoch[s.producer[x]] = epoch

    @action
    def fence(s, x: Transaction, epoch: ProducerEpoch) -> None:
        """A new instance of the producer fences the old one, whose open transaction is aborted."""
        when(s.begun[x], ~s.decided(x), s.epoch[s.producer[x]] < epoch)
        s.aborted[x] = True
        s.marker_epoch[x] = epoch
        s.epoch[s.producer[x]] = epoch

    @action
    def init_producer(s, producer: Producer, epoch: ProducerEpoch) -> None:
        """A new instance of a producer that has nothing open takes a larger epoch."""
        when(s.epoch[producer] < epoch, s.has_nothing_open(producer))
        s.epoch[producer] = epoch

    @action
    def complete_transaction(s, x: Transaction) -> None:
        """The coordinator has heard of a marker from every partition of the transaction."""
        when(s.decided(x), forall(s.marked[x][t] for t in s.added[x]))
        s.complete[x] = True

    # ---- partitions

    @action
    def append(s, x: Transaction, t: TopicPartition) -> None:
        """A record of the transaction reaches its partition, however late, unless a larger epoch was there before."""
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
        return forall(implies(s.complete[x], ~s.pending[x][t]) for x in Transaction for t in TopicPartition)

    @invariant
    def faithful(s) -> Bool:
        """Partitions keep and drop what the coordinator decided to commit and to abort."""
        return forall(
            implies(s.kept[x][t], s.committed[x]) & implies(s.dropped[x][t], s.aborted[x])
            for x in Transaction
            for t in TopicPartition
        )

    # ---- why it is true

    @lemma
    def one_decision(s) -> Bool:
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
        """The records of a transaction, its markers, its producer: each under an epoch that is not smaller."""
        return forall(
            all_of(
                implies(s.begun[x], s.producer_epoch[x] <= s.epoch[s.producer[x]]),
                implies(s.decided(x), s.ends_above_records(x) & (s.marker_epoch[x] <= s.epoch[s.producer[x]])),
            )
            for x in Transaction
        )

    @lemma
    def one_open(s) -> Bool:
        """A producer has at most one transaction that is not complete."""

        def is_open(x: Transaction) -> Bool:
            return s.begun[x] & ~s.complete[x]

        return forall(
            implies(is_open(x) & is_open(y) & (s.producer[x] == s.producer[y]), x == y)
            for x in Transaction
            for y in Transaction
        )

    @lemma
    def one_after_another(s) -> Bool:
        """Of two transactions of a producer, one ended before the other wrote."""
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
        """Where something is pending, its epoch is the largest seen and its marker has not come."""
        return forall(
            all_of(
                implies(s.pending[x][t], s.written[x][t] & ~s.marked[x][t]),
                implies(s.pending[x][t], s.seen_epoch[t][s.producer[x]] == s.producer_epoch[x]),
                implies(s.written[x][t], s.begun[x] & s.added[x][t]),
            )
            for t in TopicPartition
            for x in Transaction
        )

    @lemma
    def marked_is_decided(s) -> Bool:
        return forall(
            implies(
                s.marked[x][t],
                all_of(s.decided(x), s.added[x][t], s.marker_epoch[x] <= s.seen_epoch[t][s.producer[x]]),
            )
            for t in TopicPartition
            for x in Transaction
        )

    @lemma
    def complete_is_marked(s) -> Bool:
        return forall(implies(s.complete[x], s.marked[x][t]) for x in Transaction for t in s.added[x])


class LaxMarkers(Transactions):
    """A bug that shipped until 4.2 (KIP-1228): a marker is accepted at the epoch already seen, so a second delivery closes the next one."""

    def accepts_marker(s, t: TopicPartition, x: Transaction) -> Bool:
        return s.seen_epoch[t][s.producer[x]] <= s.marker_epoch[x]


class Version1(LaxMarkers):
    """Before KIP-890: transactions share the producer's epoch and so do their markers. A late record hangs after its marker."""

    def may_end(s, x: Transaction, epoch: ProducerEpoch) -> Bool:
        return s.epoch[s.producer[x]] == epoch

    def ends_above_records(s, x: Transaction) -> Bool:
        return s.producer_epoch[x] <= s.marker_epoch[x]
