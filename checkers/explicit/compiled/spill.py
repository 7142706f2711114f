"""Stores states on disk, for a search that exceeds its memory limit.

The search processes the successors of a level in batches. The new states of a batch become a *run*:
files with these states, sorted by hash. To find out which states of a later batch are new, the
batch is sorted and compared with all earlier runs in one pass. If several states have the same
hash, a run contains the first of them. The other states with this hash are few; they stay in memory
as *twins*.

Source: Stern and Dill, Using magnetic disk instead of main memory in the Murphi verifier, 1998.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.explicit.compiled.library import Library

Hashes = NDArray[np.uint64]
Rows = NDArray[np.uint8]  # stored states, one a row

CHUNK = 1 << 16  # rows of a run that are read together
LETTER = 120  # bytes of memory for each successor of a batch


@dataclass(frozen=True, slots=True)
class Run:
    """The new states of a batch of successors, sorted by hash, in a file. A second file has
    their hashes.
    """

    hashes: Path
    states: Path | None  # None: fingerprints only
    firsts: Hashes  # the first hash of every chunk

    def row_ranges(self, wanted: Hashes, width: int) -> Iterator[tuple[slice, Hashes, Rows | None]]:
        """Yields the parts of this run that can contain some of the hashes `wanted`, which must be
        sorted. A state has `width` bytes.

        For each part, yields three values: the slice of `wanted` that the part can contain, the
        hashes in the part, and the states in the part. The states are None if the search stores
        only hashes.
        """
        bounds = np.searchsorted(wanted, self.firsts[1:])
        starts, ends = [0, *bounds.tolist()], [*bounds.tolist(), len(wanted)]
        for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if start < end:
                at = k * CHUNK
                hashes = np.fromfile(self.hashes, np.uint64, CHUNK, offset=8 * at)
                states = None
                if self.states is not None:
                    size = CHUNK * width
                    states = np.fromfile(self.states, np.uint8, size, offset=width * at)
                    states = states.reshape(-1, width)
                yield slice(start, end), hashes, states


@dataclass
class Spilled:
    library: Library
    folder: Path
    memory: int
    found: int = 0  # states
    level: tuple[int, int] = (0, 0)
    judged: int = 0
    expanded: int = 0
    runs: list[Run] = field(default_factory=list)
    twins: set[bytes] = field(default_factory=set)  # states with the hash of another state

    def __post_init__(self) -> None:
        self.width = self.library.source.layout.state_bytes
        self.quota = max(self.memory // 4 // LETTER, 1024)  # successors of a batch
        self.letter = letter_type(self.library.source.layout.words)
        self._take_over()

    def _take_over(self) -> None:
        c, search = self.library.c, self.library.search
        count, size = self.library.count(), self.library.queue()
        self.found, self.level = count, (count - size, count)
        self.judged = self.expanded = count - size
        with self._file("keys").open("wb") as keys, self._file("parents").open("wb") as parents:
            for start in range(0, count, CHUNK):
                rows = min(CHUNK, count - start)
                keys.write(self._copied(c.search_keys, start, rows, self.library.key_bytes).data)
                part = np.empty(rows, np.uint32)
                c.search_parents(search, start, rows, part.ctypes.data)
                parents.write(part.data)
        with self._frontier(self.level[0]).open("wb") as file:
            for start in range(self.level[0], count, CHUNK):
                rows = min(CHUNK, count - start)
                file.write(self._copied(c.search_level, start, rows, self.width).data)
        for start in range(0, count, self.quota):
            rows = min(self.quota, count - start)
            self._take_run(self._copied(c.search_keys, start, rows, self.library.key_bytes))
        c.search_forget(search)

    def _copied(self, copy: Callable[..., None], first: int, count: int, width: int) -> Rows:
        rows = np.empty((count, width), np.uint8)
        copy(self.library.search, first, count, rows.ctypes.data)
        return rows

    def _take_run(self, rows: Rows) -> None:
        if self.library.fingerprints:
            self._keep(np.sort(np.ascontiguousarray(rows).view(np.uint64).ravel()), None)
            return
        hashes = self._hashes(rows)
        order = np.argsort(hashes)
        known, twins = self._compared(hashes[order], rows, order)
        again = np.append(False, np.diff(hashes[order]) == 0)
        self.twins |= {bytes(rows[k]) for k in (*twins, *order[again])}
        order = order[~known & ~again]
        self._keep(hashes[order], rows[order])

    # ---- the interface of the library

    def next_level(self) -> int:
        self._frontier(self.level[0]).unlink(missing_ok=True)
        self.level = (self.level[1], self.found)
        self.judged = self.expanded = self.level[0]
        return self.found - self.level[0]

    def judge(self, quota: int) -> int:
        self.judged += self._give(self.judged, quota)
        self.library.judge(quota)
        return self.level[1] - self.judged

    def expand(self, quota: int) -> int:
        self.expanded += self._give(self.expanded, quota)
        waiting: int = self.library.c.search_post(self.library.search)
        left = self.level[1] - self.expanded
        if waiting and (waiting > self.quota or not left):
            address = self.library.c.search_letters(self.library.search)
            self._add_new(view(address, waiting * self.letter.itemsize).view(self.letter))
        return left

    def count(self) -> int:
        return self.found

    def queue(self) -> int:
        return self.found - self.expanded

    def key(self, number: int) -> bytes:
        return self._row("keys", number, self.library.key_bytes)

    def parent(self, number: int) -> int:
        return int.from_bytes(self._row("parents", number, 4), "little")

    # ---- batches

    def _give(self, first: int, quota: int) -> int:
        count = min(quota, self.level[1] - first)
        offset = (first - self.level[0]) * self.width
        path = self._frontier(self.level[0])
        self.states = np.fromfile(path, np.uint8, count * self.width, offset=offset)
        address = self.states.ctypes.data
        self.library.c.search_give(self.library.search, address, first, count)
        return count

    def _add_new(self, letters: Any) -> None:
        hashes, states = letters["hash"].copy(), self._rows(letters)
        order = np.argsort(hashes)
        new = np.ones(len(order), bool)
        new[1:] = np.diff(hashes[order]) != 0
        first = order[new]  # one state for each hash
        known, twins = self._compared(hashes[first], states, first)
        fresh = first[~known]
        exact = not self.library.fingerprints
        self._keep(hashes[fresh], states[fresh] if exact else None)
        new_twins = [k for k in twins.tolist() if self._is_new_twin(bytes(states[k]))]
        self._append(letters, np.sort(np.concatenate([fresh, np.array(new_twins, fresh.dtype)])))
        if (
            exact and not new.all()
        ):  # other states of the same hash, after the first one is in a run
            owner = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
            again = np.flatnonzero(~new)
            differ = (states[order[again]] != states[owner[again]]).any(axis=1)
            if differ.any():
                self._add_new(letters[np.sort(order[again][differ])])

    def _compared(
        self, hashes: Hashes, states: Rows, first: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        known, twins = np.zeros(len(hashes), bool), [first[:0]]
        for run in self.runs:
            for part, theirs, rows in run.row_ranges(hashes, self.width):
                at = np.minimum(np.searchsorted(theirs, hashes[part]), len(theirs) - 1)
                same = np.flatnonzero(theirs[at] == hashes[part])
                known[part.start + same] = True
                if rows is not None:
                    mine = first[part][same]
                    twins.append(mine[(rows[at[same]] != states[mine]).any(axis=1)])
        return known, np.concatenate(twins)

    def _is_new_twin(self, state: bytes) -> bool:
        before = len(self.twins)
        self.twins.add(state)
        return len(self.twins) > before

    def _append(self, letters: Any, fresh: NDArray[np.int64]) -> None:
        rows = self._rows(letters)[fresh]
        keys = letters["hash"][fresh] if self.library.fingerprints else rows
        with self._file("keys").open("ab") as file:
            file.write(np.ascontiguousarray(keys).data)
        with self._file("parents").open("ab") as file:
            file.write(letters["parent"][fresh].astype(np.uint32).data)
        with self._frontier(self.level[1]).open("ab") as file:
            file.write(np.ascontiguousarray(rows).data)
        self.found += len(fresh)

    def _keep(self, hashes: Hashes, states: Rows | None) -> None:
        if not len(hashes):
            return
        number = len(self.runs)
        write(hashes, self._file(f"run-{number}-hashes"))
        file = None
        if states is not None:
            file = self._file(f"run-{number}-states")
            write(states, file)
        self.runs.append(Run(self._file(f"run-{number}-hashes"), file, hashes[::CHUNK].copy()))

    # ---- files

    def _rows(self, letters: Any) -> Rows:
        rows: Rows = letters["state"][:, : self.width]
        return rows

    def _hashes(self, rows: Rows) -> Hashes:
        out = np.empty(len(rows), np.uint64)
        packed = np.ascontiguousarray(rows)
        self.library.c.search_hash(packed.ctypes.data, len(rows), out.ctypes.data)
        return out

    def _row(self, name: str, number: int, width: int) -> bytes:
        with self._file(name).open("rb") as file:
            file.seek(number * width)
            return file.read(width)

    def _frontier(self, first: int) -> Path:
        return self._file(f"level-{first}")

    def _file(self, name: str) -> Path:
        return self.folder / name


def write(array: NDArray[Any], path: Path) -> None:
    """Writes the array to a file. An OSError has the system's error number, which
    `ndarray.tofile` would not report.
    """
    path.write_bytes(np.ascontiguousarray(array).data)


def letter_type(words: int) -> np.dtype[Any]:
    """Returns the NumPy type of the C structure `Letter`: a state, its hash, and the number of
    its predecessor.
    """
    fields = [("state", "u1", 8 * words), ("hash", "u8"), ("parent", "u4"), ("place", "u4")]
    return np.dtype(fields)


def view(address: int, size: int) -> NDArray[np.uint8]:
    """Returns `size` bytes at an address in the memory of the C code, as an array without a
    copy.
    """
    if not size:
        return np.empty(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
