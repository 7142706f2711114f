"""The cluster metadata on disk: a log of the changes of the controller's image.

    {"version": 7, "starts": 3, "brokers": [...], "changed": [[topic, partition, state], ...],
     "deleted": [[topic, partition], ...]}

The image is the metadata of the whole cluster. One line is one version of the image. A line has
only the parts that differ from the previous version. It is written before any broker receives this
version. So a line that a killed process left incomplete can be removed: no broker has received its
version. When the cluster starts, one line with the whole image replaces all lines of the file.

Source: KIP-631. This file replaces Kafka's log of metadata records.
Simplified: JSON, not Kafka's `__cluster_metadata-0`, so Kafka's tools do not read it. The file is
not flushed: every line survives a crash of the process, but the last lines may be lost when the
host crashes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, get_type_hints

from model.vocabulary import TopicPartition
from reference_impl.disk import json_values
from reference_impl.disk.files import BadDataDir, append, replace_file
from reference_impl.protocol.controller import NO_METADATA, MetadataImage, PartitionState

_PARTITIONS: Final = "topic_partitions"
_HINTS: Final = get_type_hints(MetadataImage)


@dataclass(slots=True)
class ClusterMetadata:
    """The metadata log of one cluster; `starts` counts the starts of brokers."""

    file: Path
    image: MetadataImage = NO_METADATA
    starts: int = 0
    _known: dict[TopicPartition, PartitionState] = field(default_factory=dict)

    @classmethod
    def open(cls, file: Path) -> ClusterMetadata:
        """Returns the cluster metadata in the file; empty metadata if there is no file.

        Raises BadDataDir if the file is malformed.
        """
        metadata = cls(file)
        whole, _, torn = (file.read_bytes() if file.exists() else b"").rpartition(b"\n")
        for number, line in enumerate(whole.split(b"\n") if whole else (), 1):
            try:
                metadata._apply(json.loads(line))
            except (ValueError, TypeError, KeyError) as error:
                raise BadDataDir(
                    f"{file}, line {number}: {error!r}; restore the file, or name a new data "
                    "directory"
                ) from error
        partitions = tuple(sorted(metadata._known.items(), key=lambda row: row[0]))
        metadata.image = replace(metadata.image, topic_partitions=partitions)
        if whole or torn:
            complete = metadata._line(NO_METADATA, {}, metadata.image)
            replace_file(file, complete)
        return metadata

    def keep(self, image: MetadataImage, starts: int) -> None:
        """Appends a new image to the file; does nothing if this image was the last one written."""
        if image is self.image:
            return
        self.starts = starts
        append(self.file, self._line(self.image, self._known, image))
        self.image, self._known = image, dict(image.topic_partitions)

    def _line(
        self,
        before: MetadataImage,
        known: dict[TopicPartition, PartitionState],
        after: MetadataImage,
    ) -> bytes:
        partitions = dict(after.topic_partitions)
        entry: dict[str, Any] = {
            name: json_values.written(getattr(after, name))
            for name in (field.name for field in fields(after))
            if name != _PARTITIONS and getattr(after, name) != getattr(before, name)
        }
        entry["starts"] = self.starts
        entry["changed"] = [
            [place.topic, place.index, json_values.written(state)]
            for place, state in partitions.items()
            if known.get(place) is not state
        ]
        entry["deleted"] = [
            [place.topic, place.index] for place in known.keys() - partitions.keys()
        ]
        return json.dumps(entry, separators=(",", ":")).encode() + b"\n"

    def _apply(self, entry: dict[str, Any]) -> None:
        self.starts = entry.pop("starts")
        for topic, partition in entry.pop("deleted"):
            del self._known[TopicPartition(topic, partition)]
        for topic, partition, state in entry.pop("changed"):
            place = TopicPartition(topic, partition)
            self._known[place] = json_values.read(PartitionState, state)
        changed = {name: json_values.read(_HINTS[name], value) for name, value in entry.items()}
        self.image = replace(self.image, **changed)
