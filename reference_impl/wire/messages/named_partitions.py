"""Finds the topics and partitions that a request names in its fields.

The names of the fields differ between requests. Each line shows an example, and the requests that
have its form:

    topics [{name: "orders", partitions: [{partition_index: 0}]}]       most requests
    topics [{name: "orders", partition_indexes: [0]}]                   WriteTxnMarkers
    topics [{topic_id: 4ac2..., partitions: [{partition: 0}]}]          Fetch from version 13 on

Some requests, such as Metadata and CreateTopics, name topics without partitions.

Source: Kafka documentation, "Protocol Guide"; KIP-516 for topic ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final
from uuid import UUID

TOPIC: Final = ("name", "topic", "topic_id", "topic_name")
TOPICS: Final = frozenset(
    {"topics", "topic_data", "topic_names", "topic_partitions", "subscribed_topic_names"}
)
PARTITIONS: Final = ("partitions", "partition_data", "partition_indexes")
INDEX: Final = ("index", "partition_index", "partition")

TopicName = str | UUID
Place = tuple[TopicName, int]


def entities(message: Any) -> Iterator[Any]:
    """Yields the message, and each structure that is nested inside it."""
    yield message
    for each in fields(message):
        inside = getattr(message, each.name)
        if is_dataclass(inside):
            yield from entities(inside)
        elif isinstance(inside, tuple) and inside and is_dataclass(inside[0]):
            for one in inside:
                yield from entities(one)


def first_of(entity: Any, names: tuple[str, ...]) -> Any:
    """Returns the value of the first field in `names` that the object has, or None if it has
    none of them.
    """
    return next((getattr(entity, name) for name in names if hasattr(entity, name)), None)


def places_of(entity: Any) -> Iterator[Place]:
    """Yields the topic and the partition number for each partition of a topic entry. Yields nothing
    for any other object.

    For example, `{name: "orders", partitions: [{partition_index: 0}]}` yields ("orders", 0).
    """
    topic, below = first_of(entity, TOPIC), first_of(entity, PARTITIONS)
    if topic is None or not isinstance(below, tuple):
        return
    for one in below:
        index = one if isinstance(one, int) else first_of(one, INDEX)
        if index is not None:
            yield topic, int(index)


def named(message: Any) -> list[tuple[TopicName, int | None]]:
    """Returns the topics and partitions that a message names, without duplicates.

    Each entry is a topic and a partition number. The number is None if the message names only the
    topic.
    """
    found: dict[tuple[TopicName, int | None], None] = {}
    for entity in entities(message):
        for each in fields(entity):
            inside = getattr(entity, each.name)
            if each.name.removeprefix("v3_and_below_") in TOPICS and isinstance(inside, tuple):
                found.update(dict.fromkeys(place for one in inside for place in _of_topic(one)))
    return [*found]


def _of_topic(topic: Any) -> list[tuple[TopicName, int | None]]:
    if isinstance(topic, str):
        return [(topic, None)]
    if not is_dataclass(topic):
        return []
    within: list[tuple[TopicName, int | None]] = [*places_of(topic)]
    name = getattr(topic, "topic_id", None) or first_of(topic, TOPIC)
    return within or ([(name, None)] if name is not None else [])
