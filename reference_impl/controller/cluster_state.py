"""The part of the cluster metadata that the controller needs for a request about topics, and
reasons to reject such a request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.controller import PartitionState
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.topic_defaults import NO_DEFAULTS, TopicDefaults

States = Mapping[TopicPartition, PartitionState]
Changes = Mapping[TopicPartition, PartitionState | None]  # None: the partition is removed
Reason = tuple[bool, ErrorCode, str]  # True if it applies; the error; the message


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    states: States
    alive: Sequence[BrokerId]  # in order; replicas are placed on these brokers
    registered: frozenset[BrokerId] = frozenset()  # including fenced brokers
    deletions: Mapping[str, int] = field(default_factory=dict[str, int])  # by topic
    defaults: TopicDefaults = NO_DEFAULTS
    elr: bool = True
    bugs: Bugs = NO_BUGS

    def of_topic(self, topic: str) -> States:
        return {place: state for place, state in self.states.items() if place.topic == topic}


def first_reason(*reasons: Reason) -> tuple[ErrorCode, str] | None:
    return next(((error, why) for applies, error, why in reasons if applies), None)


def unknown_topic(topic: str, known: States) -> Reason:
    """Returns whether the topic is unknown, and the error and text that then reject a request.

    `known` has the partition registrations of the topic. It is empty if the topic does not exist.
    """
    return not known, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic} does not exist"
