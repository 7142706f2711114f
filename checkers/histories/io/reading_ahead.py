"""Reads the files of a history in order. Several threads read small files before the caller needs
them.

A large file is read only when the caller reaches it, because its tables may be too large for the
memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Final

import pyarrow as pa

from checkers.histories.io.locations import Place, Remote, Version, refuse_changed, version
from checkers.histories.io.small_files import SMALL_FILE_BYTES
from checkers.histories.io.sources import Reader

FILES_AT_ONCE: Final = 16  # of a store, where each waits for the network
LOCAL_FILES_AT_ONCE: Final = 2
_AHEAD: Final = 4  # files that are read ahead, for each thread


@dataclass(frozen=True, slots=True)
class _Opened:
    """A file of a history that a thread has opened in advance.

    `kept` has all tables of a small file. `kept` is None for a large file, which is read later.
    """

    read: Reader
    place: Place
    before: Version | None
    kept: list[pa.Table] | None

    def tables(self) -> Iterator[pa.Table]:
        yield from self.read(self.place) if self.kept is None else self.kept
        if self.before is not None:
            refuse_changed(self.place, self.before)


def read_in_order(
    found: Sequence[tuple[Reader, Place]],
) -> Iterator[tuple[Place, Iterator[pa.Table]]]:
    """Yields each file of a history, paired with the tables of the file.

    The caller must read the tables of a file before it continues with the next file. Raises
    UnreadableHistory or UnreadableLocation if a file cannot be read. If a file has changed during
    its read, the error is raised after the final table of this file.
    """
    if len(found) == 1:
        ((read, place),) = found
        before = None if place.is_dir() else version(place)
        yield place, _Opened(read, place, before, None).tables()
        return
    threads = FILES_AT_ONCE if isinstance(found[0][1], Remote) else LOCAL_FILES_AT_ONCE
    pool = ThreadPoolExecutor(threads)
    try:
        for opened in _ahead(pool, iter(found), _AHEAD * threads):
            yield opened.place, opened.tables()
    finally:
        pool.shutdown(cancel_futures=True)


def _ahead(
    pool: ThreadPoolExecutor, files: Iterable[tuple[Reader, Place]], count: int
) -> Iterator[_Opened]:
    files = iter(files)
    waiting = deque(_submitted(pool, files, count))
    while waiting:
        yield waiting.popleft().result()
        waiting.extend(_submitted(pool, files, 1))


def _submitted(
    pool: ThreadPoolExecutor, files: Iterator[tuple[Reader, Place]], count: int
) -> Iterator[Future[_Opened]]:
    return (pool.submit(_open, read, place) for read, place in islice(files, count))


def _open(read: Reader, place: Place) -> _Opened:
    before = version(place)
    is_small = before is not None and before.size <= SMALL_FILE_BYTES
    return _Opened(read, place, before, [*read(place)] if is_small else None)
