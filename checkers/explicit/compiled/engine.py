"""Runs the search in generated C. This module decides when a level, the budget or the time ends.

The C code reports that a term is undefined (one of its values is outside its type), but not which
term. To find the term, the interpreter of specs repeats the steps that lead to the failed
evaluation (`keyed_steps`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from checkers.explicit.compiled.keyed_steps import KeyedSteps
from checkers.explicit.compiled.library import PREFIX_BITS, Library
from checkers.explicit.compiled.mapped import HAS_FILES, Files
from checkers.explicit.diagnose import diagnose_init
from checkers.explicit.exploration import (
    Discovery,
    Exploration,
    Stop,
    Task,
    TooLarge,
    Trace,
    WhyStopped,
    WitnessResult,
    discoveries,
    not_every_state,
    until_stopped,
)
from checkers.explicit.running import RunningSearch
from model.language.interpreter import State
from model.language.spec import Claim

if TYPE_CHECKING:
    # NumPy starts more slowly than a small search runs
    from checkers.explicit.checkpoint import Checkpoint
    from checkers.explicit.checkpoints import Checkpoints
    from checkers.explicit.compiled.spill import Spilled
    from checkers.explicit.compiled.state_graph import StateGraph

PULSE = 4096  # states between two progress reports
SHARED = 131_072  # states of each thread between two of them: eight rounds of `threads.h`
MOST_THREADS = 16  # THREADS of `search.h`
NO_PARENT = 0xFFFFFFFF
GROWTH = 3  # a level has at most so many times the states of the level before it


def search(task: Task) -> Exploration:
    return Search(task).run()


@dataclass
class Search(RunningSearch):
    hash_bits: int = 64
    prefix_bits: int = PREFIX_BITS
    initial: int = 0  # the number of initial states
    graph: StateGraph | None = None  # for liveness
    graph_memory: int | None = None  # bytes; if they do not suffice, a search for liveness ends
    too_large: str = ""  # why there is no graph
    in_files: bool = False  # true if the keys and the parents of the states are in files

    def __post_init__(self) -> None:
        super().__post_init__()
        self.c = Library(
            self.at,
            fingerprints=self.task.fingerprints,
            coverage=self.task.coverage,
            most_states=self.task.budget.states,
            hash_bits=self.hash_bits,
            prefix_bits=self.prefix_bits,
        )
        self.steps = KeyedSteps(self.at, lambda state: self.c.key_of(self.at.pack(state)))
        self.threads = 1 if self.task.memory else max(1, min(self.task.threads, MOST_THREADS))
        self.store: Library | Spilled = self.c  # the store of the states
        self.started = time.monotonic()  # without the compilation

    def run(self) -> Exploration:
        with self.searched() as why:
            return self._with_liveness(self._found(why))

    @contextmanager
    def searched(self) -> Generator[WhyStopped]:
        """Runs the search and yields the reason why it ended. The end of the `with` block frees
        the memory and the files of the states.
        """
        names = {claim.name for claim in self.task.claims}
        with (
            TemporaryDirectory(prefix="urteil-states-") as folder,
            Files(Path(folder)) as files,
            self.c.opened(self.threads, names),
        ):
            why = until_stopped(lambda: self._search(files))
            if why in ("states", "seconds", "interrupted"):
                self._write_checkpoint()
            yield why

    # ---- the search

    def _search(self, files: Files) -> None:
        checkpoints = self.task.checkpoints
        if checkpoints is not None:
            checkpoints.require(code=self.c.code)
        if checkpoints is not None and checkpoints.resumed is not None:
            self._resume(checkpoints, checkpoints.resumed, files)
            self._explore_level()
        else:
            self._start(files)
        while size := self.store.next_level():
            self.depth += 1
            if self.graph is not None:
                self.graph.levels.append(self.c.count() - size)
            self._spill_if_needed(size, files)
            self._explore_level()

    def _start(self, files: Files) -> None:
        for state in self._initial():
            self.c.start(self.at.pack(state))
            self.initial += 1
        if self.task.lively and self.threads == 1 and not self.task.fingerprints:
            self._keep_transitions(files)

    def _explore_level(self) -> None:
        for work in (self.store.judge, self.store.expand):
            self._on_the_level(work)
            if self.task.claims and len(self._broken()) == len(self.task.claims):
                raise Stop("all decided")

    def _spill_if_needed(self, size: int, files: Files) -> None:
        """Moves the states to disk if the next level could exceed the memory limit of the task."""
        memory, likely = self.task.memory, self.store.count() + GROWTH * size
        if memory is None or self.store is not self.c or self.c.bytes_for(likely) <= memory:
            return
        self._drop_graph()
        if HAS_FILES and self.c.bytes_with_files(likely) <= memory:
            self._move_to_files(files)
        else:
            from checkers.explicit.compiled.spill import Spilled

            self._write_checkpoint()  # the last one
            self.store = Spilled(self.c, files.folder, memory)
            files.delete()

    def _move_to_files(self, files: Files) -> None:
        if not self.in_files:
            self.c.move_to_files(files)
            self.in_files = True

    def _initial(self) -> list[State]:
        fault = diagnose_init(self.at)
        if fault is not None:
            raise self.undefined(fault, ())
        return self.steps.initial()

    def _on_the_level(self, work: Callable[[int], int]) -> None:
        left = 1
        while left:
            distinct, queue = self.store.count(), self.store.queue()
            self.report(distinct=distinct, generated=self._generated(), queue=queue)
            left = work(PULSE if self.threads == 1 else SHARED)
            self._stop_if_undefined()
            self._fit_graph()
            if self.task.checkpoints is not None and self.task.checkpoints.is_due:
                self._write_checkpoint()
        self.c.close_broken()

    def _stop_if_undefined(self) -> None:
        if first := self._first(found.undefined for found in self.c.found):
            trace = self._trace(first - 1)
            raise self.undefined(self.steps.fault(self.task.claims, trace[-1].state), trace)

    # ---- checkpoints

    def _write_checkpoint(self) -> None:
        """Writes a checkpoint. Does nothing if the task has no checkpoints, if the states have
        been spilled to sorted files, or if no state has been explored.
        """
        checkpoints = self.task.checkpoints
        if checkpoints is None or self.store is not self.c or not self.depth:
            return
        from checkers.explicit.compiled.saved_search import SavedSearch

        facts = {
            "initial": self.initial,
            "violated": list(self._broken()),
            "levels": None if self.graph is None else self.graph.levels,
        }
        SavedSearch(self.c).write(checkpoints, facts)

    def _resume(self, checkpoints: Checkpoints, kept: Checkpoint, files: Files) -> None:
        from checkers.explicit.compiled.saved_search import SavedSearch

        levels: list[int] | None = kept.facts["levels"]
        if self.task.lively and self.threads == 1 and levels is not None:
            self._keep_transitions(files)

        def pulse() -> None:
            memory = self.task.memory
            if HAS_FILES and memory is not None and self.c.bytes_for(self.c.count()) > memory:
                self._drop_graph()
                self._move_to_files(files)
            self._fit_graph()
            if self.task.progress is not None:
                self.task.progress(self.progress(self.c.count(), 0, 0))

        SavedSearch(self.c).restore(kept, edges=lambda: self.graph is not None, pulse=pulse)
        self.initial = kept.facts["initial"]
        if self.graph is not None:
            first = kept.facts["level"]  # Ctrl-C may have come before the level was in the list
            self.graph.initial = self.initial
            self.graph.levels = sorted({*(levels or ()), first})
        self.depth = kept.facts["depth"]
        checkpoints.announce(kept)
        checkpoints.adopt(kept)

    # ---- liveness

    def _keep_transitions(self, files: Files) -> None:
        from checkers.explicit.compiled.state_graph import StateGraph, memory_of_machine

        memory = self.graph_memory or self.task.memory or memory_of_machine()
        self.graph = StateGraph(self.c, memory, files, self._pulse)

    def _pulse(self, activity: str) -> None:
        distinct, generated = self.c.count(), self._generated()
        self.report(distinct=distinct, generated=generated, queue=0, liveness=activity)

    def _fit_graph(self) -> None:
        if self.graph is None:
            return
        try:
            self.graph.fit(PULSE)
        except TooLarge as why:
            if self.graph_memory is not None:
                raise
            self._drop_graph()
            self.too_large = str(why)

    def _drop_graph(self) -> None:
        if self.graph is not None:
            self.c.c.transitions_drop(self.c.search)
            self.graph.files.delete()
            self.graph = None

    def _with_liveness(self, found: Exploration) -> Exploration:
        graph, decided = self.graph, dict[str, Discovery]()
        why = found.why_stopped
        if found.exhausted and self.too_large:
            decided = not_every_state(self.task.lively, self.too_large)
        elif found.exhausted and graph is not None:
            from checkers.explicit.lassos import Judge, judged

            ended, decided = judged(lambda: Judge(graph, graph.cycles), self.task.lively)
            why = ended if ended == "interrupted" else why
        return replace(found, why_stopped=why, discoveries={**found.discoveries, **decided})

    # ---- what was found

    def _found(self, why: WhyStopped) -> Exploration:
        spec, found = self.task.spec, self.c.found
        return Exploration(
            distinct=self.store.count(),
            generated=self._generated(),
            depth=self.depth,
            seconds=self.seconds,
            why_stopped=why,
            discoveries=discoveries(self.task.claims, why, self._violations()),
            witnesses={w.name: self._witness_result(k, w) for k, w in enumerate(spec.witnesses)},
            taken={a.name: sum(f.taken[k] for f in found) for k, a in enumerate(spec.actions)},
            ranges=self.at.ranges,
            ill_defined=self.ill_defined,
            deadlocks=sum(f.stuck for f in found),
            deadlock=self._first_trace(f.first_stuck for f in found),
            disabled=self._disabled() if self.task.coverage else {},
            collision=self.store.count() ** 2 / 2**65 if self.task.fingerprints else 0.0,
        )

    def _disabled(self) -> dict[str, tuple[int, ...]]:
        conjunct = count()
        return {
            action.name: tuple(
                sum(found.missed[k] for found in self.c.found)
                for k in islice(conjunct, len(action.guards))
            )
            for action in self.task.spec.actions
        }

    def _generated(self) -> int:
        generated: int = sum(found.generated for found in self.c.found)
        return self.initial + generated

    def _broken(self) -> dict[str, tuple[int, Any]]:
        out: dict[str, tuple[int, Any]] = {}
        for k, claim in enumerate(self.c.claims):
            first = min(
                ((f.broken[k], n) for n, f in enumerate(self.c.found) if f.broken[k]), default=None
            )
            if first is not None:
                words = self.c.found[first[1]].broken_by[k]
                out[claim.name] = first[0] - 1, words if claim.about == "steps" else None
        return out

    def _violations(self) -> dict[str, Trace]:
        out: dict[str, Trace] = {}
        for name, (number, words) in self._broken().items():
            trace = self._trace(number)
            if words is not None:
                after = self.c.key_of_stored(bytes(words))
                trace = (*trace, self.steps.step_to(trace[-1].state, after))
            out[name] = trace
        return out

    def _witness_result(self, k: int, witness: Claim) -> WitnessResult:
        states = sum(found.seen[k] for found in self.c.found)
        trace = self._first_trace(found.first_seen[k] for found in self.c.found)
        return WitnessResult(claim=witness, states=states, trace=trace)

    def _first_trace(self, numbers: Iterable[int]) -> Trace:
        first = self._first(numbers)
        return self._trace(first - 1) if first else ()

    def _first(self, numbers: Iterable[int]) -> int:
        """Returns the least of the state numbers that the threads found. The numbers start at 1,
        and 0 means that a thread found no state. Returns 0 if no thread found a state.
        """
        return min(filter(None, numbers), default=0)

    def _trace(self, number: int) -> Trace:
        keys: list[bytes] = []
        while number != NO_PARENT:
            keys.append(self.store.key(number))
            number = self.store.parent(number)
        return self.steps.trace(keys[::-1])
