"""The claims about transactions: guarantees on which clients and readers rely.

Source: KIP-98; KIP-890; KIP-1228; docs/sources.md DOC0.
"""

from __future__ import annotations

from typing import Self

from model.language import (
    Bool,
    Temporal,
    action_property,
    all_of,
    any_of,
    exists,
    forall,
    implies,
    invariant,
    leads_to,
    liveness,
    nothing,
    witness,
)
from model.transactions.claims.agreement import Agreement
from model.transactions.state import (
    ABORT,
    COMMIT,
    DEAD,
    INVALID_TXN_STATE,
    PREPARE,
    Instance,
    Offset,
    TopicPartition,
    Transaction,
)


class TransactionsClaims(Agreement):
    # ---- promises to clients

    @invariant
    def the_client_decides(s) -> Bool:
        """A transaction is committed only if its client has requested to commit it."""
        return forall(
            implies(s.decided[k] == COMMIT, s.requested[k] == COMMIT) for k in Transaction
        )

    @invariant
    def answers_are_true(s) -> Bool:
        """If a client receives the answer that its commit or abort succeeded, the coordinator has
        decided to commit or abort the transaction accordingly.

        The claim does not cover transactions without records.
        """
        return forall(
            implies(
                s.end_confirmed[k] & exists(s.sent[k][p] for p in TopicPartition),
                s.decided[k] == s.requested[k],
            )
            for k in Transaction
        )

    @invariant
    def a_commit_is_whole(s) -> Bool:
        """After a client's commit succeeds, each record of the transaction is in the log of its
        partition, and no marker has aborted the record.
        """
        return forall(
            implies(
                s.end_confirmed[k] & (s.requested[k] == COMMIT),
                exists(s.is_in(p, o, k) & ~s.closed_as(p, o, ABORT) for o in Offset),
            )
            for k in Transaction
            for p in s.sent[k]
        )

    def may_be_fenced(s, i: Instance) -> Bool:
        """Returns True if the instance may be fenced, which means that it may receive an error and
        must close.

        It may be fenced by a newer instance, by a timeout of its transaction, or by the expiry of
        the transactional id.
        """
        return any_of(
            exists((i < j) & (s.producer[j].producer_id != nothing) for j in Instance),
            exists(
                all_of(s.owner[k] == i, s.requested[k] == nothing, s.decided[k] == ABORT)
                for k in Transaction
            ),
            s.metadata.state == DEAD,
        )

    @invariant
    def no_instance_fences_itself(s) -> Bool:
        """An instance receives an error only because of a newer instance, a timeout, or the expiry
        of its transactional id.
        """
        return forall(implies(s.producer[i].error != nothing, s.may_be_fenced(i)) for i in Instance)

    @invariant
    def the_fenced_get_a_fencing_error(s) -> Bool:
        """A producer with an old epoch never receives the error INVALID_TXN_STATE."""
        return forall(s.producer[i].error != INVALID_TXN_STATE for i in Instance)

    # ---- promises to readers

    @invariant
    def no_aborted_read(s) -> Bool:
        """A read_committed consumer receives only records of committed transactions."""
        return forall(
            implies(s.is_read_committed(p, o) & s.is_in(p, o, k), s.decided[k] == COMMIT)
            for p in TopicPartition
            for o in Offset
            for k in Transaction
        )

    @invariant
    def aborted_index_is_exact(s) -> Bool:
        """Below the last stable offset, the index of aborted transactions lists exactly the aborted
        records.
        """
        return forall(
            implies(
                s.is_in(p, o, k) & (o < s.last_stable_offset(p)),
                s.is_dropped(p, o) == (s.decided[k] == ABORT),
            )
            for p in TopicPartition
            for o in Offset
            for k in Transaction
        )

    @invariant
    def no_torn_read(s) -> Bool:
        """If read_committed consumers have passed the offsets of all records of a transaction, they
        received all of these records or none.
        """
        return forall(
            implies(
                all_of(
                    s.is_in(p, o, k),
                    s.is_in(q, r, k),
                    o < s.last_stable_offset(p),
                    r < s.last_stable_offset(q),
                ),
                s.is_read_committed(p, o) == s.is_read_committed(q, r),
            )
            for k in Transaction
            for p in TopicPartition
            for q in TopicPartition
            for o in Offset
            for r in Offset
        )

    @action_property
    def stable_offsets_do_not_go_back(s, after: Self) -> Bool:
        """The last stable offset of a partition never falls, even if the leader of the partition
        changes.
        """
        return forall(
            s.last_stable_offset(p) <= after.last_stable_offset(p) for p in TopicPartition
        )

    # ---- liveness

    @liveness
    def decided_transactions_complete(s) -> Temporal:
        """If the coordinator has prepared to commit or abort a transaction, the coordinator
        eventually completes the transaction.
        """
        return leads_to(s.metadata.state == PREPARE, s.metadata.state != PREPARE)

    @liveness
    def open_transactions_close(s, p: TopicPartition, o: Offset) -> Temporal:
        """For every transaction that is open in a partition, the partition eventually appends a
        marker that closes the transaction.
        """
        return leads_to(s.is_open(p, o), ~s.is_open(p, o))

    # ---- witnesses

    @witness
    def a_commit_is_read(s) -> Bool:
        """Reachable: a read_committed consumer receives a record."""
        return exists(s.is_read_committed(p, o) for p in TopicPartition for o in Offset)

    @witness
    def an_aborted_record_is_passed_over(s) -> Bool:
        """Reachable: below the last stable offset, read_uncommitted consumers receive a record that
        read_committed consumers do not receive.
        """
        return exists(
            all_of(
                o < s.last_stable_offset(p),
                s.is_read_uncommitted(p, o),
                ~s.is_read_committed(p, o),
            )
            for p in TopicPartition
            for o in Offset
        )

    @witness
    def epochs_ran_out(s) -> Bool:
        """Reachable: the epochs of a producer id ran out, and the producer continues with another
        producer id.
        """
        return s.metadata.previous_id != s.metadata.producer_id

    @witness
    def an_open_transaction_is_behind_the_decision(s) -> Bool:
        """Reachable: the coordinator has decided to commit or abort a transaction, but a partition
        of the transaction has not appended its marker yet.
        """
        return exists(
            s.is_open(p, o) & (s.metadata.state == PREPARE) for p in TopicPartition for o in Offset
        )

    @witness
    def a_client_commits_again(s) -> Bool:
        """Reachable: a client has committed two transactions, and it knows that both commits
        succeeded.
        """
        return exists(
            all_of(
                j < k,
                s.owner[j] == i,
                s.owner[k] == i,
                s.end_confirmed[j] & (s.requested[j] == COMMIT),
                s.end_confirmed[k] & (s.requested[k] == COMMIT),
            )
            for i in Instance
            for j in Transaction
            for k in Transaction
        )
