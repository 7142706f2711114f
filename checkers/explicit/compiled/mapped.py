"""Arrays in files of a temporary folder; the operating system caches as many pages as fit.

The disk space of a file is reserved before its array is made. Otherwise a write to a page without
disk space would end the process.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # NumPy starts more slowly than a small search runs
    from numpy.typing import DTypeLike, NDArray


@dataclass
class Files:
    """The files of one graph; the end of a `with` block closes them."""

    folder: Path
    used: int = 0  # files
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def opened(self, name: str) -> int:
        """Returns the descriptor of a new, empty file."""
        self.used += 1
        file = (self.folder / f"{self.used}-{name}").open("w+b")
        return self._open.enter_context(file).fileno()

    def empty(self, length: int, kind: DTypeLike) -> NDArray[Any]:
        """Returns an array in a new file, with zeros. Raises OSError if the disk has no room."""
        import numpy as np

        number, room = self.opened("array"), max(1, length * np.dtype(kind).itemsize)
        os.posix_fallocate(number, 0, room)
        return np.frombuffer(mmap(number, room), kind, length)
