"""Handles the elections that a client requests: preferred leader elections and unclean elections.

Source: ReplicationControlManager.electLeader; KIP-460.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from model.vocabulary import LeaderEpoch, PartitionEpoch
from reference_impl.controller import elections
from reference_impl.controller.cluster_state import ClusterState, States
from reference_impl.protocol.controller import HeldElection, HoldElection
from reference_impl.protocol.messages import NO_BROKER, ErrorCode


def hold_election(cluster: ClusterState, request: HoldElection) -> tuple[States, HeldElection]:
    """Returns two values: a dictionary with the changed registration of the partition, and the
    response. If the election fails, the dictionary is empty.
    """
    place = request.topic_partition
    state = cluster.states.get(place)
    if state is None:
        error, why = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {place}"
        return {}, HeldElection(error=error, message=why)
    preferred = state.replicas[0]
    is_led = state.leader != NO_BROKER if request.is_unclean else state.leader == preferred
    if is_led:
        return {}, HeldElection(error=ErrorCode.ELECTION_NOT_NEEDED)
    if request.is_unclean:
        allowed = replace(state, unclean_leader_election=True)
        elected = elections.partition_change(
            allowed,
            state.isr,
            cluster.alive.__contains__,
            elr=cluster.elr,
            min_isr=elections.effective_min_isr(cluster.states, place),
            bugs=cluster.bugs,
        )
        if elected.leader == NO_BROKER:
            return {}, HeldElection(error=ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
        kept = replace(elected, unclean_leader_election=state.unclean_leader_election)
        return {place: kept}, HeldElection()
    if preferred not in state.isr or preferred not in cluster.alive:
        return {}, HeldElection(error=ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
    after = replace(
        state,
        leader=preferred,
        leader_epoch=LeaderEpoch(state.leader_epoch + 1),
        partition_epoch=PartitionEpoch(state.partition_epoch + 1),
    )
    return {place: after}, HeldElection()


HANDLERS: Final[Mapping[type, Callable[[ClusterState, Any], tuple[States, Any]]]] = {
    HoldElection: hold_election
}
