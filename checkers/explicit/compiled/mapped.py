"""Arrays in files of a temporary folder. The operating system caches as many pages as fit into
memory.

The disk space of a file is reserved before its first use, because a write to a page without disk
space would kill the process.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checkers.disk_full import FULL
from model.faults import InputFault

if TYPE_CHECKING:  # NumPy starts more slowly than a small search runs
    from numpy.typing import DTypeLike, NDArray


HAS_FILES = sys.platform == "linux"  # arrays in files grow by `mremap`


def cannot_grow(number: int) -> OSError | InputFault:
    """Returns the error for a file that the system refused to enlarge. `number` is the error number
    of the system.

    The error for a full disk is an OSError; the command line adds the name of the folder. The error
    for any other reason is an InputFault.
    """
    if number in FULL:
        return OSError(number, os.strerror(number))
    return InputFault(
        f"a temporary file cannot grow: {os.strerror(number)}; "
        "set TMPDIR to a folder of another disk"
    )


@dataclass
class Files:
    """The files of one search. The end of a `with` block closes and deletes them."""

    folder: Path
    used: int = 0  # files
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        self.delete()

    def delete(self) -> None:
        """Closes and deletes all files. After this call, `opened` can open new files."""
        self._open.close()

    def opened(self, name: str) -> int:
        self.used += 1
        path = self.folder / f"{self.used}-{name}"
        file = path.open("w+b")
        self._open.callback(path.unlink, missing_ok=True)
        return self._open.enter_context(file).fileno()

    def empty(self, length: int, kind: DTypeLike) -> NDArray[Any]:
        """Returns an array of zeros in a new file. If the file cannot grow, raises the error
        that `cannot_grow` returns.
        """
        import numpy as np

        number, room = self.opened("array"), max(1, length * np.dtype(kind).itemsize)
        try:
            os.posix_fallocate(number, 0, room)
        except OSError as error:
            raise cannot_grow(error.errno or 0) from error
        return np.frombuffer(mmap(number, room), kind, length)
