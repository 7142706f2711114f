"""The change from one metadata image to the next image, as a JSON object:

    {"version": 7, "brokers": [...], "changed": [[topic, partition, state], ...],
     "deleted": [[topic, partition], ...]}

The object has only the parts that differ from the receiver's previous image. An unchanged topic
partition retains its `PartitionState` object, so the broker can compare these objects by `is`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, get_type_hints

from model.vocabulary import TopicPartition
from reference_impl.disk import json_values
from reference_impl.protocol.controller import NO_METADATA, MetadataImage, PartitionState

_PARTITIONS: Final = "topic_partitions"
_HINTS: Final = get_type_hints(MetadataImage)


@dataclass(slots=True)
class MetadataChanges:
    """One side's copy of the metadata image. The sender and the receiver of the changes each have
    such a copy. The sender calls `to`, and the receiver calls `apply`.
    """

    _image: MetadataImage = NO_METADATA
    _known: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    _is_complete: bool = True  # the image has the known topic partitions

    @property
    def image(self) -> MetadataImage:
        if not self._is_complete:
            partitions = tuple(sorted(self._known.items(), key=lambda row: row[0]))
            self._image = replace(self._image, topic_partitions=partitions)
            self._is_complete = True
        return self._image

    def to(self, image: MetadataImage) -> dict[str, Any]:
        """Returns the change from the current image to `image`. `image` becomes the current
        image.
        """
        before, partitions = self.image, dict(image.topic_partitions)
        change: dict[str, Any] = {
            name: json_values.written(getattr(image, name))
            for name in (field.name for field in fields(image))
            if name != _PARTITIONS and getattr(image, name) != getattr(before, name)
        }
        change["changed"] = [
            [place.topic, place.index, json_values.written(state)]
            for place, state in partitions.items()
            if self._known.get(place) is not state
        ]
        change["deleted"] = [
            [place.topic, place.index] for place in self._known.keys() - partitions.keys()
        ]
        self._image, self._known = image, partitions
        return change

    def apply(self, change: dict[str, Any]) -> None:
        """Applies `change` to the current image. Raises ValueError, TypeError or KeyError if the
        change does not fit the current image.
        """
        parts = {**change}
        for topic, partition in parts.pop("deleted"):
            del self._known[TopicPartition(topic, partition)]
        for topic, partition, state in parts.pop("changed"):
            place = TopicPartition(topic, partition)
            self._known[place] = json_values.read(PartitionState, state)
        changed = {name: json_values.read(_HINTS[name], value) for name, value in parts.items()}
        self._image, self._is_complete = replace(self._image, **changed), False
