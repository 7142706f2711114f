"""The topic requests of the controller: creation, more partitions, and configuration.

    CreateTopic        adds all partitions of a new topic
    CreatePartitions   adds partitions up to the new count; none is ever removed
    AlterConfigs       changes the given settings in each partition registration of the topic

Each function returns the changed partition registrations, none if the request is rejected. A
changed configuration alone does not change the epochs. Setting `min.insync.replicas` clears the
ELR, which was computed for the old minimum. Allowing unclean election elects a leader for each
partition without one.

Source: ReplicationControlManager.createTopics; KIP-195, KIP-339, KIP-966, KAFKA-16540;
docs/kafka-rules.md B4, B10.
Simplified: brokers receive a configuration with the whole image, so it changes for all topic
partitions at the same moment; the unclean election happens at once, not within
unclean.leader.election.interval.ms; the controller places replicas round-robin. Deviates: internal
topics cannot get more partitions, because a group or a transactional id would change its
coordinator and lose its state; a request adds at most 1,000 partitions to a topic, in Kafka 10,000
in total.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from model.vocabulary import BrokerId, LeaderEpoch, PartitionEpoch, TopicPartition
from reference_impl.controller import elections
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.controller import (
    AlterConfigs,
    AlteredConfigs,
    CreatedPartitions,
    CreatedTopic,
    CreatePartitions,
    CreateTopic,
    PartitionState,
)
from reference_impl.protocol.coordinators import INTERNAL_TOPICS
from reference_impl.protocol.messages import NO_BROKER, ErrorCode
from reference_impl.protocol.topic_config import LogConfig
from reference_impl.protocol.topic_names import collide, invalid_name

_OF_LOG: Final = {field.name for field in fields(LogConfig)}
_SETTINGS: Final = tuple(
    field.name for field in fields(AlterConfigs) if field.name not in {"topic", "deleted"}
)

# Kafka permits 10,000 (ReplicationControlManager.MAX_PARTITIONS_PER_BATCH), which takes 22 s here.
MAX_NEW_PARTITIONS: Final = 1_000

States = Mapping[TopicPartition, PartitionState]
Reason = tuple[bool, ErrorCode, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """The cluster metadata and live brokers that the topic requests need."""

    states: States
    alive: Sequence[BrokerId]  # in order; replicas are placed on them
    elr: bool = True
    bugs: Bugs = NO_BUGS

    def of_topic(self, topic: str) -> States:
        return {place: state for place, state in self.states.items() if place.topic == topic}


def create_topic(cluster: ClusterState, request: CreateTopic) -> tuple[States, CreatedTopic]:
    """Returns the partition registrations of a new topic, and the response.

    The replicas are placed round-robin over the live brokers.
    """
    name, replicas, alive = request.topic, request.replication_factor, len(cluster.alive)
    others = {place.topic for place in cluster.states}
    colliding = min((other for other in others if collide(name, other)), default="")
    refused = _first(
        (name in others, ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists."),
        (
            bool(colliding),
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topic: {colliding}",
        ),
        (bool(invalid_name(name)), ErrorCode.INVALID_TOPIC_EXCEPTION, invalid_name(name)),
        (
            replicas < 1,
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            request.topic_partitions < 1,
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        _too_many(request.topic_partitions),
        _too_few_brokers(replicas, alive),
    )
    if refused is not None:
        return {}, CreatedTopic(error=refused[0], message=refused[1])
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
    )
    return _placed(cluster, name, range(request.topic_partitions), replicas, like), CreatedTopic()


def create_partitions(
    cluster: ClusterState, request: CreatePartitions
) -> tuple[States, CreatedPartitions]:
    """Returns the registrations of the new partitions, with the topic's configuration."""
    name, count = request.topic, request.topic_partitions
    known = cluster.of_topic(name)
    replicas = max((len(state.replicas) for state in known.values()), default=0)
    refused = _first(
        _unknown(name, known),
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
        _too_few_brokers(replicas, len(cluster.alive)),
    )
    if refused is not None:
        return {}, CreatedPartitions(error=refused[0], message=refused[1])
    like = replace(
        known[TopicPartition(name, 0)],
        leader_epoch=LeaderEpoch(0),
        partition_epoch=PartitionEpoch(0),
        elr=(),
        last_known_leader=NO_BROKER,
        recovering=False,
    )
    return _placed(cluster, name, range(len(known), count), replicas, like), CreatedPartitions()


def alter_configs(cluster: ClusterState, request: AlterConfigs) -> tuple[States, AlteredConfigs]:
    """Returns the topic's partition registrations with the new configuration, and the response.

    If the request contains no setting, no registration is returned.
    """
    known = cluster.of_topic(request.topic)
    refused = _first(_unknown(request.topic, known))
    if refused is not None:
        return {}, AlteredConfigs(error=refused[0], message=refused[1])
    settings = {name: value for name in _SETTINGS if (value := getattr(request, name)) is not None}
    return {
        place: _reconfigured(cluster, state, settings, request.deleted)
        for place, state in known.items()
        if settings
    }, AlteredConfigs()


HANDLERS: Final[Mapping[type, Callable[[ClusterState, Any], tuple[States, Any]]]] = {
    CreateTopic: create_topic,
    CreatePartitions: create_partitions,
    AlterConfigs: alter_configs,
}


def _reconfigured(
    cluster: ClusterState,
    state: PartitionState,
    settings: Mapping[str, Any],
    deleted: frozenset[str],
) -> PartitionState:
    log = {name: value for name, value in settings.items() if name in _OF_LOG}
    rest = {name: value for name, value in settings.items() if name not in _OF_LOG}
    configured = (state.configured | settings.keys()) - deleted
    log_config = replace(state.log_config, **log)
    after = replace(state, log_config=log_config, configured=configured, **rest)
    has_elr = state.elr or state.last_known_leader != NO_BROKER
    if "min_insync_replicas" in settings and has_elr:
        next_epoch = PartitionEpoch(state.partition_epoch + 1)
        after = replace(after, elr=(), last_known_leader=NO_BROKER, partition_epoch=next_epoch)
    if after.leader != NO_BROKER or not settings.get("unclean_leader_election"):
        return after
    decided = elections.partition_change(
        after, after.isr, cluster.alive.__contains__, elr=cluster.elr, bugs=cluster.bugs
    )
    return after if decided.leader == NO_BROKER else decided


def _placed(
    cluster: ClusterState, topic: str, indexes: Iterable[int], replicas: int, like: PartitionState
) -> States:
    alive, placed = cluster.alive, dict[TopicPartition, PartitionState]()
    for index in indexes:
        on = tuple(alive[(index + step) % len(alive)] for step in range(replicas))
        placed[TopicPartition(topic, index)] = replace(like, replicas=on, isr=on, leader=on[0])
    return placed


def _unknown(topic: str, known: States) -> Reason:
    return not known, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic} does not exist"


def _too_many(partitions: int) -> Reason:
    return (
        partitions > MAX_NEW_PARTITIONS,
        ErrorCode.POLICY_VIOLATION,
        "Excessively large number of partitions per request.",
    )


def _too_few_brokers(replicas: int, alive: int) -> Reason:
    why = f"replication factor {replicas} must be 1 to {alive}, the number of live brokers"
    return not 1 <= replicas <= alive, ErrorCode.INVALID_REPLICATION_FACTOR, why


def _first(*reasons: Reason) -> tuple[ErrorCode, str] | None:
    return next(((error, why) for applies, error, why in reasons if applies), None)
