"""Stores objects in a memory-mapped file that the tasks of a local master read.

The functions of a task hold arrays that earlier passes over the history have computed. These arrays
take gigabytes for a large history. With the file, all tasks share one copy of the arrays, and no
array passes through Java. The arrays are read-only.

The file begins with the pickled object. The buffers of the object follow, as out-of-band data of
pickle protocol 5.
"""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark import cloudpickle

_dumps: Final[Any] = cloudpickle.dumps
_ALIGNED: Final = 64  # bytes; Arrow's recommendation for the start of a buffer


@dataclass(frozen=True, slots=True)
class Shared:
    """An object in a file. `sizes` has the size of the pickled object, then the sizes of its
    buffers.
    """

    path: str
    sizes: tuple[int, ...]  # bytes

    def load(self) -> Any:
        with open(self.path, "rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        starts = accumulate(map(_padded, self.sizes), initial=0)
        parts = [mapped[at : at + size] for at, size in zip(starts, self.sizes, strict=False)]
        return pickle.loads(parts[0], buffers=parts[1:])


def shared(value: Any, file: Path) -> Shared:
    """Writes an object to the file. Returns a small object with which a task loads the written
    object.
    """
    buffers: list[pickle.PickleBuffer] = []
    head = _dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    with file.open("wb") as sink:
        for part in parts:
            sink.write(part)
            sink.write(bytes(_padded(part.nbytes) - part.nbytes))
    return Shared(str(file), tuple(part.nbytes for part in parts))


def run_shared(task: Shared, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    run: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]] = task.load()
    yield from run(batches)


def _padded(size: int) -> int:
    return -size % _ALIGNED + size
