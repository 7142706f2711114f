"""A transaction coordinator. It runs on the leader of a partition of `__transaction_state`, during
one leader epoch. The coordinator handles requests and timers in these steps:

    request -> rejected
            -> a change -> append to the log -> change takes effect, response
                                             -> prepared? send markers -> all written: a change
    timer   -> open for too long: abort; inactive for too long: expire

If a transactional id is inactive for `transactional.id.expiration.ms` and has no unfinished
transaction, it expires.

A transactional id is busy in two cases: while a change of the id is being appended, and from the
decision to commit or abort until all markers are written. A request for a busy id gets the error
CONCURRENT_TRANSACTIONS, even if its producer id or producer epoch is wrong. The only exception is
EndTxn in V1 of the transaction protocol.

A new coordinator continues all transactions that are in a prepared state in its log.

Source: KIP-98, KIP-360, KIP-890, KAFKA-17754, KAFKA-18660, KAFKA-19367; TransactionCoordinator,
TransactionMetadata.pendingTransitionInProgress of Apache Kafka; docs/kafka-rules.md D1 to D7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from model.vocabulary import (
    LeaderEpoch,
    ProducerEpoch,
    TopicPartition,
)
from reference_impl.log import coordinator_log
from reference_impl.log.coordinator_log import CLIENT_ERRORS
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.bugs import Bug
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, SetTimer, StepResult, Timer, TimerKind
from reference_impl.protocol.messages import (
    ErrorCode,
    InitProducerId,
    Produced,
)
from reference_impl.protocol.transactions import (
    CoordinatorRequest,
    WrittenTxnMarker,
)
from reference_impl.transactions.changes import Change, change_by_request, change_by_time
from reference_impl.transactions.end_txn import (
    MarkerAttempt,
    Markers,
    pending_markers,
    send_markers,
)
from reference_impl.transactions.metadata import (
    LAST_EPOCH,
    TransactionMetadata,
    TxnState,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionCoordinator:
    """The coordinator of the transactional ids that are stored in one partition of
    `__transaction_state`.
    """

    topic_partition: TopicPartition
    coordinator_epoch: LeaderEpoch
    transactions: Mapping[str, TransactionMetadata] = field(
        default_factory=dict[str, TransactionMetadata]
    )
    changes: Mapping[int, tuple[Change, ...]] = field(default_factory=dict[int, tuple[Change, ...]])
    markers: Mapping[str, Markers] = field(default_factory=dict[str, Markers])

    @classmethod
    def load(
        cls,
        topic_partition: TopicPartition,
        coordinator_epoch: LeaderEpoch,
        log: PartitionLog,
        context: Context,
    ) -> StepResult[TransactionCoordinator]:
        """Returns a coordinator with the state that the log stores. The coordinator continues
        prepared transactions: it sends their markers.
        """
        transactions: dict[str, TransactionMetadata] = {}
        for batch in coordinator_log.read_batches(log):
            for entry in batch.entries:
                transactional_id = str(entry.key[1])
                transactions.pop(transactional_id, None)
                if entry.value is not None:
                    transactions[transactional_id] = TransactionMetadata.of(entry)
        coordinator = cls(
            topic_partition=topic_partition,
            coordinator_epoch=coordinator_epoch,
            transactions=transactions,
            markers={
                id_: pending_markers(transaction, context)
                for id_, transaction in transactions.items()
                if transaction.is_prepared
            },
        )
        return coordinator.on_timer(context)

    def resign(self) -> Effects:
        """Returns error responses to all waiting requests. The changes that these requests wait for
        may take effect nevertheless.
        """
        return tuple(
            effect
            for changes in self.changes.values()
            for change in changes
            for effect in change.reply(ErrorCode.NOT_COORDINATOR)
        )

    # ------------------------------------------------------------ requests

    def on_request(
        self, context: Context, requester: Requester, request: CoordinatorRequest
    ) -> StepResult[TransactionCoordinator]:
        """Handles a request of a client, or the request of a partition leader that verifies a
        transaction.
        """
        id_ = request.transactional_id or ""
        known = self.transactions.get(id_)
        result = change_by_request(known, request, context, is_busy=self._is_busy(id_))
        if not isinstance(result, Change):
            return self, (requester.reply(result),)
        coordinator = self
        if Bug.FAILED_FENCE_COUNTS in context.bugs and isinstance(request, InitProducerId):
            coordinator = self._with_fence(result.after.transactional_id)
        return coordinator._append(
            context, (result._replace(requester=requester, request=request),)
        )

    def _with_fence(self, transactional_id: str) -> TransactionCoordinator:
        # The seeded bug FAILED_FENCE_COUNTS: the epoch rises in memory before it is written.
        known = self.transactions.get(transactional_id)
        if known is None or known.state is not TxnState.ONGOING:
            return self
        # Thus the producer is fenced even if the append fails.
        raised = ProducerEpoch(min(known.producer_epoch + 1, LAST_EPOCH))
        fenced = replace(known, producer_epoch=raised)
        return replace(self, transactions={**self.transactions, transactional_id: fenced})

    # ------------------------------------------------------------ the log

    def _is_changing(self, transactional_id: str) -> bool:
        return any(
            change.after.transactional_id == transactional_id
            for changes in self.changes.values()
            for change in changes
        )

    def _is_busy(self, transactional_id: str) -> bool:
        # Kafka: TransactionMetadata.prepareComplete.
        known = self.transactions.get(transactional_id)
        is_prepared = known is not None and known.is_prepared
        return is_prepared or self._is_changing(transactional_id)

    def _append(
        self, context: Context, changes: tuple[Change, ...]
    ) -> StepResult[TransactionCoordinator]:
        changes = tuple(
            change._replace(after=replace(change.after, updated_ms=context.now_ms))
            for change in changes
        )
        send = coordinator_log.append(
            context, self.topic_partition, [change.after.entry() for change in changes]
        )
        return replace(self, changes={**self.changes, context.correlation: changes}), (send,)

    def on_append_response(
        self, context: Context, correlation: int, answer: Produced
    ) -> StepResult[TransactionCoordinator]:
        if correlation not in self.changes:
            return self, ()
        changes = self.changes[correlation]
        rest = {key: value for key, value in self.changes.items() if key != correlation}
        coordinator = replace(self, changes=rest)
        error = CLIENT_ERRORS.get(answer.error, answer.error)
        effects: Effects = tuple(effect for change in changes for effect in change.reply(error))
        if error:
            return coordinator, effects
        transactions = {change.after.transactional_id: change.after for change in changes}
        coordinator = replace(
            coordinator,
            transactions={
                id_: transaction
                for id_, transaction in {**self.transactions, **transactions}.items()
                if transaction.state is not TxnState.DEAD
            },
            markers={
                **{id_: left for id_, left in self.markers.items() if id_ not in transactions},
                **{
                    id_: pending_markers(transaction, context)
                    for id_, transaction in transactions.items()
                    if transaction.is_prepared
                },
            },
        )
        coordinator, more = coordinator._send_markers_and_complete(context)
        return coordinator, effects + more

    # ------------------------------------------------------------ markers and time

    def on_marker_response(
        self, context: Context, correlation: int, answer: WrittenTxnMarker
    ) -> StepResult[TransactionCoordinator]:
        """Handles the response to a WriteTxnMarker request. Ignores the response if the coordinator
        has sent the marker again since this request.
        """
        unwritten = self.markers.get(answer.transactional_id, {})
        sent = unwritten.get(answer.topic_partition)
        if sent is None or sent.correlation != correlation:
            return self, ()
        others = {at: sent for at, sent in unwritten.items() if at != answer.topic_partition}
        match answer.error:
            case ErrorCode.NONE:
                left: Markers | None = others
            case ErrorCode.INVALID_PRODUCER_EPOCH | ErrorCode.TRANSACTION_COORDINATOR_FENCED:
                left = None  # a newer coordinator exists, and continues instead of this one
            case _:
                left = {**others, answer.topic_partition: MarkerAttempt(None, context.now_ms)}
        markers = {id_: m for id_, m in self.markers.items() if id_ != answer.transactional_id}
        if left is not None:
            markers[answer.transactional_id] = left
        coordinator = replace(self, markers=markers)
        # A marker with a retriable error is resent when the timer fires.
        return coordinator._send_markers_and_complete(context) if left == {} else (coordinator, ())

    def on_timer(self, context: Context) -> StepResult[TransactionCoordinator]:
        """Aborts overdue transactions, expires inactive transactional ids, and sends lost and
        rejected markers again.
        """
        coordinator, effects = self._send_markers_and_complete(context, again=True)
        overdue = tuple(
            change
            for id_, transaction in coordinator.transactions.items()
            if (change := change_by_time(transaction, context))
            and not coordinator._is_changing(id_)
        )
        if overdue and context.correlation not in coordinator.changes:
            coordinator, appended = coordinator._append(context, overdue)
            effects += appended
        timer = Timer(TimerKind.COORDINATOR, self.topic_partition)
        again = SetTimer(timer, context.now_ms + context.broker_settings.coordinator_ms)
        return coordinator, (*effects, again)

    def _send_markers_and_complete(
        self, context: Context, *, again: bool = False
    ) -> StepResult[TransactionCoordinator]:
        markers = dict(self.markers)
        effects: Effects = ()
        for id_, unwritten in self.markers.items():
            markers[id_], sent = send_markers(
                self.transactions[id_], unwritten, self.coordinator_epoch, context, again=again
            )
            effects += sent
        coordinator = replace(self, markers=markers)
        done = tuple(
            Change(self.transactions[id_].completed())
            for id_, unwritten in markers.items()
            if not unwritten and self.transactions[id_].is_prepared and not self._is_changing(id_)
        )
        if not done:
            return coordinator, effects
        coordinator, appended = coordinator._append(context, done)
        return coordinator, effects + appended
