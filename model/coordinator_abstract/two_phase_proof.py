"""The lemmas about two-phase commit (KIP-939).

A new instance *keeps* the ongoing transaction of an older instance by InitProducerId with
keepPreparedTxn. The log then has the new instance's producer id and epoch, which are newer than
those of the transaction, and reserves an epoch for the markers.

As in the version `kip-1228`, epochs alone distinguish transactions. No transaction begins with the
producer id and epoch of the new instance, because this instance must first end the kept
transaction. So no transaction has an epoch between those of the kept transaction's records and of
its markers, and the epoch of the new instance is not below that of the markers.
"""

from __future__ import annotations

from model.coordinator_abstract.state import (
    Instance,
    Metadata,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    Transaction,
    TransactionalId,
)
from model.coordinator_abstract.two_phase_commit import TwoPhaseActions
from model.language import Bool, all_of, any_of, forall, iff, implies, ite, lemma


class TwoPhaseLemmas(TwoPhaseActions):
    # ---- one record of the log

    def has_begun(s, i: TransactionalId, m: Metadata) -> Bool:
        x = m.transaction
        is_own = ~s.is_kept(m) & ~s.is_ended_for_another(m)
        stamp = s.stamp[x]
        return all_of(
            implies(m.is_ongoing | s.has_decision(m), s.begun[x] & (stamp.transactional_id == i)),
            implies(
                m.is_ongoing & ~s.is_kept(m),
                all_of(
                    m.producer_id == stamp.producer_id,
                    m.producer_epoch == stamp.producer_epoch,
                ),
            ),
            implies(
                s.is_kept(m) | s.has_decision(m),
                all_of(
                    stamp.producer_epoch < m.marker_epoch,
                    implies(m.producer_id == stamp.producer_id, m.marker_epoch <= m.producer_epoch),
                ),
            ),
            implies(~is_own, s.two_phase[i]),
            implies(
                s.is_ended_for_another(m),
                all_of(
                    s.assigned[m.last_id] == i,
                    implies(m.last_id == stamp.producer_id, m.marker_epoch <= m.last_epoch),
                    implies(m.last_id == m.producer_id, m.last_epoch < m.producer_epoch),
                ),
            ),
            implies(
                s.has_decision(m),
                ite(
                    m.commits,
                    ite(s.two_phase[i], s.in_database[x], s.commit_requested[x]),
                    implies(s.two_phase[i], s.abort_requested[x] | s.refused[x]),
                ),
            ),
        )

    # ---- an append that is not committed

    def has_unused_stamp(s, m: Metadata, n: Metadata) -> Bool:
        p = n.producer_id
        unsent = forall(~s.commit_sent[p][e] & ~s.abort_sent[p][e] for e in ProducerEpoch)
        larger = all_of(m.is_known, p == m.producer_id, m.producer_epoch < n.producer_epoch)
        return super().has_unused_stamp(m, n) & (larger | unsent)

    @lemma
    def an_ongoing_record_follows(s) -> Bool:
        """A record that adds a partition has the producer id and epoch of the record before it, and
        all partitions of that record.

        If the record keeps a transaction (keepPreparedTxn), the record has the partitions of this
        transaction, and a producer id or epoch that was not used before. The epoch that the record
        before it reserves for the markers stays reserved.
        """
        return forall(
            implies(
                s.is_appending[i] & s.appended[i].is_ongoing,
                all_of(
                    s.log[i].is_known,
                    ~s.log[i].is_prepared,
                    implies(s.log[i].is_ongoing, s.has_the_transaction(i)),
                    forall(s.appended[i].partitions[t] for t in s.log[i].partitions),
                    ite(
                        s.is_kept(s.appended[i]),
                        s.log[i].is_ongoing & s.keeps_the_transaction(i),
                        all_of(
                            ~s.is_kept(s.log[i]),
                            s.keeps_stamp(s.log[i], s.appended[i]),
                        ),
                    ),
                ),
            )
            for i in TransactionalId
        )

    def keeps_the_transaction(s, i: TransactionalId) -> Bool:
        m, n = s.log[i], s.appended[i]
        return all_of(
            s.has_unused_stamp(m, n),
            forall(iff(n.partitions[t], m.partitions[t]) for t in TopicPartition),
            implies(s.is_kept(m), n.marker_epoch == m.marker_epoch),
        )

    @lemma
    def a_decision_follows(s) -> Bool:
        """A record that prepares a commit or abort names the ongoing transaction of the log.

        The record lists the partitions of this transaction, and has a producer id and epoch that no
        instance has. Without an ongoing transaction, the record is an abort without partitions. The
        markers of a kept transaction have the epoch that the log reserves.
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
                    iff(s.is_ended_for_another(s.appended[i]), s.is_kept(s.log[i])),
                    ite(
                        s.is_kept(s.log[i]),
                        s.appended[i].marker_epoch == s.log[i].marker_epoch,
                        implies(
                            s.appended[i].producer_id == s.log[i].producer_id,
                            s.appended[i].producer_epoch == s.appended[i].marker_epoch,
                        ),
                    ),
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

    @lemma
    def a_response_waits_for_an_append(s) -> Bool:
        """If an InitProducerId request waits for its response, the coordinator has appended a
        record for the request, but the record is not committed yet.

        The record has no ongoing transaction, or the request keeps the ongoing transaction
        (keepPreparedTxn).
        """
        return forall(
            implies(
                s.answering[i] == c,
                all_of(
                    s.is_appending[i],
                    s.appended[i].is_known,
                    ~s.appended[i].is_ongoing | s.is_kept(s.appended[i]),
                    ~s.has_decision(s.appended[i]),
                ),
            )
            for i in TransactionalId
            for c in Instance
        )

    # ---- stamps

    @lemma
    def an_instance_that_keeps_has_an_epoch(s) -> Bool:
        """An instance that keeps a transaction (InitProducerId with keepPreparedTxn) has
        received a producer id and epoch.
        """
        return forall(implies(s.is_keeping[c], s.is_ready[c]) for c in Instance)

    @lemma
    def only_the_keeper_has_the_epoch(s) -> Bool:
        """While a transaction is kept (keepPreparedTxn), only the newest instance that keeps it may
        have the log's producer id and epoch, and no transaction has them.

        After the commit or abort of the kept transaction, the same is true of the producer id and
        epoch that the log had before (`last_id`, `last_epoch`).
        """
        return forall(
            all_of(
                implies(
                    s.is_kept(s.log[i]),
                    s.is_of_the_keeper(i, s.log[i].producer_id, s.log[i].producer_epoch),
                ),
                implies(
                    s.is_ended_for_another(s.log[i]),
                    s.is_of_the_keeper(i, s.log[i].last_id, s.log[i].last_epoch),
                ),
            )
            for i in TransactionalId
        )

    def is_of_the_keeper(s, i: TransactionalId, p: ProducerId, e: ProducerEpoch) -> Bool:
        x = s.log[i].transaction
        return all_of(
            forall(
                implies(
                    s.holds(c, p, e),
                    all_of(s.is_keeping[c], s.keeper[x] == c, s.has_state(x, s.ongoing[c])),
                )
                for c in Instance
            ),
            forall(~s.has_stamp(y, p, e) for y in Transaction),
        )

    @lemma
    def the_next_stamp_is_the_clients(s) -> Bool:
        """If the log's record commits or aborts a transaction, only the instance that requested
        this may have the producer id and epoch of the record.

        This is the client of the transaction, or the newest instance that kept it
        (keepPreparedTxn).
        """
        return forall(
            implies(
                s.has_decision(s.log[i]),
                all_of(
                    forall(
                        implies(
                            s.holds(c, s.log[i].producer_id, s.log[i].producer_epoch),
                            s.has_ended(s.log[i], c),
                        )
                        for c in Instance
                    ),
                    forall(
                        implies(
                            s.has_stamp(y, s.log[i].producer_id, s.log[i].producer_epoch),
                            s.has_ended(s.log[i], s.client[y]),
                        )
                        for y in Transaction
                    ),
                ),
            )
            for i in TransactionalId
        )

    def has_ended(s, m: Metadata, c: Instance) -> Bool:
        x = m.transaction
        return ite(s.is_ended_for_another(m), s.keeper[x] == c, s.client[x] == c)

    @lemma
    def no_stamp_is_between_while_kept(s) -> Bool:
        """While a transaction is kept (keepPreparedTxn), no other transaction with the same
        producer id has a larger epoch.

        An instance with this producer id and a larger epoch keeps a transaction, and its epoch is
        not below the one that the log reserves for the markers.
        """
        return forall(
            implies(
                s.is_kept(s.log[i]),
                all_of(
                    forall(
                        implies(
                            s.begun[y] & (s.stamp[y].producer_id == s.id_in_markers(s.log[i])),
                            s.stamp[y].producer_epoch
                            <= s.stamp[s.log[i].transaction].producer_epoch,
                        )
                        for y in Transaction
                    ),
                    forall(
                        implies(
                            s.is_ready[c] & (s.held[c].producer_id == s.id_in_markers(s.log[i])),
                            any_of(
                                s.held[c].producer_epoch
                                <= s.stamp[s.log[i].transaction].producer_epoch,
                                s.is_keeping[c]
                                & (s.log[i].marker_epoch <= s.held[c].producer_epoch),
                            ),
                        )
                        for c in Instance
                    ),
                ),
            )
            for i in TransactionalId
        )

    # ---- decisions

    @lemma
    def a_decision_raises_the_epoch(s) -> Bool:
        """The markers of a transaction have a larger epoch than its records.

        While the log has the transaction's producer id, the epoch in the log is not below that of
        the markers; nor is that of the records of a later transaction with this producer id.
        """
        return forall(
            implies(
                s.decided(x),
                all_of(
                    s.begun[x],
                    s.stamp[x].producer_epoch < s.marker_epoch[x],
                    implies(
                        s.metadata_of(x).is_known
                        & (s.metadata_of(x).producer_id == s.stamp[x].producer_id),
                        s.marker_epoch[x] <= s.metadata_of(x).producer_epoch,
                    ),
                    implies(
                        all_of(
                            s.metadata_of(x).is_ongoing | s.has_decision(s.metadata_of(x)),
                            s.metadata_of(x).transaction != x,
                            s.id_in_markers(s.metadata_of(x)) == s.stamp[x].producer_id,
                        ),
                        s.marker_epoch[x] <= s.stamp[s.metadata_of(x).transaction].producer_epoch,
                    ),
                ),
            )
            for x in Transaction
        )

    # ---- partitions

    @lemma
    def partitions_see_no_newer_epoch(s) -> Bool:
        """No partition has seen a larger epoch of a producer id than the coordinator's log has.

        For the producer id of the ongoing transaction's records, no partition has seen a larger
        epoch than that of these records. If the log has prepared a commit or abort, no partition
        has seen a larger epoch than the transaction's markers have.
        """
        return forall(
            all_of(
                implies(
                    s.log[i].is_known,
                    s.seen_epoch[t][s.log[i].producer_id] <= s.log[i].producer_epoch,
                ),
                implies(
                    s.log[i].is_ongoing,
                    s.seen_epoch[t][s.id_in_markers(s.log[i])]
                    <= s.stamp[s.log[i].transaction].producer_epoch,
                ),
                implies(
                    s.log[i].is_prepared,
                    s.seen_epoch[t][s.id_in_markers(s.log[i])] <= s.log[i].marker_epoch,
                ),
            )
            for t in TopicPartition
            for i in TransactionalId
        )
