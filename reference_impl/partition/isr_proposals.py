"""A leader's proposals to the controller: who lags leaves the ISR, who has caught up joins it.

Source: KIP-497, KIP-903; protocol rules A4 to A6.
"""

from __future__ import annotations

from dataclasses import replace

from model.vocabulary import BrokerId
from reference_impl.node.context import Surroundings
from reference_impl.node.step import Send
from reference_impl.partition.leader import Leader, Led, lag_timer, settle
from reference_impl.protocol.controller import AlteredPartition, AlterPartition, PartitionState
from reference_impl.protocol.messages import CONTROLLER


def on_lag_timer(leader: Leader, around: Surroundings) -> Led:
    """Followers that lag are proposed to leave; a proposal without an answer is sent again."""
    timer = lag_timer(leader, around)
    if leader.in_sync.proposal is not None:
        leader, sent = _send(leader, leader.in_sync.proposal, around)
        return leader, (*sent, timer)
    lagging = leader.in_sync.lagging(leader.log.end_offset, around)
    if lagging:
        isr = tuple(broker for broker in leader.state.isr if broker not in lagging)
        leader, effects = propose(leader, around, isr)
    else:
        # Time alone may let the high watermark move: a replica outside the ISR that had kept up is
        # no longer waited for.
        leader, effects = settle(leader, around)
    return leader, (*effects, timer)


def propose(leader: Leader, around: Surroundings, isr: tuple[BrokerId, ...]) -> Led:
    """The leader asks the controller for another ISR, and counts on both until it knows."""
    return _send(leader, leader.in_sync.proposing(leader.topic_partition, isr, around), around)


def _send(leader: Leader, proposal: AlterPartition, around: Surroundings) -> Led:
    in_sync = leader.in_sync.sent(proposal, around.correlation)
    return replace(leader, in_sync=in_sync), (Send(CONTROLLER, around.correlation, proposal),)


def on_altered(
    leader: Leader, around: Surroundings, correlation: int, answer: AlteredPartition
) -> Led:
    """The controller has answered a proposal."""
    in_sync = leader.in_sync.answered(correlation, answer)
    return settle(replace(leader, in_sync=in_sync), around)


def on_state(leader: Leader, around: Surroundings, state: PartitionState) -> Led:
    """Newer metadata of the same leader epoch: the ISR may have changed, or the configuration."""
    return settle(replace(leader, in_sync=leader.in_sync.described(state)), around)
