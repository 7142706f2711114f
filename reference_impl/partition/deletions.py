"""Handles DeleteRecords. A leader raises its log start, and waits until all live replicas have
raised their log starts:

    request -> the leader's log start moves
            -> a follower's next fetch returns the new log start; the follower adopts it
            -> the fetch after this one reports the follower's log start to the leader
            -> the low watermark reaches the requested offset -> response

The low watermark is the lowest log start among the live replicas.

Records above the high watermark are not deleted, because a truncation may still remove them. A
deletion does not wait for open transactions.

Source: KIP-107; docs/kafka-rules.md A11.
"""

from __future__ import annotations

from dataclasses import replace

from reference_impl.node.context import Context, Requester
from reference_impl.node.step import StepResult
from reference_impl.partition.leader import Leader, advance_high_watermark, wake_by
from reference_impl.partition.waiting import WaitingDeletion
from reference_impl.protocol.coordinators import INTERNAL_TOPICS
from reference_impl.protocol.deletion import TO_HIGH_WATERMARK, DeletedRecords, DeleteRecords
from reference_impl.protocol.messages import ErrorCode


def delete_records(
    leader: Leader, context: Context, requester: Requester, request: DeleteRecords
) -> StepResult[Leader]:
    error = _refused(leader, request)
    if error is not ErrorCode.NONE:
        answer = DeletedRecords(topic_partition=leader.topic_partition, error=error)
        return leader, (requester.reply(answer),)
    is_all = request.before == TO_HIGH_WATERMARK
    before = leader.log.high_watermark if is_all else request.before
    deadline_ms = context.now_ms + request.timeout_ms
    waiting = WaitingDeletion(requester, before, deadline_ms)
    leader = replace(
        leader,
        log=leader.log.with_log_start(before),
        waiting_deletions=(*leader.waiting_deletions, waiting),
    )
    leader, woken = wake_by(leader, deadline_ms)
    leader, settled = advance_high_watermark(leader, context)
    return leader, woken + settled


def _refused(leader: Leader, request: DeleteRecords) -> ErrorCode:
    policy = leader.state.log_config.cleanup_policy
    is_legal = TO_HIGH_WATERMARK <= request.before <= leader.log.high_watermark
    reasons = (
        (leader.topic_partition.topic in INTERNAL_TOPICS, ErrorCode.INVALID_TOPIC_EXCEPTION),
        (policy.compacts and not policy.deletes, ErrorCode.POLICY_VIOLATION),
        (not is_legal, ErrorCode.OFFSET_OUT_OF_RANGE),
    )
    return next((error for applies, error in reasons if applies), ErrorCode.NONE)
