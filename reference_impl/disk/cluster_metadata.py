"""The cluster metadata on disk: one JSON line for each version of the controller's image.

    {"version": 7, "starts": 3, "brokers": [...], "changed": [[topic, partition, state], ...],
     "deleted": [[topic, partition], ...]}

A line has only the parts that differ from the previous version. It is flushed before any broker
receives this version, so an incomplete last line can be removed. When the cluster starts, one line
with the whole image replaces all lines.

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
    """`starts` is the number of starts of brokers."""

    file: Path
    starts: int = 0
    _changes: MetadataChanges = field(default_factory=MetadataChanges)

    @property
    def image(self) -> MetadataImage:
        return self._changes.image

    @classmethod
    def of(cls, image: MetadataImage) -> ClusterMetadata:
        """The metadata of `image`, which another process stores on disk."""
        changes = MetadataChanges()
        changes.to(image)
        return cls(Path(), _changes=changes)

    @classmethod
    def open(cls, file: Path) -> ClusterMetadata:
        """Empty metadata if there is no file; raises BadDataDir if the file is malformed."""
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
        """Appends a new image to the file, if it is not the last one written.

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
