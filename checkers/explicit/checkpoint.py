"""A checkpoint on the disk: the state of a search at one moment, in files that never change.

The file `checkpoint.json` lists the other files of the checkpoint. A new list replaces the old list
by a rename, and all files of a list are on the disk before the rename. So if the process is killed
at any moment, the folder contains a complete checkpoint: the new one or the previous one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from checkers.run_files import CHECKPOINT_LIST
from model.faults import InputFault

Bytes = NDArray[np.uint8]

VERSION: Final = 1
NEW_LIST: Final = f"{CHECKPOINT_LIST}.new"
BLOCK: Final = 1 << 24  # bytes that are written or read together
AGAIN: Final = "explore again without --resume"


class UnusableCheckpoint(InputFault):
    """Raised if there is no checkpoint, or if its files are damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A file of a checkpoint: the bytes of some arrays, one array after the other.

    `parts` maps the name of each array to its number of bytes and its checksum.
    """

    file: Path
    parts: Mapping[str, tuple[int, int]]
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def write(
        cls, file: Path, arrays: Mapping[str, Sequence[Bytes]], facts: Mapping[str, Any]
    ) -> Segment:
        """Writes the arrays to a new file, and returns after the system has stored the file on
        the disk.
        """
        parts: dict[str, tuple[int, int]] = {}
        with file.open("xb") as opened:
            for name, array in arrays.items():
                checksum = 0
                for block in blocks(array):
                    checksum = crc32(block.data, checksum)
                    opened.write(block.data)
                parts[name] = sum(map(len, array)), checksum
            opened.flush()
            os.fsync(opened.fileno())
        return cls(file=file, parts=parts, facts=facts)

    def bytes_of(self, name: str) -> int:
        return self.parts[name][0] if name in self.parts else 0

    def part(self, name: str) -> Bytes:
        """Returns the bytes of the array `name`, as a memory map of the file. Returns an empty
        array if the file has no bytes of this array.
        """
        names, size = list(self.parts), self.bytes_of(name)
        if not size:
            return np.empty(0, np.uint8)
        first = sum(self.bytes_of(one) for one in names[: names.index(name)])
        return np.memmap(self.file, np.uint8, "r", first, (size,))

    def verify(self) -> None:
        """Raises UnusableCheckpoint if the file is missing, has another size, or has a wrong
        checksum.
        """
        wanted = sum(map(self.bytes_of, self.parts))
        try:
            size = self.file.stat().st_size
        except OSError as why:
            raise UnusableCheckpoint(f"{self.file}: {why.strerror}; {AGAIN}") from why
        if size != wanted:
            raise UnusableCheckpoint(f"{self.file}: {size:,} bytes instead of {wanted:,}; {AGAIN}")
        for name, (_, checksum) in self.parts.items():
            found = 0
            for block in blocks([self.part(name)]):
                found = crc32(block.data, found)
            if found != checksum:
                raise UnusableCheckpoint(f"{self.file}: the checksum of {name} is wrong; {AGAIN}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A saved search: the facts about the search, and the files with its arrays.

    A search can resume from this checkpoint only if it has an equal `identity`: the same spec,
    constants, claims and code. `command` is the command line that repeats the saved search, without
    its options for checkpoints.
    """

    segments: tuple[Segment, ...]
    facts: Mapping[str, Any]
    identity: Mapping[str, Any]
    command: str
    every_s: float
    written: str  # ISO 8601, UTC

    @classmethod
    def read(cls, folder: Path) -> Checkpoint:
        """Returns the checkpoint of the folder, after a check of all its files.

        Raises UnusableCheckpoint if there is no checkpoint, if another release wrote it, or if a
        file is damaged.
        """
        path = folder / CHECKPOINT_LIST
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            version, values = document["version"], document["checkpoint"]
            same = crc32(_text(values)) == document["checksum"]
        except OSError as why:
            raise UnusableCheckpoint(f"{path}: {why.strerror}; {AGAIN}") from why
        except (ValueError, KeyError, TypeError) as why:
            raise UnusableCheckpoint(f"{path}: it is not a whole checkpoint; {AGAIN}") from why
        if version != VERSION:
            raise UnusableCheckpoint(
                f"{path}: another release of Urteil wrote it; resume with that release, or {AGAIN}"
            )
        if not same:
            raise UnusableCheckpoint(f"{path}: its checksum is wrong; {AGAIN}")
        segments = tuple(
            Segment(file=folder / one["file"], parts=one["parts"], facts=one["facts"])
            for one in values.pop("segments")
        )
        for segment in segments:
            segment.verify()
        return cls(segments=segments, **values)

    def save(self, folder: Path) -> None:
        """Replaces the list of files in the folder by the list of this checkpoint. The caller
        must have written the files before.
        """
        values = {
            "segments": [
                {"file": one.file.name, "parts": one.parts, "facts": one.facts}
                for one in self.segments
            ],
            "facts": self.facts,
            "identity": self.identity,
            "command": self.command,
            "every_s": self.every_s,
            "written": self.written,
        }
        document = {"version": VERSION, "checksum": crc32(_text(values)), "checkpoint": values}
        new = folder / NEW_LIST
        with new.open("w", encoding="utf-8") as file:
            file.write(json.dumps(document))
            file.flush()
            os.fsync(file.fileno())
        new.replace(folder / CHECKPOINT_LIST)

    def delete_others(self, folder: Path) -> None:
        """Deletes all files of the folder that do not belong to this checkpoint. The caller must
        have saved this checkpoint before.
        """
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)  # else a power loss could bring back the list before
        finally:
            os.close(opened)
        needed = {CHECKPOINT_LIST, *(one.file.name for one in self.segments)}
        for file in folder.iterdir():
            if file.name not in needed:
                file.unlink()


def blocks(arrays: Sequence[Bytes]) -> Iterator[Bytes]:
    for array in arrays:
        for first in range(0, len(array), BLOCK):
            yield array[first : first + BLOCK]


def _text(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, sort_keys=True).encode()
