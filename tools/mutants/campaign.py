"""Tries mutants until the budget ends, from each part of the product in turn.

A *room* is one part of the product, with the tests that judge the mutants of this part. A seed
shuffles the mutants of each room.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Final

from tools.mutants.mutations import Mutant, mutants_of
from tools.mutants.record import Tried, tried
from tools.mutants.rooms import Room
from tools.mutants.trying import ROOT, Copy, Selection, Verdict, preload

SEED: Final = 20261123
Job = tuple[Room, Mutant]


class NotGreen(Exception):
    """Raised if tests fail although the code has no mutant, so they cannot judge mutants."""


def mutants_in(room: Room, seed: int, root: Path = ROOT) -> tuple[Mutant, ...]:
    """Returns all mutants of one part of the product, shuffled by the seed.

    A new or removed mutant does not change the order of the others.
    """

    def place(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed} {mutant.id}".encode()).hexdigest()

    every = (
        mutant
        for file in room.files(root)
        for mutant in mutants_of(file.relative_to(root).as_posix(), file.read_bytes())
    )
    return tuple(sorted(every, key=place))


def jobs(
    rooms: Sequence[Room],
    seed: int,
    wanted: Callable[[Mutant], bool],
    *,
    of_each: int | None = None,
) -> Iterator[Job]:
    """Yields (room, mutant) for each mutant for which `wanted` is true.

    A room is a part of the product with its tests. The rooms take turns: the first mutant of each
    room, then the second of each. A room's mutants after the first `of_each` are left out.
    """
    # So a campaign that is continued tries no mutants beyond the first ones.
    chosen = [[(room, it) for it in mutants_in(room, seed)[:of_each]] for room in rooms]
    for row in zip_longest(*chosen):
        yield from (job for job in row if job is not None and wanted(job[1]))


def outcomes(todo: Iterator[Job], *, until: float, processes: int) -> Iterator[Tried]:
    """Tries mutants in several processes, and yields the result of each.

    The mutants are taken in small batches. A new batch begins only before the time `until`, as
    measured by `time.monotonic`.
    """
    fork = multiprocessing.get_context("fork")
    preload()
    with ProcessPoolExecutor(processes, mp_context=fork, initializer=_open) as pool:
        while time.monotonic() < until:
            batch = [job for job, _ in zip(todo, range(2 * processes), strict=False)]
            if not batch:
                break
            yield from pool.map(_attempt, batch)
        for _ in pool.map(_close, range(processes)):
            pass


_copies: list[Copy] = []  # of this process
_cpu_s: dict[Selection, Mapping[str, float]] = {}  # what tests use here without a mutant


def _open() -> None:
    _copies.append(Copy())


def _close(_: int) -> None:
    with suppress(IndexError):
        _copies.pop().remove()


def _attempt(job: Job) -> Tried:
    room, mutant = job
    (copy,) = _copies
    unknown = [one for one in room.tests if one not in _cpu_s]
    if unknown:
        _cpu_s.update(dict.fromkeys(unknown, cpu_s_if_green(room, copy.unchanged(unknown))))
    cpu_s = {name: used for one in room.tests for name, used in _cpu_s[one].items()}
    return tried(room.name, mutant, copy.attempt(mutant, room.tests_of(mutant.file), cpu_s))


def cpu_s_if_green(room: Room, verdict: Verdict) -> Mapping[str, float]:
    """Returns the CPU seconds of each test; raises NotGreen if no test ran or one did not pass."""
    if verdict.outcome != "survived" or not verdict.cpu_s:
        raise NotGreen(f"{room.name}: {verdict.test or 'no test ran'}: {verdict.error}")
    return verdict.cpu_s


def is_new(done: Mapping[str, Tried]) -> Callable[[Mutant], bool]:
    return lambda mutant: mutant.id not in done


def survived(done: Mapping[str, Tried]) -> Callable[[Mutant], bool]:
    return lambda mutant: mutant.id in done and done[mutant.id].outcome == "survived"
