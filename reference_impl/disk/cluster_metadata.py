"""The cluster metadata on disk. The file has a JSON line for each version of the controller's
metadata image:

    {"version": 7, "starts": 3, "brokers": [...], "changed": [[topic, partition, state], ...],
     "deleted": [[topic, partition], ...]}

A line has only the parts that differ from the previous version. Each line is flushed before any
broker receives this version. If the last line is incomplete, no broker has received its version,
and the line is removed. When the cluster starts, one line with the whole image replaces all lines.

Source: KIP-631. This file replaces Kafka's log of metadata records.
Simplified: the format is JSON, not the format of Kafka's log `__cluster_metadata-0`. Kafka's tools
cannot read the file.
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
    """The newest metadata image, and the file that stores the cluster metadata.

    `starts` is the number of times that brokers of this cluster were started.
    """

    file: Path
    starts: int = 0
    _changes: MetadataChanges = field(default_factory=MetadataChanges)

    @property
    def image(self) -> MetadataImage:
        return self._changes.image

    @classmethod
    def of(cls, image: MetadataImage) -> ClusterMetadata:
        """Returns metadata with the image `image`, for a process that does not write the file of
        the metadata. Another process writes this file.
        """
        changes = MetadataChanges()
        changes.to(image)
        return cls(Path(), _changes=changes)

    @classmethod
    def open(cls, file: Path) -> ClusterMetadata:
        """Returns the metadata in the file, and rewrites the file as one line. Returns empty
        metadata if the file does not exist. Raises BadDataDir if the file is malformed.
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
        """Appends the changes of the new image to the file, and flushes the file. Does nothing if
        `image` is the image that was written most recently.

        `starts` is the number of times that brokers of this cluster were started.
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
