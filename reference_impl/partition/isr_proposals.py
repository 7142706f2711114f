"""A leader's proposals to the controller: who lags leaves the ISR, who has caught up joins it.

Source: KIP-497, KIP-903; protocol rules A4 to A6.
"""

from __future__ import annotations

from dataclasses import replace

from model.vocabulary import BrokerId
from reference_impl.node.context import Context
from reference_impl.node.step import Send, StepResult
from reference_impl.partition.leader import Leader, advance_high_watermark, lag_timer
from reference_impl.protocol.controller import AlteredPartition, AlterPartition, PartitionState
from reference_impl.protocol.messages import CONTROLLER


def on_lag_timer(leader: Leader, context: Context) -> StepResult[Leader]:
    """Followers that lag are proposed to leave; a proposal without an answer is sent again."""
    timer = lag_timer(leader, context)
    if leader.in_sync.proposal is not None:
        leader, sent = _send(leader, leader.in_sync.proposal, context)
        return leader, (*sent, timer)
    lagging = leader.in_sync.lagging(leader.log.end_offset, context)
    if lagging:
        isr = tuple(broker for broker in leader.state.isr if broker not in lagging)
        leader, effects = propose(leader, context, isr)
    else:
        # Time alone may let the high watermark move: a replica outside the ISR that had kept up is
        # no longer waited for.
        leader, effects = advance_high_watermark(leader, context)
    return leader, (*effects, timer)


def propose(leader: Leader, context: Context, isr: tuple[BrokerId, ...]) -> StepResult[Leader]:
    """The leader asks the controller for another ISR, and counts on both until it knows."""
    return _send(leader, leader.in_sync.proposal_for(leader.topic_partition, isr, context), context)


def _send(leader: Leader, proposal: AlterPartition, context: Context) -> StepResult[Leader]:
    in_sync = leader.in_sync.with_proposal(proposal, context.correlation)
    return replace(leader, in_sync=in_sync), (Send(CONTROLLER, context.correlation, proposal),)


def on_altered(
    leader: Leader, context: Context, correlation: int, answer: AlteredPartition
) -> StepResult[Leader]:
    """The controller has answered a proposal."""
    in_sync = leader.in_sync.with_response(correlation, answer)
    return advance_high_watermark(replace(leader, in_sync=in_sync), context)


def on_state(leader: Leader, context: Context, state: PartitionState) -> StepResult[Leader]:
    """Newer metadata of the same leader epoch: the ISR may have changed, or the configuration."""
    return advance_high_watermark(
        replace(leader, in_sync=leader.in_sync.with_metadata(state)), context
    )
