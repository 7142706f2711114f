"""Handles the requests that append to a leader's log. The requests contain record batches of
producers, or transaction markers. A Produce request has these steps:

    Produce -> one batch -> first batch of a transaction? -- no -> check and append
                                       | yes                              ^
                                       v                                  |
                           verify at the coordinator ---------------------+

Source: KIP-98, KIP-890; ReplicaManager.appendRecords; docs/kafka-rules.md A1, D5, D8.
"""

from __future__ import annotations

from model.vocabulary import ProducerId
from reference_impl.log import transaction_marker
from reference_impl.log.transaction_marker import Marker
from reference_impl.node.bugs import Bug
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import StepResult
from reference_impl.partition.checked_append import check_and_append, refusal, write
from reference_impl.partition.leader import Leader
from reference_impl.partition.record_validation import only_batch
from reference_impl.partition.verification import needs_verification, verify, with_unverified
from reference_impl.partition.waiting import AppendOrigin
from reference_impl.protocol.messages import ACKS_ALL, ErrorCode, Produce
from reference_impl.protocol.replacing import replace
from reference_impl.protocol.transactions import WriteTxnMarker


def produce(
    leader: Leader, context: Context, requester: Requester, request: Produce
) -> StepResult[Leader]:
    """Verifies the batch's transaction if this is necessary, and appends the record batch.

    If the record batch is in the log already, it is not appended, but acknowledged again.
    """
    batch = only_batch(request.batches)
    if isinstance(batch, ErrorCode):
        return leader, refusal(requester, batch)
    if len(batch.data) < len(request.batches):
        request = replace(request, batches=batch.data)  # a truncated rest is ignored
    head = batch.header
    for entry in leader.unverified:
        of_producer = (entry.producer_id, entry.producer_epoch)
        if entry.is_guarded and of_producer == (head.producer_id, head.producer_epoch):
            after = entry._replace(waiting=(*entry.waiting, (requester, request)))
            return with_unverified(leader, entry, after), ()
    verifies = context.verifies_transactions or request.adds_partition
    if Bug.LATE_PRODUCE_ACCEPTED in context.bugs:
        verifies = False
    if verifies and needs_verification(leader, head):
        return verify(leader, context, requester, request, head)
    return check_and_append(leader, context, requester, request, batch)


def write_marker(
    leader: Leader, context: Context, requester: Requester, request: WriteTxnMarker
) -> StepResult[Leader]:
    appended = AppendOrigin(
        requester, ACKS_ALL, context.broker_settings.request_timeout_ms, request
    )
    if leader.in_sync.below_minimum:
        return leader, (appended.reply(leader, error=ErrorCode.NOT_ENOUGH_REPLICAS),)
    strict = Bug.LATE_MARKER_ACCEPTED not in context.bugs
    error = leader.producers.marker_error(request, strict=strict)
    if error is not ErrorCode.NONE:
        return leader, (appended.reply(leader, error=error),)
    data = transaction_marker.encoded(
        Marker(request.result, request.coordinator_epoch),
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        timestamp_ms=context.now_ms,
    )
    if Bug.GUARD_OUTLIVES_MARKER not in context.bugs:
        leader = _without_guard(leader, request.producer_id)
    return write(leader, context, appended, data)


def _without_guard(leader: Leader, producer_id: ProducerId) -> Leader:
    return replace(
        leader,
        unverified=tuple(
            entry._replace(is_guarded=False)
            if entry.producer_id == producer_id and entry.again_ms is None
            else entry
            for entry in leader.unverified
        ),
    )
