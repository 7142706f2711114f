"""Files and folders that are renamed at once, and deleted after file.delete.delay.ms. Each line has
an old name and the new name:

    00000000000000000042.log    00000000000000000042.log.deleted
    orders-0                    orders-0.6f0a0f3e0c0e4d4e8d5775727465696c-delete

When the broker starts, it deletes all renamed files and folders.

Source: LocalLog.deleteSegmentFiles, LogManager.asyncDelete and UnifiedLog.logDeleteDirName of
Apache Kafka.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

from reference_impl.disk.files import delete, delete_files, rename_file, rename_folder

DELETED: Final = ".deleted"
OF_FOLDER: Final = "-delete"
LONGEST: Final = 255  # the longest name in common file systems, in bytes


def mark_file(path: Path) -> tuple[Path, ...]:
    """Renames the file, which marks it as deleted. Returns a tuple with the new path, or () if the
    file does not exist.
    """
    gone = path.with_name(path.name + DELETED)
    return (gone,) if rename_file(path, gone) else ()


def mark_folder(path: Path) -> Path:
    """Renames the folder, which marks it as deleted, and returns the new path. No reader can then
    see a folder that is deleted only in part.
    """
    suffix = f".{uuid4().hex}{OF_FOLDER}"
    gone = path.with_name(path.name[: LONGEST - len(suffix)] + suffix)
    rename_folder(path, gone)
    return gone


@dataclass(slots=True)
class DeferredDeletion:
    _due: list[tuple[int, Path]] = field(default_factory=list[tuple[int, Path]])

    def add(self, paths: Iterable[Path], at_ms: int) -> None:
        for path in paths:
            heapq.heappush(self._due, (at_ms, path))

    def run(self, now_ms: int) -> None:
        while self._due and self._due[0][0] <= now_ms:
            _, path = heapq.heappop(self._due)
            if path.is_dir():
                delete_files(path)
            else:
                delete(path)
