"""The cluster metadata on disk: a log of the changes of the controller's image.

    {"version": 7, "starts": 3, "brokers": [...], "changed": [[topic, partition, state], ...],
     "deleted": [[topic, partition], ...]}

The image is the metadata of the whole cluster. One line is one version of the image. A line has
only the parts that differ from the previous version. The line is written and flushed before any
broker receives this version. So a line that is incomplete, after a kill or a power loss, can be
removed: no broker has received its version. When the cluster starts, one line with the whole image
replaces all lines of the file.

Source: KIP-631. This file replaces Kafka's log of metadata records.
Simplified: JSON, not Kafka's `__cluster_metadata-0`, so Kafka's tools do not read it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reference_impl.disk.files import BadDataDir, append, flush_folder, replace_file
from reference_impl.disk.metadata_changes import MetadataChanges
from reference_impl.protocol.controller import MetadataImage


@dataclass(slots=True)
class ClusterMetadata:
    """The metadata log of one cluster; `starts` counts the starts of brokers."""

    file: Path
    starts: int = 0
    _changes: MetadataChanges = field(default_factory=MetadataChanges)

    @property
    def image(self) -> MetadataImage:
        return self._changes.image

    @classmethod
    def of(cls, image: MetadataImage) -> ClusterMetadata:
        """Returns the metadata of `image`, which another process stores on disk."""
        changes = MetadataChanges()
        changes.to(image)
        return cls(Path(), _changes=changes)

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
        if whole or torn:
            replace_file(file, metadata._line(MetadataChanges().to(metadata.image)))
        return metadata

    def keep(self, image: MetadataImage, starts: int) -> None:
        """Appends a new image to the file; does nothing if this image was the last one written.

        `starts` is the number of starts of brokers so far.
        """
        if image is self.image:
            return
        self.starts = starts
        is_new = not self.file.exists()
        append(self.file, self._line(self._changes.to(image)), flushes=True)
        if is_new:
            flush_folder(self.file.parent)

    def _line(self, change: dict[str, Any]) -> bytes:
        entry = {**change, "starts": self.starts}
        return json.dumps(entry, separators=(",", ":")).encode() + b"\n"

    def _apply(self, entry: dict[str, Any]) -> None:
        self.starts = entry.pop("starts")
        self._changes.apply(entry)
