"""All operations that change a file or folder in a data directory.

If the process is killed, a file that `replace_file` writes has either its old or its new content.
An append may be incomplete. The next reader of the file removes the incomplete end.

A power loss may undo any change that was not flushed. `flush` and `replace_file` flush the content
of a file. `flush_folder` flushes the names in a folder.

Source: Utils.atomicMoveWithFallback, Utils.flushDir and CheckpointFile of Kafka.
"""

from __future__ import annotations

import os
from pathlib import Path

from model.faults import InputFault


class BadDataDir(InputFault):
    """Raised if a data directory cannot be used. The message names the file, and what the user can
    do next.
    """


def replace_file(path: Path, data: bytes, *, flushes: bool = True) -> None:
    """Replaces the content of the file atomically: a reader sees either the old or the new content.

    If `flushes` is False, the file may have only a part of the new content after a power loss.
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
    """Appends `data` to the file, usually with one call of write(). Creates the file if it does not
    exist. If `flushes` is True, waits until the data are on the disk.
    """
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
    """Deletes the file. Does nothing if the file does not exist."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def rename_file(path: Path, new: Path) -> bool:
    """Renames the file, and replaces an existing file of the name `new`. Returns False if the file
    `path` does not exist.
    """
    try:
        os.replace(path, new)
    except FileNotFoundError:
        return False
    return True


def rename_folder(path: Path, new: Path) -> None:
    """Renames the folder, and flushes its new name. A power loss cannot undo the renaming."""
    os.rename(path, new)
    flush_folder(path.parent)


def make_folder(path: Path) -> None:
    """Creates the folder, if it does not exist. Its parent folder must exist."""
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
