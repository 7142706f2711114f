"""Writes of whole files and of appended bytes, and the error of an unusable data directory.

A small file is replaced as a whole: a killed process leaves either the old file or the new one. An
append may be cut short; whoever reads the file later removes the torn end.
"""

from __future__ import annotations

import os
from pathlib import Path

from model.faults import InputFault


class BadDataDir(InputFault):
    """The error for a data directory that cannot be used.

    The message names the file and what the user can do next.
    """


def replace_file(path: Path, data: bytes) -> None:
    """Replaces the file's content at once: a reader sees the old content or the new one."""
    new = path.with_name(path.name + ".tmp")
    new.write_bytes(data)
    new.replace(path)


def append(path: Path, data: bytes) -> None:
    """Appends the bytes with write(), and creates the file if it does not exist."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(file, left) :]
    finally:
        os.close(file)


def flush(path: Path) -> None:
    """Waits until the operating system has written the content of the file to the disk."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fdatasync(file)
    finally:
        os.close(file)
