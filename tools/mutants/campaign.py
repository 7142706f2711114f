"""Tries mutants of several parts of the product until the time is over.

The mutants of a part are shuffled by a seed. The next mutants always come from the part with the
fewest tried mutants.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from fnmatch import fnmatch
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from tools.mutants.forks import Forks
from tools.mutants.mutations import Mutant
from tools.mutants.parts import Part
from tools.mutants.record import Tried, tried
from tools.mutants.recorded import Cache
from tools.mutants.trying import ROOT, Copy, Outcome, Verdict, preload

SEED: Final = 20261123
IN_TURN: Final = 10  # mutants of one part in a row, so that few processes collect its tests
Job = tuple[Part, Mutant]


def mutants_in(part: Part, seed: int, root: Path = ROOT) -> tuple[Mutant, ...]:
    """Returns the mutants of a part of the product, in a random order that depends on `seed`.

    If a mutant is added or removed, the order of all other mutants stays.
    """

    def place(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed} {mutant.id}".encode()).hexdigest()

    return tuple(sorted(part.mutants(root), key=place))


def jobs(
    parts: Sequence[Part],
    seed: int,
    wanted: Callable[[Mutant], bool],
    *,
    of_each: int | None = None,
    files: str = "*",
) -> Iterator[Job]:
    """Yields (part, mutant) for each mutant for which `wanted` returns True.

    The next mutants always come from the part with the fewest tried mutants. Only mutants of files
    that match the pattern `files` are used. Of these, the first `of_each` of each part are used, or
    all of them if `of_each` is None.
    """
    # The limit applies before `wanted`, so a later campaign uses the same mutants.
    every = {
        part: [it for it in mutants_in(part, seed) if fnmatch(it.file, files)][:of_each]
        for part in parts
    }
    left = {part: [*filter(wanted, some)] for part, some in every.items()}
    while any(left.values()):
        part = min(
            (part for part in parts if left[part]), key=lambda it: len(every[it]) - len(left[it])
        )
        yield from ((part, mutant) for mutant in left[part][:IN_TURN])
        del left[part][:IN_TURN]


def outcomes(
    todo: Iterator[Job], *, until: float, processes: int, slowly: bool = False
) -> Iterator[Tried]:
    """Tries the mutants of `todo` in several processes, and yields the results.

    The mutants are tried in small groups. No group begins after the `time.monotonic` time `until`.
    If `slowly` is True, each mutant runs in a process that imports everything again.
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
    def __init__(self) -> None:
        self.copy = Copy()
        self.cache = Cache(self.copy.folder)
        self.part: Part | None = None
        self.forks: Forks | None = None

    def attempt(self, part: Part, mutant: Mutant, *, slowly: bool) -> Verdict:
        if self.forks is None or self.part != part:
            self.leave()
            self.part, self.forks = part, Forks(self.copy, part.all_tests, self.cache)
        verdict = None
        for tests in part.stages(mutant.file):
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
    part, mutant = job
    return tried(part.name, mutant, _process[0].attempt(part, mutant, slowly=slowly))


def is_new(done: Mapping[str, Tried]) -> Callable[[Mutant], bool]:
    return lambda mutant: mutant.id not in done


def is_open(done: Mapping[str, Tried], outcome: Outcome) -> Callable[[Mutant], bool]:
    """Returns a function that is True for an open mutant: its result in `done` has the outcome
    `outcome`, and nobody has explained it.
    """

    def is_one(mutant: Mutant) -> bool:
        known = done.get(mutant.id)
        return known is not None and known.outcome == outcome and not known.reason

    return is_one
