"""Topics, as the controller administers them: created, grown, and configured anew.

    CreateTopic        every topic partition of a topic that was not there
    CreatePartitions   those that a topic lacks up to the new count: none ever goes away
    AlterConfigs       each partition state of the topic with what was told, the rest as it was

What a request changes is a mapping of partition states; it is empty where the request is refused.
A changed configuration alone is no change of the partition: its epochs stay, and so does a proposal
that is on its way. Two settings reach further. Who sets `min.insync.replicas`, also to what it was,
clears the ELR, which was kept for the minimum that was: where nobody leads, nobody may any more but
by an unclean election. Who allows those has one held wherever nobody leads.

Source: KIP-195, KIP-339, KIP-966, KAFKA-16540; protocol rules B4, B10.
Simplified: brokers learn a configuration with the whole image, so at one moment for all topic
partitions; the unclean election happens at once, not within unclean.leader.election.interval.ms;
replicas are placed by the controller, going around. Deviates: internal topics do not grow, as a
group or a transactional id would then change its coordinator and lose its state.
"""

from __future__ import annotations

import re
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

MAX_NAME: Final = 249
_NAME: Final = re.compile(rf"[a-zA-Z0-9._-]{{1,{MAX_NAME}}}")
_OF_LOG: Final = {field.name for field in fields(LogConfig)}
_SETTINGS: Final = tuple(field.name for field in fields(AlterConfigs) if field.name != "topic")

States = Mapping[TopicPartition, PartitionState]
Reason = tuple[bool, ErrorCode, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """What a change of a topic depends on."""

    states: States
    alive: Sequence[BrokerId]  # in order; replicas are placed on them
    elr: bool = True
    bugs: Bugs = NO_BUGS

    def of_topic(self, topic: str) -> States:
        """The topic's partition states; empty for a topic that is not known."""
        return {place: state for place, state in self.states.items() if place.topic == topic}


def create_topic(cluster: ClusterState, request: CreateTopic) -> tuple[States, CreatedTopic]:
    """A new topic: its replicas go around the living brokers, each partition one further."""
    name, replicas, alive = request.topic, request.replication_factor, len(cluster.alive)
    is_legal = _NAME.fullmatch(name) is not None and name not in {".", ".."}
    refused = _first(
        (
            not is_legal,
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"a topic name has 1 to {MAX_NAME} letters, digits, '.', '_' or '-', "
            "and is neither '.' nor '..'",
        ),
        (bool(cluster.of_topic(name)), ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name} exists"),
        (
            request.topic_partitions < 1,
            ErrorCode.INVALID_PARTITIONS,
            "a topic has at least one partition",
        ),
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
    )
    return _placed(cluster, name, range(request.topic_partitions), replicas, like), CreatedTopic()


def create_partitions(
    cluster: ClusterState, request: CreatePartitions
) -> tuple[States, CreatedPartitions]:
    """A topic with more partitions: the new ones are empty, and configured as the others are."""
    name, count = request.topic, request.topic_partitions
    known = cluster.of_topic(name)
    replicas = max((len(state.replicas) for state in known.values()), default=0)
    refused = _first(
        _unknown(name, known),
        (name in INTERNAL_TOPICS, ErrorCode.INVALID_PARTITIONS, f"{name} does not grow"),
        (
            count <= len(known),
            ErrorCode.INVALID_PARTITIONS,
            f"topic {name} has {len(known)} partitions already, and never fewer than it had",
        ),
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
    """A topic under another configuration."""
    known = cluster.of_topic(request.topic)
    refused = _first(_unknown(request.topic, known))
    if refused is not None:
        return {}, AlteredConfigs(error=refused[0], message=refused[1])
    told = {name: value for name in _SETTINGS if (value := getattr(request, name)) is not None}
    return {
        place: _reconfigured(cluster, state, told) for place, state in known.items() if told
    }, AlteredConfigs()


HANDLERS: Final[Mapping[type, Callable[[ClusterState, Any], tuple[States, Any]]]] = {
    CreateTopic: create_topic,
    CreatePartitions: create_partitions,
    AlterConfigs: alter_configs,
}


def _reconfigured(
    cluster: ClusterState, state: PartitionState, told: Mapping[str, Any]
) -> PartitionState:
    log = {name: value for name, value in told.items() if name in _OF_LOG}
    rest = {name: value for name, value in told.items() if name not in _OF_LOG}
    after = replace(state, log_config=replace(state.log_config, **log), **rest)
    has_elr = state.elr or state.last_known_leader != NO_BROKER
    if "min_insync_replicas" in told and has_elr:
        next_epoch = PartitionEpoch(state.partition_epoch + 1)
        after = replace(after, elr=(), last_known_leader=NO_BROKER, partition_epoch=next_epoch)
    if after.leader != NO_BROKER or not told.get("unclean_leader_election"):
        return after
    decided = elections.partition_change(
        after, after.isr, cluster.alive.__contains__, elr=cluster.elr, bugs=cluster.bugs
    )
    return after if decided.leader == NO_BROKER else decided


def _placed(
    cluster: ClusterState, topic: str, indexes: Iterable[int], replicas: int, like: PartitionState
) -> States:
    """New topic partitions, led by their first replicas."""
    alive, placed = cluster.alive, dict[TopicPartition, PartitionState]()
    for index in indexes:
        on = tuple(alive[(index + step) % len(alive)] for step in range(replicas))
        placed[TopicPartition(topic, index)] = replace(like, replicas=on, isr=on, leader=on[0])
    return placed


def _unknown(topic: str, known: States) -> Reason:
    return not known, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}"


def _too_few_brokers(replicas: int, alive: int) -> Reason:
    why = f"replication factor {replicas}; {alive} brokers are alive"
    return not 1 <= replicas <= alive, ErrorCode.INVALID_REPLICATION_FACTOR, why


def _first(*reasons: Reason) -> tuple[ErrorCode, str] | None:
    """The first reason that applies."""
    return next(((error, why) for applies, error, why in reasons if applies), None)
