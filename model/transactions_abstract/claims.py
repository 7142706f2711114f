"""The claims of the spec `transactions-abstract`, and the lemmas that their proof needs."""

from __future__ import annotations

from model.language import Bool, all_of, any_of, exists, forall, implies, invariant, lemma, witness
from model.transactions_abstract.actions import AbstractTransactionsActions
from model.transactions_abstract.state import TopicPartition, Transaction


class AbstractTransactionsClaims(AbstractTransactionsActions):
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
        """After a transaction is complete, no partition has a pending record of the transaction."""
        return forall(
            implies(s.complete[x], ~s.pending[x][t]) for x in Transaction for t in TopicPartition
        )

    @invariant
    def faithful(s) -> Bool:
        """A partition commits or aborts the records of a transaction only as the coordinator
        decided.
        """
        return forall(
            implies(s.kept[x][t], s.committed[x]) & implies(s.dropped[x][t], s.aborted[x])
            for x in Transaction
            for t in TopicPartition
        )

    # ---- witnesses

    @witness
    def a_record_is_committed(s) -> Bool:
        """Reachable: a transaction is complete, and a partition has committed a record of this
        transaction.
        """
        return exists(s.complete[x] & s.kept[x][t] for x in Transaction for t in TopicPartition)

    @witness
    def a_record_is_aborted(s) -> Bool:
        """Reachable: a transaction is complete, and a partition has aborted a record of this
        transaction.
        """
        return exists(s.complete[x] & s.dropped[x][t] for x in Transaction for t in TopicPartition)

    @witness
    def the_next_writes(s) -> Bool:
        """Reachable: a partition has committed a transaction, and has a pending record of another
        transaction of the same producer.
        """
        return exists(
            all_of(s.kept[x][t], s.pending[y][t], s.producer[x] == s.producer[y])
            for x in Transaction
            for y in Transaction
            for t in TopicPartition
        )

    @witness
    def a_late_record_is_fenced(s) -> Bool:
        """Reachable: a partition refuses a transaction's records, because it has seen a larger
        epoch of the producer.
        """
        return exists(
            all_of(s.added[x][t], s.producer_epoch[x] < s.seen_epoch[t][s.producer[x]])
            for x in Transaction
            for t in TopicPartition
        )

    # ---- lemmas

    @lemma
    def one_decision(s) -> Bool:
        """No transaction is both committed and aborted. The coordinator decides only after the
        transaction has begun, and before the transaction is complete.
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
        """The epoch of a transaction's records is at most the epoch of its markers, and the epoch
        of its markers is at most the present epoch of its producer.

        In transaction version 2, the epoch of the markers is larger than the epoch of the records
        (`ends_above_records`).
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
        """A producer has at most one transaction that is not complete."""
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
        """A producer's next transaction has at least the epoch of the previous transaction's
        markers.

        The lemma is true because the end of the previous transaction raised the producer's epoch to
        the epoch of its markers.
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
        """A partition with a pending record (appended, and not yet ended by a marker) has no marker
        of the record's transaction. It has seen no larger epoch of the transaction's producer.

        In transaction version 2, a marker has a larger epoch than the records, so the partition
        refuses records after the marker. In transaction version 1 (`v1`), the marker has the epoch
        of the records. So the lemma is false in `v1`: the partition accepts a record after the
        marker, and no other marker ends the transaction.
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
        """If a partition has a transaction's marker, the transaction is committed or aborted, and
        the partition was added to the transaction.

        Also, the partition has seen the marker's epoch or a larger epoch of the producer.
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
        """If a transaction is complete, every partition that was added to it has its marker."""
        return forall(
            implies(s.complete[x], s.marked[x][t]) for x in Transaction for t in s.added[x]
        )
