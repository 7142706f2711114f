"""Handles the requests to the controller that create and delete partitions. Each request has the
following effect:

    CreateTopic        adds all partitions of a new topic
    DeleteTopic        removes all partitions of a topic
    CreatePartitions   adds partitions up to the new count; none is ever removed

Each function returns two values: the changed registrations and the response. The registration of a
removed partition is None. Nothing changes if the request is rejected or has `validate_only`.

Source: ReplicationControlManager.createTopics, deleteTopic, createPartitions; KIP-195.
Simplified: the controller places replicas round-robin.

Deviates from Kafka in two limits:

- Internal topics cannot get more partitions. With more partitions, a group or a
  transactional id would change its coordinator and lose its state.
- A request may add at most 1,000 partitions to a topic. Kafka allows 10,000 per request, over all
  its topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from model.vocabulary import BrokerId, LeaderEpoch, PartitionEpoch, TopicPartition
from reference_impl.controller.cluster_state import (
    Changes,
    ClusterState,
    Reason,
    States,
    first_reason,
    unknown_topic,
)
from reference_impl.controller.new_topics import with_defaults
from reference_impl.protocol.controller import (
    CreatedPartitions,
    CreatedTopic,
    CreatePartitions,
    CreateTopic,
    DeletedTopic,
    DeleteTopic,
    PartitionState,
)
from reference_impl.protocol.coordinators import INTERNAL_TOPICS
from reference_impl.protocol.messages import NO_BROKER, ErrorCode
from reference_impl.protocol.topic_names import collide, invalid_name

# Kafka permits 10,000 (ReplicationControlManager.MAX_PARTITIONS_PER_BATCH), which takes 22 s here.
MAX_NEW_PARTITIONS: Final = 1_000

Assignments = Sequence[tuple[BrokerId, ...]]


def create_topic(cluster: ClusterState, request: CreateTopic) -> tuple[States, CreatedTopic]:
    name, replicas, alive = request.topic, request.replication_factor, len(cluster.alive)
    is_assigned = bool(request.assignments)
    others = {place.topic for place in cluster.states}
    colliding = min((other for other in others if collide(name, other)), default="")
    refused = first_reason(
        (name in others, ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists."),
        (
            bool(colliding),
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topic: {colliding}",
        ),
        (bool(invalid_name(name)), ErrorCode.INVALID_TOPIC_EXCEPTION, invalid_name(name)),
        *_invalid_assignments(cluster, request.assignments),
        (
            not is_assigned and replicas < 1,
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            not is_assigned and request.topic_partitions < 1,
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        _too_many(len(request.assignments) or request.topic_partitions),
        *(() if is_assigned else (_too_few_brokers(replicas, alive),)),
    )
    if refused is not None:
        return {}, CreatedTopic(error=refused[0], message=refused[1])
    incarnation = cluster.deletions.get(name, 0)
    created = CreatedTopic(incarnation=incarnation)
    if request.validate_only:
        return {}, created
    request = with_defaults(request, cluster.defaults)
    like = PartitionState(
        replicas=(),
        isr=(),
        leader=NO_BROKER,
        leader_epoch=LeaderEpoch(0),
        partition_epoch=PartitionEpoch(0),
        min_insync_replicas=request.min_insync_replicas,
        unclean_leader_election=request.unclean_leader_election,
        log_config=request.log_config,
        configured=request.configured,
        incarnation=incarnation,
    )
    if is_assigned:
        return _assigned(cluster, name, 0, request.assignments, like), created
    return _placed(cluster, name, range(request.topic_partitions), replicas, like), created


def delete_topic(cluster: ClusterState, request: DeleteTopic) -> tuple[Changes, DeletedTopic]:
    known = cluster.of_topic(request.topic)
    found = {state.incarnation for state in known.values()}
    if request.incarnation is not None and request.incarnation not in found:
        unknown_id = "This server does not host this topic ID."
        return {}, DeletedTopic(error=ErrorCode.UNKNOWN_TOPIC_ID, message=unknown_id)
    refused = first_reason(unknown_topic(request.topic, known))
    if refused is not None:
        return {}, DeletedTopic(error=refused[0], message=refused[1])
    return dict.fromkeys(known), DeletedTopic()


def create_partitions(
    cluster: ClusterState, request: CreatePartitions
) -> tuple[States, CreatedPartitions]:
    """Returns the registrations of the new partitions, and the response. Each new partition has the
    same configuration as partition 0.
    """
    name, count = request.topic, request.topic_partitions
    known = cluster.of_topic(name)
    replicas = max((len(state.replicas) for state in known.values()), default=0)
    refused = first_reason(
        unknown_topic(name, known),
        (
            name in INTERNAL_TOPICS,
            ErrorCode.INVALID_PARTITIONS,
            f"{name} is internal: no new partitions",
        ),
        (
            count <= len(known),
            ErrorCode.INVALID_PARTITIONS,
            f"topic {name} has {len(known)} partitions already; request more than that",
        ),
        _too_many(count - len(known)),
        *_invalid_additions(cluster, request, len(known), replicas),
        *(() if request.assignments else (_too_few_brokers(replicas, len(cluster.alive)),)),
    )
    if refused is not None:
        return {}, CreatedPartitions(error=refused[0], message=refused[1])
    if request.validate_only:
        return {}, CreatedPartitions()
    like = replace(
        known[TopicPartition(name, 0)],
        leader_epoch=LeaderEpoch(0),
        partition_epoch=PartitionEpoch(0),
        elr=(),
        last_known_leader=NO_BROKER,
        recovering=False,
        adding=(),
        removing=(),
    )
    if request.assignments is not None:
        changes = _assigned(cluster, name, len(known), request.assignments, like)
        return changes, CreatedPartitions()
    return _placed(cluster, name, range(len(known), count), replicas, like), CreatedPartitions()


HANDLERS: Final[Mapping[type, Callable[[ClusterState, Any], tuple[Changes, Any]]]] = {
    CreateTopic: create_topic,
    DeleteTopic: delete_topic,
    CreatePartitions: create_partitions,
}


def _placed(
    cluster: ClusterState, topic: str, indexes: Iterable[int], replicas: int, like: PartitionState
) -> States:
    alive, placed = cluster.alive, dict[TopicPartition, PartitionState]()
    for index in indexes:
        on = tuple(alive[(index + step) % len(alive)] for step in range(replicas))
        placed[TopicPartition(topic, index)] = replace(like, replicas=on, isr=on, leader=on[0])
    return placed


def _assigned(
    cluster: ClusterState, topic: str, first: int, assignments: Assignments, like: PartitionState
) -> States:
    placed: dict[TopicPartition, PartitionState] = {}
    for index, replicas in enumerate(assignments, first):
        isr = tuple(broker for broker in replicas if broker in cluster.alive)
        state = replace(like, replicas=replicas, isr=isr, leader=isr[0])
        placed[TopicPartition(topic, index)] = state
    return placed


def _invalid_assignments(
    cluster: ClusterState, assignments: Assignments, replicas: int | None = None
) -> Iterable[Reason]:
    # Kafka: ReplicationControlManager.validateManualPartitionAssignment.
    for index, brokers in enumerate(assignments):
        unknown = min((id_ for id_ in brokers if id_ not in cluster.registered), default=None)
        expected = len(assignments[0]) if replicas is None else replicas
        for applies, why in (
            (not brokers, "includes an empty replica list."),
            (unknown is not None, f"includes broker {unknown}, but no such broker is registered."),
            (len(set(brokers)) < len(brokers), "includes a broker more than once."),
            (
                len(brokers) != expected,
                f"includes a partition with {len(brokers)} replica(s), but this is not consistent "
                f"with previous partitions, which have {expected} replica(s).",
            ),
        ):
            message = f"The manual partition assignment {why}"
            yield applies, ErrorCode.INVALID_REPLICA_ASSIGNMENT, message
        yield (
            not set(brokers) & set(cluster.alive),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"All brokers specified in the manual partition assignment for partition {index} are "
            "fenced or in controlled shutdown.",
        )


def _invalid_additions(
    cluster: ClusterState, request: CreatePartitions, known: int, replicas: int
) -> Iterable[Reason]:
    if request.assignments is None:
        return
    more, count = request.topic_partitions - known, len(request.assignments)
    yield (
        count != more,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        f"Attempted to add {more} additional partition(s), but only {count} assignment(s) were "
        "specified.",
    )
    yield from _invalid_assignments(cluster, request.assignments, replicas)


def _too_many(partitions: int) -> Reason:
    return (
        partitions > MAX_NEW_PARTITIONS,
        ErrorCode.POLICY_VIOLATION,
        "Excessively large number of partitions per request.",
    )


def _too_few_brokers(replicas: int, alive: int) -> Reason:
    why = f"replication factor {replicas} must be 1 to {alive}, the number of live brokers"
    return not 1 <= replicas <= alive, ErrorCode.INVALID_REPLICATION_FACTOR, why
