"""The topic ids of a metadata image, and the topics that have these ids.

A topic id is computed from the topic's name and the number of deleted topics that had this name. So
a topic that is deleted and then created again gets another id, as in Kafka.

Source: KIP-516.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from reference_impl.protocol.controller import MetadataImage
from reference_impl.protocol.topic_id import topic_id

_REMEMBERED: Final = 4  # brokers apply an image a little later than others


@dataclass(frozen=True, slots=True)
class TopicIds:
    """Maps each topic name to its id, and each id to the topic's name and incarnation (the
    number of deleted topics that had the name).
    """

    by_name: Mapping[str, UUID]
    by_id: Mapping[UUID, tuple[str, int]]

    def name_of(self, identity: UUID | None) -> str | None:
        """Returns the name of the topic with this id, or None if no topic has this id."""
        found = None if identity is None else self.by_id.get(identity)
        return None if found is None else found[0]


_newest: list[tuple[MetadataImage, TopicIds]] = []


def ids_of(seen: MetadataImage) -> TopicIds:
    """Returns the topic ids of a metadata image. The ids of the newest images are cached."""
    for known, ids in _newest:
        if known is seen:
            return ids
    incarnations = {place.topic: state.incarnation for place, state in seen.topic_partitions}
    by_name = {name: topic_id(name, number) for name, number in incarnations.items()}
    by_id = {by_name[name]: (name, number) for name, number in incarnations.items()}
    ids = TopicIds(by_name, by_id)
    _newest[:] = [*_newest[1 - _REMEMBERED :], (seen, ids)]
    return ids
