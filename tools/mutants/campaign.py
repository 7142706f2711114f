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
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from tools.mutants.forks import Forks
from tools.mutants.mutations import Mutant, mutants_of
from tools.mutants.record import Tried, tried
from tools.mutants.recorded import Cache
from tools.mutants.rooms import Room
from tools.mutants.trying import ROOT, Copy, Outcome, Verdict, preload

SEED: Final = 20261123
IN_TURN: Final = 10  # mutants of one room in a row, so that few processes collect its tests
Job = tuple[Room, Mutant]


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

    A room is a part of the product with its tests. The room with the fewest tried mutants is next.
    Of each room, only the first `of_each` mutants are used.
    """
    # So a campaign that is continued tries no mutants beyond the first ones.
    every = {room: mutants_in(room, seed)[:of_each] for room in rooms}
    left = {room: [*filter(wanted, some)] for room, some in every.items()}
    while any(left.values()):
        room = min(
            (room for room in rooms if left[room]), key=lambda it: len(every[it]) - len(left[it])
        )
        yield from ((room, mutant) for mutant in left[room][:IN_TURN])
        del left[room][:IN_TURN]


def outcomes(
    todo: Iterator[Job], *, until: float, processes: int, slowly: bool = False
) -> Iterator[Tried]:
    """Tries mutants in several processes, and yields the result of each.

    The mutants are taken in small batches. A new batch begins only before the time `until`, as
    measured by `time.monotonic`. With `slowly`, everything is imported again for each mutant.
    """
    fork = multiprocessing.get_context("fork")
    preload()
    with ProcessPoolExecutor(processes, mp_context=fork, initializer=_open) as pool:
        while time.monotonic() < until:
            batch = [*islice(todo, 2 * processes)]
            if not batch:
                break
            yield from pool.map(partial(_attempt, slowly=slowly), batch)
        for _ in pool.map(_close, range(processes)):
            pass


class _Process:
    """The state of one worker process: a copy of the tree, and the forks for the current tests."""

    def __init__(self) -> None:
        self.copy = Copy()
        self.cache = Cache(self.copy.folder)
        self.room: Room | None = None
        self.forks: Forks | None = None

    def attempt(self, room: Room, mutant: Mutant, *, slowly: bool) -> Verdict:
        if self.forks is None or self.room != room:
            self.leave()
            self.room, self.forks = room, Forks(self.copy, room.tests, self.cache)
        verdict = None
        for tests in room.stages(mutant.file):
            self.forks.record(tests)
            verdict = None if slowly else self.forks.attempt(mutant, tests)
            verdict = verdict or self.copy.attempt(mutant, tests, self.forks.cpu_s)
            if verdict.outcome == "killed":
                break
        assert verdict is not None
        return verdict

    def leave(self) -> None:
        if self.forks is not None:
            self.forks.close()


_process: list[_Process] = []  # of this process


def _open() -> None:
    _process.append(_Process())


def _close(_: int) -> None:
    with suppress(IndexError):
        one = _process.pop()
        one.leave()
        one.copy.remove()


def _attempt(job: Job, *, slowly: bool) -> Tried:
    room, mutant = job
    return tried(room.name, mutant, _process[0].attempt(room, mutant, slowly=slowly))


def is_new(done: Mapping[str, Tried]) -> Callable[[Mutant], bool]:
    return lambda mutant: mutant.id not in done


def is_open(done: Mapping[str, Tried], outcome: Outcome) -> Callable[[Mutant], bool]:
    """Returns a function that is true for mutants with this outcome and no recorded explanation."""

    def is_one(mutant: Mutant) -> bool:
        known = done.get(mutant.id)
        return known is not None and known.outcome == outcome and not known.reason

    return is_one
