"""Handles the requests to the controller that begin, cancel and list reassignments. Each request
has the following effect:

    AlterReassignment  with replicas: begins a reassignment; it may complete at once
                       without:       cancels the reassignment in progress
    ListReassignments  returns the reassignments in progress

A new reassignment may replace a reassignment that is in progress. A request that changes nothing
succeeds.

Source: KIP-455, KIP-860; ReplicationControlManager.alterPartitionReassignments,
changePartitionReassignment, cancelPartitionReassignment, listPartitionReassignments of Apache
Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from model.vocabulary import BrokerId
from reference_impl.controller import elections
from reference_impl.controller.assignments import Members, reassigned, reverted
from reference_impl.controller.cluster_state import (
    Changes,
    ClusterState,
    Reason,
    States,
    first_reason,
)
from reference_impl.protocol.controller import PartitionState
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.reassignment import (
    AlteredReassignment,
    AlterReassignment,
    ListedReassignments,
    ListReassignments,
    Reassignment,
)

_Altered = tuple[States, AlteredReassignment]


def alter_reassignment(cluster: ClusterState, request: AlterReassignment) -> _Altered:
    place = request.topic_partition
    state = cluster.states.get(place)
    if state is None:
        is_known = bool(cluster.of_topic(place.topic))
        partition = f"Unable to find partition {place.topic}:{place.index}."
        topic = f"Unable to find a topic named {place.topic}."
        return _refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, partition if is_known else topic)
    if request.replicas is None:
        return _cancelled(cluster, request, state)
    target = request.replicas
    refusal = first_reason(
        *_invalid_target(cluster, target),
        *(() if request.allows_factor_change else (_changed_factor(state, target),)),
    )
    if refusal is not None:
        return _refused(*refusal)

    assignment = reassigned(state, target, cluster.bugs)

    def alive(broker: BrokerId) -> bool:
        if broker not in (*state.replicas, *assignment.isr):
            raise _NotAssigned
        return broker in cluster.alive

    try:
        after = elections.reassigned_partition(
            state,
            assignment,
            alive,
            elr=cluster.elr,
            min_isr=elections.effective_min_isr(cluster.states, place),
        )
    except _NotAssigned:
        return _refused(ErrorCode.UNKNOWN_SERVER_ERROR, "")
    return ({} if after == state else {place: after}), AlteredReassignment()


class _NotAssigned(Exception):
    """Raised if an election considers a replica that is not in the partition's registration yet."""

    # Kafka also fails with an exception (LeaderAcceptor, PartitionRegistration.directory).


def list_reassignments(
    cluster: ClusterState, request: ListReassignments
) -> tuple[Changes, ListedReassignments]:
    """Returns two results: an empty mapping, because nothing changes, and the list of the
    reassignments in progress.

    If the request names partitions, the list has only those of them that are being reassigned.
    """
    wanted = request.topic_partitions
    found = {
        place: state
        for place in (cluster.states if wanted is None else wanted)
        if (state := cluster.states.get(place)) is not None and state.is_reassigned
    }
    return {}, ListedReassignments(
        reassignments=tuple(
            Reassignment(
                topic_partition=place,
                replicas=state.replicas,
                adding=state.adding,
                removing=state.removing,
            )
            for place, state in sorted(found.items(), key=lambda row: row[0])
        )
    )


HANDLERS: Final[Mapping[type, Callable[[ClusterState, Any], tuple[Changes, Any]]]] = {
    AlterReassignment: alter_reassignment,
    ListReassignments: list_reassignments,
}


def _cancelled(
    cluster: ClusterState, request: AlterReassignment, state: PartitionState
) -> _Altered:
    place = request.topic_partition
    if not state.is_reassigned:
        why = "No partition reassignment is in progress."
        return _refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, why)
    assignment, is_unclean = reverted(state)
    if is_unclean and not state.unclean_leader_election:
        return _refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Unable to revert partition assignment for {place.topic}:{place.index} because it "
            "would require an unclean leader election.",
        )
    after = elections.reassigned_partition(
        state,
        assignment,
        cluster.alive.__contains__,
        elr=cluster.elr,
        min_isr=elections.effective_min_isr(cluster.states, place),
        allows_unclean=state.unclean_leader_election,
    )
    return {place: after}, AlteredReassignment()


def _invalid_target(cluster: ClusterState, target: Members) -> list[Reason]:
    # Kafka: ReplicationControlManager.validateManualPartitionAssignment.
    error, of = ErrorCode.INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment includes"
    reasons: list[Reason] = [(not target, error, f"{of} an empty replica list.")]
    before = None
    # As in Kafka, brokers are in the order of their ids, and a fenced broker is valid.
    for broker in sorted(target):
        unknown = f"{of} broker {broker}, but no such broker is registered."
        twice = f"{of} the broker {broker} more than once."
        reasons.append((broker not in cluster.registered, error, unknown))
        reasons.append((broker == before, error, twice))
        before = broker
    return reasons


def _changed_factor(state: PartitionState, target: Members) -> Reason:
    factor = len({*state.replicas, *state.adding} - {*state.removing})
    message = f"The replication factor is changed from {factor} to {len(target)}"
    return factor != len(target), ErrorCode.INVALID_REPLICATION_FACTOR, message


def _refused(error: ErrorCode, message: str) -> _Altered:
    return {}, AlteredReassignment(error=error, message=message)
