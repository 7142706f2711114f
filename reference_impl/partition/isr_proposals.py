"""A leader's ISR proposals: lagging followers leave the ISR, and followers that have caught up join
the ISR.

Source: KIP-497, KIP-903; docs/kafka-rules.md A4 to A6.
"""

from __future__ import annotations

from model.vocabulary import BrokerId
from reference_impl.node.context import Context
from reference_impl.node.step import Send, StepResult
from reference_impl.partition.leader import Leader, advance_high_watermark, lag_timer
from reference_impl.protocol.controller import AlteredPartition, AlterPartition, PartitionState
from reference_impl.protocol.messages import CONTROLLER
from reference_impl.protocol.replacing import replace


def on_lag_timer(leader: Leader, context: Context) -> StepResult[Leader]:
    """Proposes an ISR without the lagging followers. If a proposal is pending, the leader sends
    this proposal again instead.
    """
    timer = lag_timer(leader, context)
    if leader.in_sync.proposal is not None:
        leader, sent = _send(leader, leader.in_sync.proposal, context)
        return leader, (*sent, timer)
    lagging = leader.in_sync.lagging(leader.log.end_offset, context)
    if lagging:
        isr = tuple(broker for broker in leader.state.isr if broker not in lagging)
        leader, effects = propose(leader, context, isr)
    else:
        # The high watermark may advance in the course of time: if a replica outside the ISR is no
        # longer caught up, it does not hold the high watermark back any more.
        leader, effects = advance_high_watermark(leader, context)
    return leader, (*effects, timer)


def propose(leader: Leader, context: Context, isr: tuple[BrokerId, ...]) -> StepResult[Leader]:
    return _send(leader, leader.in_sync.proposal_for(leader.topic_partition, isr, context), context)


def _send(leader: Leader, proposal: AlterPartition, context: Context) -> StepResult[Leader]:
    in_sync = leader.in_sync.with_proposal(proposal, context.correlation)
    return replace(leader, in_sync=in_sync), (Send(CONTROLLER, context.correlation, proposal),)


def on_altered(
    leader: Leader, context: Context, correlation: int, answer: AlteredPartition
) -> StepResult[Leader]:
    in_sync = leader.in_sync.with_response(correlation, answer)
    return advance_high_watermark(replace(leader, in_sync=in_sync), context)


def on_state(leader: Leader, context: Context, state: PartitionState) -> StepResult[Leader]:
    """Handles a changed partition registration, in which the leader epoch is unchanged. The high
    watermark may advance.
    """
    return advance_high_watermark(
        replace(leader, in_sync=leader.in_sync.with_metadata(state)), context
    )
