"""The server-side assignors of KIP-848, which are pure functions.

An assignor assigns every partition of a subscribed topic to exactly one subscriber. The order in
which the members are passed does not change the result.

- *range*: the subscribers of a topic, in the order of their ids, get consecutive partitions of the
  topic. If the division has a remainder, each of the first members gets one additional partition.
- *uniform*: if all members have the same subscription, the numbers of partitions of two members
  differ by at most one. Each member retains as many of its partitions as this balance allows.

Source: KIP-848; RangeAssignor and UniformAssignor of Apache Kafka.
Simplified: racks are ignored. Kafka's range assignor tries to assign the same partition numbers of
several topics to one member, if the topics have the same number of partitions. This assignor does
so only if the topics also have the same subscribers. The uniform assignor moves one partition at a
time, and its run time is quadratic in the number of members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from model.vocabulary import TopicPartition

Subscriptions = Mapping[str, frozenset[str]]  # member id: topics
PartitionCounts = Mapping[str, int]  # topic: number of partitions
Assignment = Mapping[str, frozenset[TopicPartition]]  # member id: its partitions
Assignor = Callable[[Subscriptions, PartitionCounts, Assignment], Assignment]


def by_range(members: Subscriptions, topics: PartitionCounts, _current: Assignment) -> Assignment:
    """Returns an assignment of consecutive partitions of each topic to its subscribers.

    >>> parts = by_range({"a": frozenset("t"), "b": frozenset("t")}, {"t": 3}, {})
    >>> [sorted(str(partition) for partition in part) for part in parts.values()]
    [['t-0', 't-1'], ['t-2']]
    """
    parts: dict[str, set[TopicPartition]] = {member: set() for member in sorted(members)}
    for topic, count in sorted(topics.items()):
        subscribers = [member for member in parts if topic in members[member]]
        if not subscribers:
            continue
        each, more = divmod(count, len(subscribers))
        ends = [each * (n + 1) + min(n + 1, more) for n in range(len(subscribers))]
        for member, start, end in zip(subscribers, [0, *ends], ends, strict=False):
            parts[member] |= {TopicPartition(topic, index) for index in range(start, end)}
    return {member: frozenset(part) for member, part in parts.items()}


def uniform(members: Subscriptions, topics: PartitionCounts, current: Assignment) -> Assignment:
    """Returns a balanced assignment that moves few partitions of the `current` assignment.

    >>> before = {"a": frozenset({TopicPartition("t", 1)})}
    >>> parts = uniform({"a": frozenset("t"), "b": frozenset("t")}, {"t": 2}, before)
    >>> [sorted(str(partition) for partition in part) for part in parts.values()]
    [['t-1'], ['t-0']]
    """
    parts: dict[str, set[TopicPartition]] = {member: set() for member in sorted(members)}
    partitions = [
        TopicPartition(topic, index)
        for topic, count in sorted(topics.items())
        for index in range(count)
    ]
    owners = {
        partition: member for member in reversed(parts) for partition in current.get(member, ())
    }

    def least_loaded(partition: TopicPartition) -> str | None:
        able = [member for member in parts if partition.topic in members[member]]
        return min(able, key=lambda member: (len(parts[member]), member), default=None)

    for partition in partitions:
        owner = owners.get(partition)
        if owner is not None and partition.topic in members[owner]:
            parts[owner].add(partition)
    kept = {partition for part in parts.values() for partition in part}
    for partition in partitions:
        if partition not in kept and (member := least_loaded(partition)) is not None:
            parts[member].add(partition)
    # The member that loses a partition has at least two more than the member that gets it. Each
    # move decreases the sum of the squared numbers, so the loop ends.
    moved = True
    while moved:
        moved = False
        for owner in sorted(parts, key=lambda member: (-len(parts[member]), member)):
            for partition in sorted(parts[owner], reverse=True):
                to = least_loaded(partition)
                if to is not None and len(parts[to]) + 1 < len(parts[owner]):
                    parts[owner].remove(partition)
                    parts[to].add(partition)
                    moved = True
    return {member: frozenset(part) for member, part in parts.items()}


ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": uniform, "range": by_range}
DEFAULT_ASSIGNOR: Final = "uniform"
