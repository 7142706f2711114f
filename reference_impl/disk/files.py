"""Every change of a file or folder in a data directory, and the error of an unusable directory.

A small file is replaced as a whole: a killed process leaves either the old file or the new one. An
append may be cut short; the next reader of the file removes the torn end.

A power loss may undo any change that was not flushed. A file's content is flushed by `flush`, and
names in a folder by `flush_folder`. `replace_file` flushes both, unless `flushes` is false.

Source: Utils.atomicMoveWithFallback, Utils.flushDir and CheckpointFile of Kafka.
"""

from __future__ import annotations

import os
from pathlib import Path

from model.faults import InputFault


class BadDataDir(InputFault):
    """The error for a data directory that cannot be used.

    The message names the file and what the user can do next.
    """


def replace_file(path: Path, data: bytes, *, flushes: bool = True) -> None:
    """Replaces the file's content at once: a reader sees the old content or the new one.

    Without `flushes`, a power loss may leave the old content, or a part of the new one.
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
    """Appends the bytes with write(), and creates the file if it does not exist.

    With `flushes`, waits until the bytes are on the disk.
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
    """Deletes the file; does nothing if it does not exist."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def rename_file(path: Path, new: Path) -> bool:
    """Renames the file, and replaces any file with the new name.

    Returns False if there is no file to rename.
    """
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
    """Creates the folder, if it does not exist; its parent must exist."""
    if not path.exists():
        os.mkdir(path)


def delete_files(folder: Path) -> None:
    """Deletes the folder with its files."""
    for file in folder.iterdir():
        os.unlink(file)
    os.rmdir(folder)


def flush(path: Path) -> None:
    """Waits until the operating system has written the content of the file to the disk."""
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
