"""Every change of a file or folder in a data directory.

A killed process leaves either the old or the new version of a small file. An append may be cut
short; the next reader removes the torn end.

A power loss may undo any change that was not flushed: content by `flush` or `replace_file`, names
in a folder by `flush_folder`.

Source: Utils.atomicMoveWithFallback, Utils.flushDir and CheckpointFile of Kafka.
"""

from __future__ import annotations

import os
from pathlib import Path

from model.faults import InputFault


class BadDataDir(InputFault):
    """A data directory that cannot be used; the message names the file and the user's next move."""


def replace_file(path: Path, data: bytes, *, flushes: bool = True) -> None:
    """Replaces the content at once: a reader sees the old content or the new one.

    Without `flushes`, a power loss may leave a part of the new one.
    """
    new = path.with_name(path.name + ".tmp")
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        _write(file, data)
        if flushes:
            os.fsync(file)
    finally:
        os.close(file)
    os.replace(new, path)
    if flushes:
        flush_folder(path.parent)


def append(path: Path, data: bytes, *, flushes: bool = False) -> None:
    """Appends by one write(), also to a new file; `flushes` waits for the disk."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _write(file, data)
        if flushes:
            os.fdatasync(file)
    finally:
        os.close(file)


def truncate(path: Path, size: int) -> None:
    os.truncate(path, size)


def delete(path: Path) -> None:
    """Does nothing if the file does not exist."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def rename_file(path: Path, new: Path) -> bool:
    """Renames the file over any other; False if there is no file to rename."""
    try:
        os.replace(path, new)
    except FileNotFoundError:
        return False
    return True


def rename_folder(path: Path, new: Path) -> None:
    """Renames the folder and flushes its name, so a power loss does not undo this."""
    os.rename(path, new)
    flush_folder(path.parent)


def make_folder(path: Path) -> None:
    """The parent must exist; an existing folder stays."""
    if not path.exists():
        os.mkdir(path)


def delete_files(folder: Path) -> None:
    for file in folder.iterdir():
        os.unlink(file)
    os.rmdir(folder)


def flush(path: Path) -> None:
    """Waits until the content of the file is on the disk."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fdatasync(file)
    finally:
        os.close(file)


def flush_folder(path: Path) -> None:
    """Waits until all creations, renamings and deletions of files in the folder are on the disk."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]
