"""A transaction coordinator: the leader of a partition of `__transaction_state`, in one leader
epoch.

    request -> rejected
            -> a change -> append to the log -> change takes effect, response
                                             -> prepared? send markers -> all written: a change
    timer   -> open for too long: abort; inactive for too long: expire

A transactional id without an open or unfinished transaction expires after
`transactional.id.expiration.ms` of inactivity. The next producer gets a new producer id; an old
instance gets INVALID_PRODUCER_ID_MAPPING.

A transactional id is busy while one of its changes is being appended. It is also busy from the
decision to commit or abort until all markers are written. A request for a busy id gets the error
CONCURRENT_TRANSACTIONS, even if its producer id or epoch is wrong; but for a V1 EndTxn the
coordinator checks producer id and epoch first. Markers are sent to the leaders of the
transaction's topic partitions until each has responded. A new coordinator continues the prepared
transactions in its log.

Source: KIP-98, KIP-360, KIP-890, KAFKA-17754, KAFKA-18660, KAFKA-19367; TransactionCoordinator,
TransactionMetadata.pendingTransitionInProgress of Apache Kafka; docs/kafka-rules.md D1 to D7.
Simplified: when the coordinator itself aborts a transaction (timeout, new instance), it uses V2, as
with transaction.version=2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

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
from reference_impl.protocol.coordinators import CONSUMER_OFFSETS
from reference_impl.protocol.messages import (
    ErrorCode,
    InitializedProducerId,
    InitProducerId,
    Produced,
)
from reference_impl.protocol.transactions import (
    AddedOffsetsToTxn,
    AddedPartitionsToTxn,
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    CoordinatorRequest,
    CoordinatorResponse,
    EndedTxn,
    EndTxn,
    TransactionVersion,
    TxnResult,
    WrittenTxnMarker,
    refusal,
)
from reference_impl.transactions.end_txn import (
    EndDecision,
    MarkerAttempt,
    Markers,
    end_decision,
    end_response,
    pending_markers,
    send_markers,
)
from reference_impl.transactions.metadata import (
    LAST_EPOCH,
    TransactionMetadata,
    TxnState,
)
from reference_impl.transactions.producer_epochs import is_newest_instance, next_instance

MAX_TIMEOUT_MS: Final = 900_000  # transaction.max.timeout.ms
ABORT: Final = TxnResult.ABORT


class Change(NamedTuple):
    """A change of a transactional id that is being appended to the log, and its waiting request."""

    after: TransactionMetadata
    response: CoordinatorResponse | None = None
    requester: Requester | None = None  # None: a change of the coordinator's own
    request: CoordinatorRequest | None = None

    def reply(self, error: ErrorCode = ErrorCode.NONE) -> Effects:
        """Returns the effect that sends the waiting response, or an error response instead.

        Returns no effect if no request waits for this change.
        """
        if self.requester is None or self.request is None or self.response is None:
            return ()
        return (self.requester.reply(refusal(self.request, error) if error else self.response),)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionCoordinator:
    """The coordinator of the transactional ids of one partition of `__transaction_state`."""

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
        """Returns the new coordinator with its log's state; continues prepared transactions."""
        transactions: dict[str, TransactionMetadata] = {}
        for batch in coordinator_log.read_batches(log):
            for entry in batch.entries:
                transactions.pop(str(entry.key), None)
                if entry.value is not None:
                    transactions[str(entry.key)] = TransactionMetadata.of(entry)
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
        """Returns the error responses to all waiting requests when another broker becomes
        coordinator.

        It is unknown whether the pending changes are in the new coordinator's log.
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
        """Handles a request of a client, or of a leader that verifies a transaction."""
        match request:
            case InitProducerId():
                result = self._init_producer_id(context, request)
            case AddPartitionsToTxn():
                result = self._add_partitions(context, request)
            case AddOffsetsToTxn():
                place = context.coordinators.partition_for(CONSUMER_OFFSETS, request.group)
                result = self._add_offsets(context, request, place)
            case EndTxn():
                result = self._end_txn(context, request)
        if not isinstance(result, Change):
            return self, (requester.reply(result),)
        coordinator = self
        if Bug.FAILED_FENCE_COUNTS in context.bugs and isinstance(request, InitProducerId):
            coordinator = self._with_fence(result.after.transactional_id)
        return coordinator._append(
            context, (result._replace(requester=requester, request=request),)
        )

    def _with_fence(self, transactional_id: str) -> TransactionCoordinator:
        """Returns the coordinator with the seeded bug `FAILED_FENCE_COUNTS` applied.

        The bug raises the producer epoch of an open transaction, so the producer is fenced even if
        the append fails.
        """
        known = self.transactions.get(transactional_id)
        if known is None or known.state is not TxnState.ONGOING:
            return self
        raised = ProducerEpoch(min(known.producer_epoch + 1, LAST_EPOCH))
        fenced = replace(known, producer_epoch=raised)
        return replace(self, transactions={**self.transactions, transactional_id: fenced})

    def _init_producer_id(
        self, context: Context, request: InitProducerId
    ) -> Change | CoordinatorResponse:
        transactional_id = request.transactional_id or ""
        known = self.transactions.get(transactional_id) or TransactionMetadata(
            transactional_id=transactional_id,
            producer_id=context.new_producer_id,
            timeout_ms=request.timeout_ms,
        )
        if not 0 < request.timeout_ms <= MAX_TIMEOUT_MS:
            return InitializedProducerId(error=ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        if self._is_busy(transactional_id):
            return InitializedProducerId(error=ErrorCode.CONCURRENT_TRANSACTIONS)
        if not is_newest_instance(known, request):
            return InitializedProducerId(error=ErrorCode.PRODUCER_FENCED)
        if known.state is TxnState.ONGOING and Bug.ZOMBIE_NOT_FENCED not in context.bugs:
            # No client gets the epoch of this fence: the client retries, for the next one.
            return Change(
                known.prepared(ABORT, TransactionVersion.V2, context.new_producer_id),
                response=InitializedProducerId(error=ErrorCode.CONCURRENT_TRANSACTIONS),
            )
        after = next_instance(known, request, context)
        if after is None:
            return InitializedProducerId(error=ErrorCode.PRODUCER_FENCED)
        response = InitializedProducerId(
            producer_id=after.producer_id, producer_epoch=after.producer_epoch
        )
        return response if after == known else Change(after, response=response)

    def _add_partitions(
        self, context: Context, request: AddPartitionsToTxn
    ) -> Change | CoordinatorResponse:
        added = AddedPartitionsToTxn(topic_partitions=request.topic_partitions)
        known = self.transactions.get(request.transactional_id)
        error = self._producer_error(known, request, waits=not request.verify_only)
        if known is None or error is not ErrorCode.NONE:
            return replace(added, error=error)
        is_open = known.state is TxnState.ONGOING
        if is_open and set(request.topic_partitions) <= set(known.topic_partitions):
            return added
        if request.verify_only:
            return replace(added, error=ErrorCode.INVALID_TXN_STATE)
        return Change(
            known.with_partitions(request.topic_partitions, context.now_ms), response=added
        )

    def _add_offsets(
        self, context: Context, request: AddOffsetsToTxn, place: TopicPartition | None
    ) -> Change | CoordinatorResponse:
        if place is None:
            return AddedOffsetsToTxn(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        as_partition = AddPartitionsToTxn(
            transactional_id=request.transactional_id,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            topic_partitions=(place,),
        )
        result = self._add_partitions(context, as_partition)
        if isinstance(result, Change):
            return result._replace(response=AddedOffsetsToTxn())
        assert isinstance(result, AddedPartitionsToTxn)
        return AddedOffsetsToTxn(error=result.error)

    def _producer_error(
        self,
        known: TransactionMetadata | None,
        request: AddPartitionsToTxn,
        *,
        waits: bool,
    ) -> ErrorCode:
        if known is None:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        reasons = (
            (waits and self._is_busy(known.transactional_id), "CONCURRENT_TRANSACTIONS"),
            (known.producer_id != request.producer_id, "INVALID_PRODUCER_ID_MAPPING"),
            (known.producer_epoch != request.producer_epoch, "PRODUCER_FENCED"),
            (known.is_prepared, "CONCURRENT_TRANSACTIONS"),
        )
        return next((ErrorCode[error] for applies, error in reasons if applies), ErrorCode.NONE)

    def _end_txn(self, context: Context, request: EndTxn) -> Change | CoordinatorResponse:
        known = self.transactions.get(request.transactional_id)
        if known is None:
            return EndedTxn(error=ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        is_busy = self._is_busy(request.transactional_id)
        match end_decision(known, request, context.bugs, is_busy=is_busy):
            case ErrorCode() as error:
                return EndedTxn(error=error)
            case EndDecision.PREPARE:
                after = known.prepared(request.result, request.version, context.new_producer_id)
                return Change(after, response=end_response(after, request))
            case EndDecision.ALREADY_COMPLETE:
                return end_response(known, request)

    # ------------------------------------------------------------ the log

    def _is_changing(self, transactional_id: str) -> bool:
        return any(
            change.after.transactional_id == transactional_id
            for changes in self.changes.values()
            for change in changes
        )

    def _is_busy(self, transactional_id: str) -> bool:
        """True if a change is being appended, or the markers of a decision are not all written.

        Kafka: TransactionMetadata.prepareComplete sets the pending state before the markers are
        sent, and the state stays pending until the completion is in the log.
        """
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
        """Handles the response to a marker; a response to an earlier attempt is ignored."""
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
        """Aborts overdue transactions, expires inactive ids, and sends markers again."""
        coordinator, effects = self._send_markers_and_complete(context, again=True)
        overdue = tuple(
            change
            for id_, transaction in coordinator.transactions.items()
            if (change := _expired(transaction, context)) and not coordinator._is_changing(id_)
        )
        if overdue and context.correlation not in coordinator.changes:
            coordinator, appended = coordinator._append(context, overdue)
            effects += appended
        timer = Timer(TimerKind.COORDINATOR, self.topic_partition)
        again = SetTimer(timer, context.now_ms + context.timeouts.coordinator_ms)
        return coordinator, (*effects, again)

    def _send_markers_and_complete(
        self, context: Context, *, again: bool = False
    ) -> StepResult[TransactionCoordinator]:
        """Sends the markers that are due; completes transactions without missing markers."""
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


def _expired(transaction: TransactionMetadata, context: Context) -> Change | None:
    """Returns the change that is due because of the time, or None.

    That is the abort of an overdue transaction, or the expiry of an inactive transactional id.
    """
    if transaction.state is TxnState.ONGOING:
        if context.now_ms - transaction.started_ms <= transaction.timeout_ms:
            return None
        return Change(transaction.prepared(ABORT, TransactionVersion.V2, context.new_producer_id))
    rested_ms = context.now_ms - transaction.updated_ms
    if transaction.is_prepared or rested_ms < context.timeouts.transactional_id_expiration_ms:
        return None
    return Change(transaction.moved(TxnState.DEAD))
