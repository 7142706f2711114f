"""Temporary folders. If a process is killed, the next start of Urteil removes the folders of the
killed process.

A process holds a lock on each of its folders. A folder without a lock therefore belongs to a
process that has ended.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

PREFIX: Final = "urteil-scratch-"
_VARIABLE: Final = "TMPDIR"


@contextmanager
def scratch(parent: Path) -> Generator[Path]:
    """Yields a new, locked folder below `parent`, and removes the folder when the `with` block
    ends.

    Raises OSError if `parent` cannot be used.
    """
    remove_abandoned(parent)
    folder, lock = _new(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # a later start tries again
        os.close(lock)


@contextmanager
def temporary_files() -> Generator[None]:
    """Creates one folder for the temporary files of this process and of its child processes. The
    folder is removed when the `with` block ends.

    If the system's folder for temporary files is not writable, no folder is created, and the
    processes use their usual folder.
    """
    with ExitStack() as closing:
        try:
            folder = closing.enter_context(scratch(Path(tempfile.gettempdir())))
        except OSError:
            yield
            return
        before, variable = tempfile.tempdir, os.environ.get(_VARIABLE)
        tempfile.tempdir = os.environ[_VARIABLE] = str(folder)
        try:
            yield
        finally:
            tempfile.tempdir = before
            if variable is None:
                del os.environ[_VARIABLE]
            else:
                os.environ[_VARIABLE] = variable


def remove_abandoned(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        lock = locked(folder)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def locked(path: Path) -> int | None:
    """Locks the file or folder `path`, and returns its open file descriptor.

    Returns None if another process holds the lock, if `path` does not exist, or if it belongs to
    another user. Raises OSError on a file system without locks.
    """
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:  # gone, a link, or another user's
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(opened).st_uid == os.getuid() and path.exists():
            return opened
    except BlockingIOError:
        pass
    except OSError:
        os.close(opened)
        raise
    os.close(opened)
    return None


def _new(parent: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        lock = locked(folder)
        if lock is not None:
            return folder, lock
        # Another process began at the same time, and has removed the folder.
