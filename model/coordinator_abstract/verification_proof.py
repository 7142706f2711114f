"""The lemmas about transaction version 1 with verification.

The proof argues as follows. While a partition has a verified or a pending record, the coordinator's
log has an open transaction with the record's producer id and epoch and with this partition. The
partition does not have the marker of this transaction yet. The marker commits or aborts the pending
record, and removes the VerificationGuard. The transaction completes only after the marker. This
argument does not depend on the order of requests.

The claims about single transactions need another argument. An instance begins a transaction only
after the response to the end of its previous transaction. So at most one transaction of an instance
is open. A late request or a late marker can break this rule. So these claims and their lemmas hold
only until `disordered` is true (a late request took effect, or a late marker ended records).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from model.coordinator_abstract.state import (
    Instance,
    Metadata,
    TopicPartition,
    Transaction,
    TransactionalId,
)
from model.coordinator_abstract.verification import VerificationActions
from model.language import (
    Bool,
    all_of,
    any_of,
    forall,
    iff,
    implies,
    lemma,
)


class VerificationLemmas(VerificationActions):
    """The lemmas of the spec's version `kip-890-part-1`. Some of them, or parts of them, hold only
    while requests and markers arrive in order.
    """

    consequences: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    # ---- the log

    def is_sound_decision(s, m: Metadata) -> Bool:
        return all_of(
            s.is_decided_under(m, m.transaction),
            m.producer_id == m.last_id,
            m.producer_epoch == m.marker_epoch,
            m.last_epoch <= m.marker_epoch,
            implies(m.commits & ~s.disordered, s.commit_requested[m.transaction]),
        )

    @lemma
    def the_log_has_the_decision(s) -> Bool:
        """If the last committed record of a transactional id commits or aborts a transaction, the
        transaction is in `committed` or `aborted`, and its markers have the marker epoch of this
        record.

        While requests and markers arrive in order (`disordered` is false), two more facts hold. The
        transaction is in `committed` if and only if the record commits. A transaction that is
        ongoing in the log is in neither set.

        A transaction that is ongoing in the log has no markers, even if requests and markers arrive
        out of order.
        """
        return forall(
            all_of(
                implies(
                    s.log[i].is_ongoing,
                    all_of(
                        s.disordered | ~s.decided(s.log[i].transaction),
                        forall(~s.marked[s.log[i].transaction][t] for t in TopicPartition),
                    ),
                ),
                implies(
                    s.has_decision(s.log[i]),
                    all_of(
                        s.decided(s.log[i].transaction),
                        s.marker_epoch[s.log[i].transaction] == s.log[i].marker_epoch,
                        any_of(
                            s.disordered,
                            iff(s.committed[s.log[i].transaction], s.log[i].commits),
                        ),
                    ),
                ),
            )
            for i in TransactionalId
        )

    @lemma
    def an_ongoing_record_follows(s) -> Bool:
        """If the coordinator appends a record with an ongoing transaction, the record has the
        producer id, the epoch and all partitions of the last committed record.

        While requests and markers arrive in order (`disordered` is false), the transaction of the
        appended record is neither committed nor aborted. If the last committed record has an
        ongoing transaction, the appended record has the same transaction.
        """
        return forall(
            implies(
                s.is_appending[i] & s.appended[i].is_ongoing,
                all_of(
                    s.log[i].is_known,
                    ~s.log[i].is_prepared,
                    s.keeps_stamp(s.log[i], s.appended[i]),
                    forall(s.appended[i].partitions[t] for t in s.log[i].partitions),
                    any_of(
                        s.disordered,
                        all_of(
                            ~s.decided(s.appended[i].transaction),
                            implies(s.log[i].is_ongoing, s.has_the_transaction(i)),
                        ),
                    ),
                ),
            )
            for i in TransactionalId
        )

    @lemma
    def a_decision_follows(s) -> Bool:
        """While the coordinator appends a record that prepares a commit or abort, the record's
        transaction is ongoing in the log.

        The record lists the partitions of this transaction, and has the producer id of the last
        committed record.
        """
        return forall(
            implies(
                s.is_appending[i] & s.appended[i].is_prepared,
                all_of(
                    s.log[i].is_ongoing,
                    s.has_the_transaction(i),
                    s.appended[i].producer_id == s.log[i].producer_id,
                    s.appended[i].last_epoch == s.log[i].producer_epoch,
                    forall(
                        iff(s.appended[i].partitions[t], s.log[i].partitions[t])
                        for t in TopicPartition
                    ),
                ),
            )
            for i in TransactionalId
        )

    # ---- stamps

    @lemma
    def the_log_has_no_last_epoch(s) -> Bool:
        """Each transaction has an epoch below the largest possible epoch. Each record of the log
        that is not a commit or abort has such an epoch, too.

        Only a fence (an abort by the coordinator) may use the largest epoch.
        """
        return all_of(
            forall(
                all_of(
                    implies(
                        s.log[i].is_known & ~s.has_decision(s.log[i]),
                        s.log[i].producer_epoch < s.last_epoch,
                    ),
                    implies(
                        all_of(
                            s.is_appending[i],
                            s.appended[i].is_known,
                            ~s.has_decision(s.appended[i]),
                        ),
                        s.appended[i].producer_epoch < s.last_epoch,
                    ),
                )
                for i in TransactionalId
            ),
            forall(
                implies(s.begun[x], s.stamp[x].producer_epoch < s.last_epoch) for x in Transaction
            ),
        )

    @lemma
    def a_stamp_has_one_transaction(s) -> Bool:
        """Transactions with the same producer id and epoch have the same client. At most one of
        them has no response to its commit or abort yet.
        """
        return forall(
            implies(
                s.begun[x] & s.has_stamp(y, s.stamp[x].producer_id, s.stamp[x].producer_epoch),
                (s.client[x] == s.client[y]) & any_of(x == y, s.confirmed[x], s.confirmed[y]),
            )
            for x in Transaction
            for y in Transaction
        )

    # ---- decisions

    @lemma
    def requests_are_of_begun_transactions(s) -> Bool:
        """A client requests the commit or the abort of a begun transaction with partitions, but
        never both.

        A client receives a response only after its request. While requests and markers arrive in
        order (`disordered` is false), a transaction whose client has the response is committed or
        aborted.
        """
        return forall(
            all_of(
                ~(s.commit_requested[x] & s.abort_requested[x]),
                implies(
                    s.commit_requested[x] | s.abort_requested[x], s.begun[x] & s.has_partitions(x)
                ),
                implies(s.confirmed[x], s.commit_requested[x] | s.abort_requested[x]),
                implies(s.confirmed[x], s.decided(x) | s.disordered),
            )
            for x in Transaction
        )

    @lemma
    def an_acknowledged_commit_is_decided(s) -> Bool:
        """While requests and markers arrive in order (`disordered` is false), a transaction is
        committed if its client has the response to the commit.
        """
        return s.disordered | forall(
            implies(s.confirmed[x] & s.commit_requested[x], s.committed[x]) for x in Transaction
        )

    @lemma
    def a_decision_raises_the_epoch(s) -> Bool:
        """The markers of a transaction have the epoch of the transaction's records, or a larger
        epoch.

        While the log has the transaction's producer id, the epoch in the log is at least the epoch
        of the markers.
        """
        return forall(
            implies(
                s.decided(x),
                all_of(
                    s.begun[x],
                    s.stamp[x].producer_epoch <= s.marker_epoch[x],
                    implies(
                        s.metadata_of(x).is_known
                        & (s.metadata_of(x).producer_id == s.stamp[x].producer_id),
                        s.marker_epoch[x] <= s.metadata_of(x).producer_epoch,
                    ),
                ),
            )
            for x in Transaction
        )

    @lemma
    def no_transaction_is_between(s) -> Bool:
        """While the last committed record of a transactional id is a commit or abort, no
        transaction with the producer id `last_id` has an epoch above `last_epoch`.

        The fields `last_id` and `last_epoch` are the producer id and epoch that the log had before
        this commit or abort.
        """
        return forall(
            implies(
                all_of(
                    s.has_decision(s.log[i]),
                    s.begun[y],
                    s.stamp[y].producer_id == s.log[i].last_id,
                ),
                s.stamp[y].producer_epoch <= s.log[i].last_epoch,
            )
            for i in TransactionalId
            for y in Transaction
        )

    @lemma
    def no_instance_is_between(s) -> Bool:
        """While the log's record is a commit or abort, no instance with the producer id `last_id`
        has an epoch above `last_epoch`.

        The fields `last_id` and `last_epoch` are the producer id and epoch that the log had before
        this commit or abort.
        """
        return forall(
            implies(
                all_of(
                    s.has_decision(s.log[i]),
                    s.is_ready[c],
                    s.held[c].producer_id == s.log[i].last_id,
                ),
                s.held[c].producer_epoch <= s.log[i].last_epoch,
            )
            for i in TransactionalId
            for c in Instance
        )

    @lemma
    def the_last_decision_is_unconfirmed(s) -> Bool:
        """While requests and markers arrive in order (`disordered` is false), a commit or abort to
        which the client has no response yet is the log's newest record.

        The lemma is only about a transaction whose producer id and epoch are those of the log's
        newest record for its transactional id.
        """
        return s.disordered | forall(
            implies(
                all_of(s.begun[x], s.decided(x), ~s.confirmed[x], s.is_current(x)),
                s.has_decision(s.metadata_of(x)) & (s.metadata_of(x).transaction == x),
            )
            for x in Transaction
        )

    # ---- partitions

    @lemma
    def an_added_partition_is_in_the_log_or_marked(s) -> Bool:
        """A partition is added only to a transaction that has begun.

        While requests and markers arrive in order (`disordered` is false), such a transaction is in
        one of three cases. The log has the transaction as ongoing. Or the transaction is committed
        or aborted. Or the log has a newer producer id or epoch than the transaction.
        """
        return forall(
            implies(
                s.added[x][t],
                all_of(
                    s.begun[x],
                    any_of(
                        s.disordered,
                        s.decided(x),
                        ~s.is_current(x),
                        s.metadata_of(x).is_ongoing & (s.metadata_of(x).transaction == x),
                    ),
                ),
            )
            for x in Transaction
            for t in TopicPartition
        )

    def is_covered(s, x: Transaction, t: TopicPartition) -> Bool:
        """Returns True if the log has an open transaction with the partition `t` and with the
        producer id and epoch of `x`, and `t` does not have the marker of this open transaction.
        """
        m = s.metadata_of(x)
        return all_of(
            m.partitions[t],
            (m.is_ongoing & s.is_current(x)) | (m.is_prepared & s.is_decided_under(m, x)),
            ~s.marked[m.transaction][t],
        )

    @lemma
    def a_verified_request_is_covered(s) -> Bool:
        """If a record is verified, the log has an open transaction with the record's producer id
        and epoch and with the partition.

        Also, the partition does not have the marker of this transaction yet. A record is verified
        if the coordinator has confirmed its transaction, and the leader still has the
        VerificationGuard of this verification.
        """
        return forall(
            implies(s.guarded[x][t] | s.vouched[x][t], s.begun[x])
            & implies(s.guarded[x][t] & s.vouched[x][t], s.is_covered(x, t))
            for x in Transaction
            for t in TopicPartition
        )

    @lemma
    def pending_records_are_of_the_newest_epoch(s) -> Bool:
        """A partition with pending records has seen no larger epoch of their producer id.

        While requests and markers arrive in order (`disordered` is false), pending records belong
        to the newest transaction in the log. This second part leaves out a partition on which a
        record of the transaction was late.
        """
        return forall(
            implies(
                s.pending[x][t],
                all_of(
                    s.begun[x],
                    s.seen_epoch[t][s.stamp[x].producer_id] == s.stamp[x].producer_epoch,
                    any_of(s.disordered, s.late[x][t], s.metadata_of(x).transaction == x),
                ),
            )
            for x in Transaction
            for t in TopicPartition
        )

    @lemma
    def a_marked_partition_has_seen_the_marker(s) -> Bool:
        """If a partition has a transaction's marker, the coordinator has committed or aborted the
        transaction.
        """
        return forall(
            implies(s.marked[x][t], s.decided(x)) for x in Transaction for t in TopicPartition
        )
