"""The claims about abstract transactions, and the lemmas that make them inductive."""

from __future__ import annotations

from model.language import Bool, all_of, any_of, exists, forall, implies, invariant, lemma, witness
from model.transactions_abstract.actions import AbstractTransactionsActions
from model.transactions_abstract.state import TopicPartition, Transaction


class AbstractTransactionsClaims(AbstractTransactionsActions):
    """Three claims, and seven lemmas from which they follow for any number of transactions."""

    # ---- claims

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
        """A complete transaction has nothing pending on any partition."""
        return forall(
            implies(s.complete[x], ~s.pending[x][t]) for x in Transaction for t in TopicPartition
        )

    @invariant
    def faithful(s) -> Bool:
        """A partition keeps only what the coordinator committed, and drops only what it aborted."""
        return forall(
            implies(s.kept[x][t], s.committed[x]) & implies(s.dropped[x][t], s.aborted[x])
            for x in Transaction
            for t in TopicPartition
        )

    # ---- witnesses

    @witness
    def a_record_is_committed(s) -> Bool:
        """Reachable: a partition keeps a record of a complete transaction."""
        return exists(s.complete[x] & s.kept[x][t] for x in Transaction for t in TopicPartition)

    @witness
    def a_record_is_aborted(s) -> Bool:
        """Reachable: a partition drops a record of a complete transaction."""
        return exists(s.complete[x] & s.dropped[x][t] for x in Transaction for t in TopicPartition)

    @witness
    def the_next_writes(s) -> Bool:
        """Reachable: a producer writes in a second transaction to a partition where its first was
        committed.
        """
        return exists(
            all_of(s.kept[x][t], s.pending[y][t], s.producer[x] == s.producer[y])
            for x in Transaction
            for y in Transaction
            for t in TopicPartition
        )

    @witness
    def a_late_record_is_fenced(s) -> Bool:
        """Reachable: a partition refuses the records of a transaction, because it has seen a larger
        epoch.
        """
        return exists(
            all_of(s.added[x][t], s.producer_epoch[x] < s.seen_epoch[t][s.producer[x]])
            for x in Transaction
            for t in TopicPartition
        )

    # ---- lemmas

    @lemma
    def one_decision(s) -> Bool:
        """A transaction begins, is decided once, and is complete only after that.

        True because only a begun, undecided transaction can be decided.
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
        """From a transaction's records to its markers to its producer, epochs never decrease.

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

        True because a producer begins a transaction only when it has nothing open.
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
        """Of two transactions of a producer, the markers of one have no larger epoch than the
        other's records.

        True because the later one began when the earlier was complete, under the epoch to which the
        earlier decision had moved the producer, or a larger one.
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
        """Where a transaction is pending, its epoch is the largest seen, and its marker has not
        arrived.

        True because a record is refused after its transaction's marker, whose epoch is larger, and
        a marker leaves nothing of its producer pending. Version 1, where both carry the same epoch,
        accepts the record: it hangs.
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
        """A partition with a marker of a transaction was added to it, and has seen the marker's
        epoch.

        True because markers are sent for decided transactions to added partitions, and the epochs
        that a partition has seen only grow.
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
        """A complete transaction has its marker on every partition that was added to it.

        True because completion requires that, and nothing is added after the decision.
        """
        return forall(
            implies(s.complete[x], s.marked[x][t]) for x in Transaction for t in s.added[x]
        )
