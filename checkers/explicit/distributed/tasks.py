"""The functions that tasks run on a partition of the states, with the compiled code of the spec.

A level is a sequence of byte strings with the stored forms of its states, one after another. Tasks
compare whole states and not only hashes, so no state is lost if two hashes are equal. The result of
a task depends only on its input, so a lost task can be repeated.
"""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.compiler import CannotCompile, loaded
from checkers.explicit.compiled.library import (
    OUT_OF_MEMORY,
    Sizes,
    check_memory,
    found_type,
    typed,
)
from checkers.explicit.compiled.spill import Rows, letter_type, view
from checkers.rounds import REPORT, Sent
from model.faults import InputFault

BATCH = 1 << 15  # states that are expanded together
KEPT = 1 << 18  # states of a level that are kept together

Broken = dict[int, tuple[bytes, bytes]]  # claim -> a state, and the state after a broken step


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of a task for one partition: some counts, and a violating state for each
    violated claim.
    """

    expanded: bool  # False: the task judged new states
    states: int = 0  # new ones
    generated: int = 0
    stuck: int = 0
    taken: Sequence[int] = ()
    seen: Sequence[int] = ()
    broken: Broken = field(default_factory=dict)
    undefined: bytes | None = None  # a state with an undefined term


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """The compiled code of a spec. Workers load it from a file that the driver sends to them."""

    file: Callable[[], str]
    sizes: Sizes
    open: Sequence[bool]  # for each claim, whether it is still to decide
    partitions: int

    @contextmanager
    def opened(self) -> Generator[Compiled]:
        """Yields the compiled code with an empty search. The end of the `with` block frees the
        memory of the search.
        """
        c = _loaded(self.file())
        search = c.search_open(1)
        if not search:
            raise InputFault(OUT_OF_MEMORY)
        try:
            found = found_type(self.sizes).from_address(c.search_found(search, 0))
            for number, is_open in enumerate(self.open):
                found.open[number] = is_open
            yield Compiled(c=c, search=search, found=found, sizes=self.sizes)
        finally:
            c.search_close(search)


@cache
def _loaded(file: str) -> ctypes.CDLL:
    try:
        return typed(loaded(Path(file)))
    except CannotCompile as fault:
        raise InputFault(
            "a worker cannot load the code that the driver compiled: "
            f"workers need the driver's platform ({fault})"
        ) from fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    c: Any
    search: Any
    found: Any
    sizes: Sizes

    def batches(self, level: Iterable[bytes], most: int = BATCH) -> Iterator[Rows]:
        """Yields the states of a level as arrays of at most `most` rows, one row for each state."""
        for stored in level:
            rows = np.frombuffer(stored, np.uint8).reshape(-1, self.sizes.state_bytes)
            for start in range(0, len(rows), most):
                yield rows[start : start + most]

    def successors(self, rows: Rows) -> Any:
        """Returns the successors of the states in `rows`. The field `parent` of a successor is
        the index of its predecessor in `rows`.
        """
        self.c.search_give(self.search, rows.ctypes.data, 0, len(rows))
        waiting = self.c.search_post(self.search)
        check_memory([self.found])
        letter = letter_type(self.sizes.words)
        address = self.c.search_letters(self.search)
        return view(address, waiting * letter.itemsize).view(letter)

    def add_new(self, sent: Iterable[bytes], earlier: Iterable[bytes]) -> Rows:
        """Returns the states in `sent` that are not in `earlier`, without duplicates."""
        for rows in self.batches(sent, KEPT):
            self.c.partition_add(self.search, rows.ctypes.data, len(rows))
            check_memory([self.found])
        count = self.c.search_count(self.search)
        known = np.zeros(count, np.uint8)
        for rows in self.batches(earlier, KEPT):
            self.c.partition_mark(self.search, rows.ctypes.data, len(rows), known.ctypes.data)
        width = self.sizes.state_bytes
        added: Rows = np.empty((count, width), np.uint8)
        self.c.search_keys(self.search, 0, count, added.ctypes.data)
        new: Rows = added[known == 0]
        return new

    def judge(self, rows: Rows) -> None:
        self.c.search_give(self.search, rows.ctypes.data, 0, len(rows))
        self.c.search_judge(self.search, len(rows))

    def add_broken(self, rows: Rows, broken: Broken) -> None:
        """Adds the first violation of each claim to `broken`, if `broken` has no violation of this
        claim yet.

        The violation is in a state of `rows`, or in a step from such a state.
        """
        for claim, number in enumerate(self.found.broken):
            if number and claim not in broken:
                after = bytes(self.found.broken_by[claim])[: self.sizes.state_bytes]
                broken[claim] = bytes(rows[number - 1]), after

    def undefined(self, rows: Rows) -> bytes | None:
        return bytes(rows[self.found.undefined - 1]) if self.found.undefined else None


def expand(kernel: Kernel, level: Iterable[bytes]) -> Iterator[Sent]:
    """Yields the successors of the states in one partition, grouped by the partition that stores
    the successor. Yields a report at the end.
    """
    with kernel.opened() as on:
        broken: Broken = {}
        undefined = None
        for rows in on.batches(level):
            successors = on.successors(rows)
            on.add_broken(rows, broken)
            undefined = on.undefined(rows)
            if undefined:
                break
            yield from _by_partition(successors, kernel)
        report = Report(
            expanded=True,
            generated=on.found.generated,
            stuck=on.found.stuck,
            taken=tuple(on.found.taken),
            broken=broken,
            undefined=undefined,
        )
        yield REPORT, pickle.dumps(report)


def _by_partition(successors: Any, kernel: Kernel) -> Iterator[Sent]:
    if not len(successors):
        return
    targets = partition_of(successors["hash"], kernel.partitions)
    order = np.argsort(targets, kind="stable")
    rows = successors["state"][:, : kernel.sizes.state_bytes][order]
    ends = np.cumsum(np.bincount(targets, minlength=kernel.partitions))
    for target, states in enumerate(np.split(rows, ends[:-1])):
        if len(states):
            yield target, states.tobytes()


def partition_of(hashes: NDArray[np.uint64], partitions: int) -> NDArray[np.uint16]:
    """Returns the number of the partition that stores a state, for each state's hash.

    The number depends on the low half of the hash, because the hash set of a partition uses the
    high half.
    """
    low = hashes & np.uint64(0xFFFFFFFF)
    return (low * np.uint64(partitions) >> np.uint64(32)).astype(np.uint16)


def collect(kernel: Kernel, sent: Iterable[bytes], earlier: Iterable[bytes]) -> Iterator[Sent]:
    """Yields the states in `sent` that are not in `earlier`. At the end, yields a report with the
    violations in these states.
    """
    with kernel.opened() as on:
        rows = on.add_new(sent, earlier)
        on.judge(rows)
        broken: Broken = {}
        on.add_broken(rows, broken)
        for start in range(0, len(rows), KEPT):
            yield 0, rows[start : start + KEPT].tobytes()
        report = Report(
            expanded=False,
            states=len(rows),
            seen=tuple(on.found.seen),
            broken=broken,
            undefined=on.undefined(rows),
        )
        yield REPORT, pickle.dumps(report)


def sources(kernel: Kernel, wanted: frozenset[bytes], level: Iterable[bytes]) -> Iterator[Sent]:
    """Yields a report that maps states of `wanted` to a predecessor. A state is included if it
    has a predecessor among the states of `level`.
    """
    found: dict[bytes, bytes] = {}
    with kernel.opened() as on:
        hashes = np.array([on.c.search_fingerprint(state) for state in wanted], np.uint64)
        for rows in on.batches(level):
            successors = on.successors(rows)
            for one in successors[np.isin(successors["hash"], hashes)]:
                state = one["state"].tobytes()[: kernel.sizes.state_bytes]
                if state in wanted:
                    found.setdefault(state, bytes(rows[one["parent"]]))
    yield REPORT, pickle.dumps(found)
