"""The actions of the version `with-late-requests` of the spec `pipeline-abstract`.

A client sends requests, and partitions and the coordinator receive them later. A partition's leader
*verifies* the first request of a transaction: the coordinator then adds the partition to the
transaction, if the request has the newest producer epoch.

The table lists the actions of this version. The first four are in the module `group`, the other
actions of instances in the module `late_clients`. No action is fair, because only safety is proved.

    group        rebalance, assign
    instances    learn_generation, fetch_offset, init_transactions, lose_init_response, process,
                 send_offset, request_commit, request_abort, receive_end
    coordinator  add_to_transaction, commit, abort, complete
    output       append, write_output_marker
    offsets      accept_offset, write_offset_marker

Source: KIP-447; KIP-890 part 2; KIP-1228.
"""

from __future__ import annotations

from model.language import Bool, action, exists, false, true, when
from model.pipeline_abstract.late_clients import LateClients
from model.pipeline_abstract.late_state import ProducerEpoch
from model.pipeline_abstract.state import Offset, TopicPartition, TransactionalId


class LateRequestsActions(LateClients):
    # ---- the coordinator

    @action
    def add_to_transaction(s, x: TransactionalId) -> None:
        """The coordinator opens a transaction, because a partition's leader verifies a request with
        the newest epoch.

        Kafka: AddPartitionsToTxnManager, TransactionCoordinator.handleAddPartitionsToTransaction.
        Simplified: the coordinator adds the output and the offsets in one step.

        Without the guard that no transaction is open, the claim `position_is_exact` breaks in 12
        steps.
        """
        when(~s.has_transaction(x), s.has_sent(x, s.newest_epoch[x]))
        s.ongoing[x] = True
        s.transaction_epoch[x] = s.newest_epoch[x]

    def accepts_end(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        """Returns True if `e` is the newest epoch of `x`. Only then does the coordinator accept an
        EndTxn request with the epoch `e`.

        Without this rule, the claim `position_is_exact` breaks (bug `accepts-late-commits`, 16
        steps).
        """
        return s.newest_epoch[x] == e

    def may_abort(s, x: TransactionalId) -> Bool:
        """Returns True if `x` has an ongoing transaction, so that the coordinator may abort it.

        In the version `with-failover`, the claim `a_decision_survives` breaks without this rule
        (bug `decides-again`, 13 steps).
        """
        return s.ongoing[x]

    def decide(s, x: TransactionalId, commits: Bool, newer: ProducerEpoch) -> None:
        """Commits the latest transaction of `x` if `commits` is true, and aborts it otherwise. The
        epoch of `x` grows to `newer`.
        """
        s.take_effect(x, commits, newer)

    def take_effect(s, x: TransactionalId, commits: Bool, newer: ProducerEpoch) -> None:
        e = s.transaction_epoch[x]
        s.committed_at[x][e] = s.committed_at[x][e] | commits
        s.aborted_at[x][e] = s.aborted_at[x][e] | ~commits
        s.marker_epoch[x][e] = newer
        s.newest_epoch[x] = newer
        s.ongoing[x] = False
        s.committed[x] = commits
        s.aborted[x] = ~commits

    @action
    def commit(s, x: TransactionalId, newer: ProducerEpoch) -> None:
        """The coordinator decides to commit a transaction, because an EndTxn request with the
        transaction's epoch has arrived. The markers and the next transaction have a larger epoch.

        Kafka: TransactionCoordinator.endTransaction.
        Simplified: the coordinator does not consult the group coordinator again, so the commit
        succeeds even after a rebalance.

        Without the guard that an EndTxn request has arrived, the claim `position_is_exact` breaks
        in 7 steps.
        """
        when(
            s.ongoing[x],
            s.may_raise(x, newer),
            exists(s.commit_requested[x][e] & s.accepts_end(x, e) for e in ProducerEpoch),
        )
        s.decide(x, true, newer)

    @action
    def abort(s, x: TransactionalId, newer: ProducerEpoch) -> None:
        """The coordinator aborts a transaction, because of a timeout, a new instance, or the
        client's request.

        Kafka: TransactionCoordinator.endTransaction, handleInitProducerId and
        abortTimedOutTransactions.
        Simplified: the coordinator may abort an ongoing transaction at any time.

        Without the guard that the transaction is ongoing, the lemma `markers_are_seen` breaks in 3
        steps.
        """
        s.check_aborts()
        when(s.may_abort(x), s.may_raise(x, newer))
        s.decide(x, false, newer)

    @action
    def complete(s, x: TransactionalId) -> None:
        """The coordinator completes a transaction after the output and the group coordinator have
        the marker.

        Kafka: TransactionMarkerChannelManager.maybeWriteTxnCompletion.
        Simplified: the coordinator sees the markers in the output and at the group coordinator.
        Without the guard that both have the marker, the claim `position_is_exact` breaks in 12
        steps.
        """
        when(s.is_decided(x), s.output_marked[x] & s.offsets_marked[x])
        s.forget_decision(x)

    # ---- the output

    def is_verified(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        """Returns True if the latest transaction of `x` has the epoch `e`, and is not complete. The
        coordinator has then verified the requests with this epoch.

        A verification is valid until the transaction is complete, even after the commit or abort.
        """
        return s.has_transaction(x) & (s.transaction_epoch[x] == e)

    def is_record_verified(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        """Returns True if the output's leader may append a record with the epoch `e`, because the
        record is verified (`is_verified`).

        Without this rule, the claim `each_input_at_most_once` breaks (bug `skips-verification`, 15
        steps).
        """
        return s.is_verified(x, e)

    @action
    def append(s, x: TransactionalId, e: ProducerEpoch, p: TopicPartition, o: Offset) -> None:
        """The output appends the output record of the input at `o`, unless it has seen a larger
        epoch or has appended this record.

        Kafka: ProducerAppendInfo.checkProducerEpoch and checkSequence; KIP-890.
        Without the guard that the output has not appended this record, the claim
        `each_input_at_most_once` breaks in 12 steps.
        """
        when(
            s.sent[x][e][p][o],
            s.is_record_verified(x, e),
            s.output_epoch[x] <= e,
            ~s.appended[x][e][p][o],
        )
        s.appended[x][e][p][o] = True
        s.output_epoch[x] = e
        s.doubled[x][p][o] = s.doubled[x][p][o] | s.written[x][p][o] | s.resent[x][e][p][o]
        s.written[x][p][o] = True

    def epoch_in_marker(s, x: TransactionalId, e: ProducerEpoch) -> ProducerEpoch:
        """Returns the epoch that the marker of the transaction with the epoch `e` carries.

        If a marker carries the epoch `e` itself, the claim `each_input_at_most_once` breaks (bug
        `keeps-epoch`, 21 steps).
        """
        return s.marker_epoch[x][e]

    def accepts_marker(s, seen: ProducerEpoch, marker: ProducerEpoch) -> Bool:
        """Returns True if `marker` is larger than `seen`. Only then does a partition that has seen
        the epoch `seen` accept a marker with the epoch `marker`.

        If an equal epoch suffices, the claim `position_is_exact` breaks (bug `lax-markers`, 16
        steps).
        """
        return seen < marker

    @action
    def write_output_marker(s, x: TransactionalId, e: ProducerEpoch) -> None:
        """The output writes the marker of the transaction with the epoch `e`. If the marker is a
        COMMIT, a reader receives the producer's output records that await a marker.

        Kafka: WriteTxnMarkers to the output partitions; ProducerAppendInfo.checkProducerEpoch.
        Simplified: the reader receives all output records in one step.

        Without the guard that the marker's epoch is larger, the claim `position_is_exact` breaks in
        16 steps.
        """
        when(s.has_ended(x, e), s.accepts_marker(s.output_epoch[x], s.epoch_in_marker(x, e)))
        s.output_epoch[x] = s.epoch_in_marker(x, e)
        s.output_marked[x] = s.output_marked[x] | s.is_awaited(x, e)
        s.deliver(x, s.committed_at[x][e])

    def is_awaited(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        """Returns True if the coordinator waits for the markers of the transaction with the epoch
        `e`.
        """
        return s.is_decided(x) & (s.transaction_epoch[x] == e)

    # ---- the group coordinator

    def is_offset_verified(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        return s.is_verified(x, e)

    def accepts_offset_epoch(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        """Returns True if the group coordinator has seen no epoch of `x` that is larger than `e`.

        Without this rule and without the epoch check in `is_offset_verified`, the claim
        `position_is_exact` breaks (bug `accepts-late-offsets`, 13 steps).
        """
        return s.offsets_epoch[x] <= e

    def accepts_generation(s, x: TransactionalId, e: ProducerEpoch, p: TopicPartition) -> Bool:
        """Returns True if the TxnOffsetCommit request with the epoch `e` carries the newest
        generation (KIP-447).

        Without this rule, the claim `position_is_exact` breaks (bug `accepts-old-generations`, 22
        steps).
        """
        return s.sent_generation[x][e][p] == s.generation

    @action
    def accept_offset(s, x: TransactionalId, e: ProducerEpoch, p: TopicPartition) -> None:
        """The group coordinator accepts an offset, which is pending until the marker arrives.

        Kafka: GroupCoordinatorService.commitTransactionalOffsets, OffsetMetadataManager.

        Without the guard that the offset was sent, the claim `position_is_exact` breaks in 10
        steps.
        """
        when(
            s.offset_sent[x][e][p],
            s.is_offset_verified(x, e),
            s.accepts_offset_epoch(x, e),
            s.accepts_generation(x, e, p),
        )
        s.accepted[x][e][p] = True
        s.offsets_epoch[x] = e
        s.pending[x][p] = True
        s.pending_offset[x][p] = s.sent_offset[x][e][p]

    @action
    def write_offset_marker(s, x: TransactionalId, e: ProducerEpoch) -> None:
        """The group coordinator receives the marker of the transaction with the epoch `e`, and
        commits or drops the producer's pending offsets.

        Kafka: WriteTxnMarkers to `__consumer_offsets`.
        Simplified: a pending offset replaces the committed offset. Kafka first checks that no later
        offset is committed; in this spec, no later offset can be committed.

        Without the guard that the marker's epoch is larger, the claim `position_is_exact` breaks in
        17 steps.
        """
        when(s.has_ended(x, e), s.accepts_marker(s.offsets_epoch[x], s.epoch_in_marker(x, e)))
        s.offsets_epoch[x] = s.epoch_in_marker(x, e)
        s.offsets_marked[x] = s.offsets_marked[x] | s.is_awaited(x, e)
        s.settle_offsets(x, s.committed_at[x][e])
