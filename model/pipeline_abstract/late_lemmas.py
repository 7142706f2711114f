"""Lemmas of the version `with-late-requests`: producer epochs distinguish transactions.

An epoch *has ended* if the transaction with this epoch is committed or aborted. Its markers have a
larger epoch, which only the same client receives as its next epoch. The output and the group
coordinator have seen this larger epoch before the coordinator completes the transaction. So they
refuse all late requests and late markers.
"""

from __future__ import annotations

from model.language import Bool, all_of, any_of, forall, iff, implies, lemma
from model.pipeline_abstract.late_actions import LateRequestsActions
from model.pipeline_abstract.late_state import ProducerEpoch
from model.pipeline_abstract.state import Instance, Offset, TopicPartition, TransactionalId


class EpochLemmas(LateRequestsActions):
    # ---- the coordinator

    @lemma
    def one_transaction(s) -> Bool:
        """If the latest transaction of a transactional id is ongoing, it has the newest epoch, and
        is neither committed nor aborted. If it is committed or aborted, its markers have the newest
        epoch.
        """
        return forall(
            all_of(
                ~(s.ongoing[x] & s.is_decided(x)),
                implies(s.ongoing[x], s.transaction_epoch[x] == s.newest_epoch[x]),
                implies(
                    s.is_decided(x),
                    s.marker_epoch[x][s.transaction_epoch[x]] == s.newest_epoch[x],
                ),
                implies(s.committed[x], s.committed_at[x][s.transaction_epoch[x]]),
                implies(s.aborted[x], s.aborted_at[x][s.transaction_epoch[x]]),
            )
            for x in TransactionalId
        )

    @lemma
    def ends_raise_the_epoch(s) -> Bool:
        """The markers of a transaction have a larger epoch than its requests. No epoch of a
        transactional id is larger than the newest epoch.

        A transaction is committed only if its client has requested this.
        """
        return forall(
            all_of(
                implies(
                    s.has_ended(x, e),
                    all_of(e < s.marker_epoch[x][e], s.marker_epoch[x][e] <= s.newest_epoch[x]),
                ),
                ~(s.committed_at[x][e] & s.aborted_at[x][e]),
                implies(s.committed_at[x][e], s.commit_requested[x][e]),
            )
            for x in TransactionalId
            for e in ProducerEpoch
        )

    @lemma
    def one_after_another(s) -> Bool:
        """If two transactions of a transactional id have ended, the later one has at least the
        epoch of the earlier one's markers.
        """
        return forall(
            implies(
                all_of(s.has_ended(x, e), s.has_ended(x, f), e != f),
                (s.marker_epoch[x][e] <= f) | (s.marker_epoch[x][f] <= e),
            )
            for x in TransactionalId
            for e in ProducerEpoch
            for f in ProducerEpoch
        )

    # ---- requests

    @lemma
    def no_request_is_newer(s) -> Bool:
        """No instance and no request has an epoch larger than the newest epoch of its transactional
        id. Only requests that were sent have arrived.
        """
        return all_of(
            forall(
                implies(s.uses[i] == x, s.held_epoch[i] <= s.newest_epoch[x])
                for i in Instance
                for x in TransactionalId
            ),
            forall(
                implies(s.has_requested_end(x, e), e <= s.newest_epoch[x])
                for x in TransactionalId
                for e in ProducerEpoch
            ),
            forall(
                all_of(
                    implies(s.sent[x][e][p][o], e <= s.newest_epoch[x]),
                    implies(s.appended[x][e][p][o], s.sent[x][e][p][o]),
                )
                for x in TransactionalId
                for e in ProducerEpoch
                for p in TopicPartition
                for o in Offset
            ),
            forall(
                all_of(
                    implies(s.offset_sent[x][e][p], e <= s.newest_epoch[x]),
                    implies(s.accepted[x][e][p], s.offset_sent[x][e][p]),
                )
                for x in TransactionalId
                for e in ProducerEpoch
                for p in TopicPartition
            ),
        )

    @lemma
    def commits_are_acknowledged(s) -> Bool:
        """If a client has requested to commit the transaction with an epoch, all its requests with
        this epoch have arrived.

        The client has also sent an offset for each partition whose inputs it has processed in the
        transaction, and has not requested to abort the transaction.
        """
        return all_of(
            forall(
                ~(s.commit_requested[x][e] & s.abort_requested[x][e])
                for x in TransactionalId
                for e in ProducerEpoch
            ),
            forall(
                implies(
                    s.commit_requested[x][e] & s.sent[x][e][p][o],
                    s.appended[x][e][p][o] & s.offset_sent[x][e][p],
                )
                for x in TransactionalId
                for e in ProducerEpoch
                for p in TopicPartition
                for o in Offset
            ),
            forall(
                implies(s.commit_requested[x][e] & s.offset_sent[x][e][p], s.accepted[x][e][p])
                for x in TransactionalId
                for e in ProducerEpoch
                for p in TopicPartition
            ),
        )

    @lemma
    def nothing_is_sent_twice(s) -> Bool:
        """No client processes an input twice with one epoch."""
        return forall(
            ~s.resent[x][e][p][o]
            for x in TransactionalId
            for e in ProducerEpoch
            for p in TopicPartition
            for o in Offset
        )

    # ---- the holder of an epoch

    @lemma
    def one_instance_has_an_epoch(s) -> Bool:
        """No two instances have the same transactional id and epoch."""
        return forall(
            implies(
                (s.uses[i] == x) & s.holds(j, x, s.held_epoch[i]),
                i == j,
            )
            for i in Instance
            for j in Instance
            for x in TransactionalId
        )

    @lemma
    def the_next_epoch_is_unused(s) -> Bool:
        """Until a client receives the response to EndTxn, no instance, request or transaction has
        the client's next epoch.
        """
        return forall(
            implies(
                all_of(s.holds(i, x, e), s.has_ended(x, e)),
                s.is_unused(x, s.marker_epoch[x][e]),
            )
            for i in Instance
            for x in TransactionalId
            for e in ProducerEpoch
        )

    def is_unused(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        return all_of(
            ~s.has_sent(x, e),
            ~s.has_requested_end(x, e),
            ~s.has_ended(x, e),
            ~(s.ongoing[x] & (s.transaction_epoch[x] == e)),
            forall(~s.holds(j, x, e) for j in Instance),
        )

    # ---- partitions

    @lemma
    def markers_are_seen(s) -> Bool:
        """The output has seen the epoch of the markers of each ended transaction, unless it still
        awaits such a marker. The same is true of the group coordinator.
        """
        return forall(
            implies(
                s.has_ended(x, e),
                all_of(
                    any_of(
                        s.is_awaited(x, e) & ~s.output_marked[x],
                        s.marker_epoch[x][e] <= s.output_epoch[x],
                    ),
                    any_of(
                        s.is_awaited(x, e) & ~s.offsets_marked[x],
                        s.marker_epoch[x][e] <= s.offsets_epoch[x],
                    ),
                ),
            )
            for x in TransactionalId
            for e in ProducerEpoch
        )

    @lemma
    def arrived_requests_are_of_a_transaction(s) -> Bool:
        """A request has arrived only if its epoch is that of an ongoing or ended transaction."""
        return all_of(
            forall(
                implies(s.appended[x][e][p][o], s.has_begun(x, e))
                for x in TransactionalId
                for e in ProducerEpoch
                for p in TopicPartition
                for o in Offset
            ),
            forall(
                implies(s.accepted[x][e][p], s.has_begun(x, e))
                for x in TransactionalId
                for e in ProducerEpoch
                for p in TopicPartition
            ),
        )

    def has_begun(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        return s.has_ended(x, e) | (s.ongoing[x] & (s.transaction_epoch[x] == e))

    @lemma
    def content_is_of_the_latest_transaction(s) -> Bool:
        """A record or an offset awaits a marker if and only if two conditions hold. It arrived with
        the epoch of the latest transaction, and the marker of this transaction is not written yet.
        """
        return all_of(
            forall(
                iff(s.written[x][p][o], s.awaits_output_marker(x, p, o))
                for x in TransactionalId
                for p in TopicPartition
                for o in Offset
            ),
            forall(
                all_of(
                    iff(s.pending[x][p], s.awaits_offset_marker(x, p)),
                    implies(
                        s.pending[x][p],
                        s.pending_offset[x][p] == s.sent_offset[x][s.transaction_epoch[x]][p],
                    ),
                )
                for x in TransactionalId
                for p in TopicPartition
            ),
        )

    def awaits_output_marker(s, x: TransactionalId, p: TopicPartition, o: Offset) -> Bool:
        return all_of(
            s.has_transaction(x),
            ~s.output_marked[x],
            s.appended[x][s.transaction_epoch[x]][p][o],
        )

    def awaits_offset_marker(s, x: TransactionalId, p: TopicPartition) -> Bool:
        return all_of(
            s.has_transaction(x),
            ~s.offsets_marked[x],
            s.accepted[x][s.transaction_epoch[x]][p],
        )
