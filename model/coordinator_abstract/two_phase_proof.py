"""The lemmas about two-phase commit (KIP-939).

A new instance *keeps* the ongoing transaction of an older instance: it sends InitProducerId with
keepPreparedTxn. The log then has the new instance's producer id and epoch, which are newer than the
producer id and epoch of the transaction. The log also reserves an epoch for the markers.

As in the spec's version `kip-1228`, epochs alone distinguish transactions. No transaction begins
with the producer id and epoch of the new instance, because this instance must first end the kept
transaction. So no transaction has an epoch between the epoch of the kept transaction's records and
the epoch of its markers. The epoch of the new instance is not below the epoch of the markers.
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

    def continues_the_record(s, i: TransactionalId) -> Bool:
        """Returns True if the appended record of an ongoing transaction has the transaction and the
        partitions of the last committed record.

        There are two cases. If the appended record keeps the transaction for a new instance, it has
        another producer id or epoch (`keeps_the_transaction`). Otherwise, it has the producer id
        and epoch of the last committed record.
        """
        m, n = s.log[i], s.appended[i]
        return s.keeps_the_partitions(i) & ite(
            s.is_kept(n),
            m.is_ongoing & s.keeps_the_transaction(i),
            ~s.is_kept(m) & s.keeps_stamp(m, n),
        )

    def keeps_the_transaction(s, i: TransactionalId) -> Bool:
        """Returns True if the appended record may keep the transaction of the last committed record
        for a new instance.

        The appended record must have an unused producer id or epoch, and the same partitions as the
        last committed record. If the last committed record reserves an epoch for the markers, the
        appended record must reserve the same epoch.
        """
        m, n = s.log[i], s.appended[i]
        return all_of(
            s.has_unused_stamp(m, n),
            forall(iff(n.partitions[t], m.partitions[t]) for t in TopicPartition),
            implies(s.is_kept(m), n.marker_epoch == m.marker_epoch),
        )

    def has_the_marker_epoch(s, i: TransactionalId) -> Bool:
        """Returns True if the markers of the appended commit or abort have the right epoch.

        If a new instance keeps the transaction, the right epoch is the epoch that the log reserves
        for the markers. Otherwise, it is the producer epoch of the appended record. Without a kept
        transaction, any epoch is right if the appended record has another producer id than the last
        committed record.

        Also, the fields `last_id` and `last_epoch` must be the producer id and epoch of the
        transaction's records if and only if no new instance keeps the transaction.
        """
        m, n = s.log[i], s.appended[i]
        return all_of(
            iff(s.is_ended_for_another(n), s.is_kept(m)),
            ite(
                s.is_kept(m),
                n.marker_epoch == m.marker_epoch,
                super().has_the_marker_epoch(i),
            ),
        )

    def may_answer(s, m: Metadata) -> Bool:
        """Returns True if the record `m` has no ongoing transaction, or keeps its ongoing
        transaction for a new instance. The coordinator appends only such records for InitProducerId
        requests.
        """
        return super().may_answer(m) | s.is_kept(m)

    # ---- stamps

    @lemma
    def an_instance_that_keeps_has_an_epoch(s) -> Bool:
        """An instance that keeps a transaction (InitProducerId with keepPreparedTxn) has received a
        producer id and epoch.
        """
        return forall(implies(s.is_keeping[c], s.is_ready[c]) for c in Instance)

    @lemma
    def only_the_keeper_has_the_epoch(s) -> Bool:
        """While a transaction is kept (keepPreparedTxn), only the newest instance that keeps it may
        have the log's producer id and epoch. No transaction has them: the kept transaction has an
        older producer id or epoch.

        After the commit or abort of the kept transaction, the lemma holds for the producer id and
        epoch that the log had before the commit or abort (`last_id`, `last_epoch`).
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

    def has_ended(s, m: Metadata, c: Instance) -> Bool:
        """Returns True if the instance `c` may have requested the commit or abort in the record
        `m`, and no other instance may have requested it.

        This instance is the client of the transaction, or the newest instance that has kept the
        transaction for itself.
        """
        x = m.transaction
        return ite(s.is_ended_for_another(m), s.keeper[x] == c, super().has_ended(m, c))

    @lemma
    def no_stamp_is_between_while_kept(s) -> Bool:
        """While a transaction is kept (keepPreparedTxn), no other transaction with the same
        producer id has a larger epoch.

        An instance may have this producer id and a larger epoch only if it keeps the transaction.
        Its epoch is then at least the epoch that the log reserves for the markers.
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

    def is_below_a_later_transaction(s, x: Transaction) -> Bool:
        """Returns True if the markers of `x` have an epoch that is at most the epoch of a later
        transaction's records. Also returns True if the log has no later transaction.

        The later transaction is another transaction than `x`, and its records have the producer id
        of `x`. The last committed record in the log has it as ongoing, prepared or complete.
        """
        m = s.metadata_of(x)
        return implies(
            all_of(
                m.is_ongoing | s.has_decision(m),
                m.transaction != x,
                s.id_in_markers(m) == s.stamp[x].producer_id,
            ),
            s.marker_epoch[x] <= s.stamp[m.transaction].producer_epoch,
        )

    # ---- partitions

    def sees_nothing_above_the_records(s, t: TopicPartition, i: TransactionalId) -> Bool:
        """Returns True if the partition has seen no larger epoch than the epoch of the ongoing
        transaction's records. Only epochs of the producer id of these records count.

        Also returns True if no transaction is ongoing.
        """
        m = s.log[i]
        return implies(
            m.is_ongoing,
            s.seen_epoch[t][s.id_in_markers(m)] <= s.stamp[m.transaction].producer_epoch,
        )
