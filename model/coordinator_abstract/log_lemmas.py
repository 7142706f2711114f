"""The lemmas about the coordinator's log: about the last committed record, and about the append
that follows this record.

The coordinator derives an append from the last committed record of a transactional id. Until the
append is committed or lost, nothing else is committed for this transactional id. So a relation
between the two records stays true in the meantime. The lemma `an_empty_record_follows` and the
three lemmas after it state such relations.
"""

from __future__ import annotations

from model.coordinator_abstract.actions import AbstractCoordinatorActions
from model.coordinator_abstract.state import (
    Instance,
    Metadata,
    ProducerEpoch,
    TopicPartition,
    Transaction,
    TransactionalId,
)
from model.language import Bool, all_of, forall, iff, implies, lemma


class CoordinatorLogLemmas(AbstractCoordinatorActions):
    # ---- one record, committed or not

    @lemma
    def a_record_has_one_state(s) -> Bool:
        """A record has at most one of the states Ongoing, Prepare and Complete.

        A record that lists partitions is in the state Ongoing or Prepare.
        """
        return forall(
            s.has_one_state(s.log[i]) & implies(s.is_appending[i], s.has_one_state(s.appended[i]))
            for i in TransactionalId
        )

    def has_one_state(s, m: Metadata) -> Bool:
        return all_of(
            ~(m.is_ongoing & s.has_decision(m)),
            ~(m.is_prepared & m.is_complete),
            implies(m.is_ongoing | s.has_decision(m), m.is_known),
            forall(implies(m.partitions[t], m.is_ongoing | m.is_prepared) for t in TopicPartition),
        )

    @lemma
    def a_record_has_a_begun_transaction(s) -> Bool:
        """A record in the state Ongoing has the producer id and epoch with which its transaction
        began.

        A record in the state Prepare or Complete has this producer id and epoch as `last_id` and
        `last_epoch`: they are the values from before the commit or abort. The lemma is true because
        the coordinator compares the producer id and epoch of each request with the log.
        """
        return forall(
            s.has_begun(i, s.log[i]) & implies(s.is_appending[i], s.has_begun(i, s.appended[i]))
            for i in TransactionalId
        )

    def has_begun(s, i: TransactionalId, m: Metadata) -> Bool:
        x = m.transaction
        return all_of(
            implies(
                m.is_ongoing | s.has_decision(m),
                s.begun[x] & (s.stamp[x].transactional_id == i),
            ),
            implies(
                m.is_ongoing,
                all_of(
                    m.producer_id == s.stamp[x].producer_id,
                    m.producer_epoch == s.stamp[x].producer_epoch,
                ),
            ),
            implies(s.has_decision(m), s.is_sound_decision(m)),
        )

    def is_sound_decision(s, m: Metadata) -> Bool:
        return all_of(
            s.is_decided_under(m, m.transaction),
            m.last_epoch < m.marker_epoch,
            implies(m.commits, s.commit_requested[m.transaction]),
            implies(m.producer_id == m.last_id, m.marker_epoch <= m.producer_epoch),
        )

    @lemma
    def the_log_has_the_decision(s) -> Bool:
        """The log agrees with the variables `committed`, `aborted` and `marker_epoch` about each
        transaction in the log.

        A transaction that is ongoing in the log is neither committed nor aborted. If the log
        commits or aborts a transaction, `committed` and `marker_epoch` have the record's outcome
        and marker epoch. The lemma is true because one step commits the record and sets these
        variables.
        """
        return forall(
            all_of(
                implies(s.log[i].is_ongoing, ~s.decided(s.log[i].transaction)),
                implies(
                    s.has_decision(s.log[i]),
                    all_of(
                        s.decided(s.log[i].transaction),
                        iff(s.committed[s.log[i].transaction], s.log[i].commits),
                        s.marker_epoch[s.log[i].transaction] == s.log[i].marker_epoch,
                    ),
                ),
            )
            for i in TransactionalId
        )

    @lemma
    def the_partitions_of_the_log_are_added(s) -> Bool:
        """Each partition in a committed record of the log was added to the record's transaction."""
        return forall(
            implies(s.log[i].partitions[t], s.added[s.log[i].transaction][t])
            for i in TransactionalId
            for t in TopicPartition
        )

    # ---- an append that is not committed

    def keeps_stamp(s, m: Metadata, n: Metadata) -> Bool:
        return (n.producer_id == m.producer_id) & (n.producer_epoch == m.producer_epoch)

    def has_unused_stamp(s, m: Metadata, n: Metadata) -> Bool:
        """Returns True if the record `n` has the producer id of `m` with a larger epoch, or an
        unused producer id.

        A producer id is unused if `m` does not have it, and no instance, transaction or partition
        has it.
        """
        p = n.producer_id
        unused = all_of(
            implies(m.is_known, p != m.producer_id),
            forall(implies(s.is_ready[c], s.held[c].producer_id != p) for c in Instance),
            forall(implies(s.begun[x], s.stamp[x].producer_id != p) for x in Transaction),
            forall(s.seen_epoch[t][p] == ProducerEpoch.least() for t in TopicPartition),
        )
        larger = all_of(m.is_known, p == m.producer_id, m.producer_epoch < n.producer_epoch)
        return larger | unused

    @lemma
    def an_empty_record_follows(s) -> Bool:
        """If the coordinator appends a record without a transaction, the last committed record has
        no open transaction.

        The appended record is a tombstone, or it has a producer id and epoch that no instance has
        yet.
        """
        return forall(
            implies(
                all_of(
                    s.is_appending[i], ~s.appended[i].is_ongoing, ~s.has_decision(s.appended[i])
                ),
                all_of(
                    ~s.log[i].is_ongoing,
                    ~s.log[i].is_prepared,
                    implies(s.appended[i].is_known, s.has_unused_stamp(s.log[i], s.appended[i])),
                ),
            )
            for i in TransactionalId
        )

    @lemma
    def an_ongoing_record_follows(s) -> Bool:
        """A record that adds a partition to a transaction has the producer id and epoch of the
        previous record (`continues_the_record`).

        If a transaction is ongoing in the previous record, the new record has this transaction and
        all its partitions.
        """
        return forall(
            implies(
                s.is_appending[i] & s.appended[i].is_ongoing,
                all_of(s.log[i].is_known, ~s.log[i].is_prepared, s.continues_the_record(i)),
            )
            for i in TransactionalId
        )

    def continues_the_record(s, i: TransactionalId) -> Bool:
        """Returns True if the appended record of an ongoing transaction has the producer id, the
        epoch, the transaction and the partitions of the last committed record.
        """
        return s.keeps_stamp(s.log[i], s.appended[i]) & s.keeps_the_partitions(i)

    def keeps_the_partitions(s, i: TransactionalId) -> Bool:
        """Returns True if the appended record has all partitions of the last committed record.
        Also, if the last committed record has an ongoing transaction, the appended record must have
        the same transaction.
        """
        return all_of(
            implies(s.log[i].is_ongoing, s.has_the_transaction(i)),
            forall(s.appended[i].partitions[t] for t in s.log[i].partitions),
        )

    def has_the_transaction(s, i: TransactionalId) -> Bool:
        return s.appended[i].transaction == s.log[i].transaction

    @lemma
    def a_decision_follows(s) -> Bool:
        """If a transaction is ongoing in the log, an appended record that prepares a commit or
        abort belongs to this transaction.

        In any case, the record lists the partitions of the last committed record, and has a
        producer id and epoch that no instance has. If no transaction is ongoing in the log, the
        record is an abort without partitions.
        """
        return forall(
            implies(
                s.is_appending[i] & s.appended[i].is_prepared,
                all_of(
                    s.log[i].is_known,
                    ~s.log[i].is_prepared,
                    s.has_unused_stamp(s.log[i], s.appended[i]),
                    s.appended[i].last_id == s.log[i].producer_id,
                    s.appended[i].last_epoch == s.log[i].producer_epoch,
                    s.has_the_marker_epoch(i),
                    implies(s.log[i].is_ongoing, s.has_the_transaction(i)),
                    implies(s.appended[i].commits, s.log[i].is_ongoing),
                    forall(
                        iff(s.appended[i].partitions[t], s.log[i].partitions[t])
                        for t in TopicPartition
                    ),
                ),
            )
            for i in TransactionalId
        )

    def has_the_marker_epoch(s, i: TransactionalId) -> Bool:
        """Returns True if the record that the coordinator appends has the epoch of its markers as
        its producer epoch. Also returns True if this record has another producer id than the last
        committed record. The appended record is a commit or an abort.
        """
        return implies(
            s.appended[i].producer_id == s.log[i].producer_id,
            s.appended[i].producer_epoch == s.appended[i].marker_epoch,
        )

    @lemma
    def a_completion_follows(s) -> Bool:
        """A record that completes a transaction has the same result, commit or abort, as the
        prepare record in the log. Each partition of the transaction has the marker.
        """
        return forall(
            implies(
                s.is_appending[i] & s.appended[i].is_complete,
                all_of(
                    s.log[i].is_prepared,
                    s.keeps_stamp(s.log[i], s.appended[i]),
                    s.has_the_transaction(i),
                    iff(s.appended[i].commits, s.log[i].commits),
                    s.appended[i].last_id == s.log[i].last_id,
                    s.appended[i].last_epoch == s.log[i].last_epoch,
                    s.appended[i].marker_epoch == s.log[i].marker_epoch,
                    forall(s.marked[s.log[i].transaction][t] for t in s.log[i].partitions),
                ),
            )
            for i in TransactionalId
        )

    @lemma
    def a_response_waits_for_an_append(s) -> Bool:
        """If an InitProducerId request waits for its response, the coordinator has appended a
        record for the request, and the record is not committed yet.

        The lemma stays true in a failover, which removes the waiting request together with the
        append.
        """
        return forall(
            implies(
                s.answering[i] == c,
                all_of(
                    s.is_appending[i],
                    s.appended[i].is_known,
                    s.may_answer(s.appended[i]),
                    ~s.has_decision(s.appended[i]),
                ),
            )
            for i in TransactionalId
            for c in Instance
        )

    def may_answer(s, m: Metadata) -> Bool:
        """Returns True if the record `m` has no ongoing transaction. The coordinator appends only
        such records for InitProducerId requests.
        """
        return ~m.is_ongoing
