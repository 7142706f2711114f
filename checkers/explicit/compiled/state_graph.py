"""The reachable states and all transitions between them, in C's memory, for liveness.

The nodes, the transitions and their order are those of the oracle, `checkers.explicit.transitions`.
A state takes its stored form and about 30 bytes more; a transition takes 4 bytes, and 1, 2 or 4 for
its label.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil

import numpy as np

from checkers.explicit.actions import Program
from checkers.explicit.compiled.fair_cycles import BYTES_A_STATE, KINDS, FairCycles
from checkers.explicit.compiled.library import Library
from checkers.explicit.compiled.source import Source
from checkers.explicit.exploration import STOPPED, Budget, Step, Trace
from checkers.explicit.instance import Instance, Packed
from checkers.explicit.lassos import Formula, Mask
from checkers.explicit.transitions import TooLarge, formula_of
from model.language.actions import Liveness
from model.language.expressions import SpecError
from model.language.interpreter import Interpreter, Undefined
from model.language.scope import Ranges
from model.language.spec import title_of

QUOTA = 1 << 16  # states between two checks of the limits
MOST = 0xFFFF_FFFE  # states, and transitions: their numbers have 32 bits


@dataclass
class StateGraph:
    """A state graph in C's memory; its size is limited by a budget and by `memory`, in bytes."""

    library: Library
    budget: Budget
    memory: int
    progress: Callable[[str], None]
    initial: int = 0  # the number of initial nodes, which come first
    levels: list[int] = field(default_factory=list)  # the first node of each level

    def __post_init__(self) -> None:
        self.started = time.monotonic()
        self.at = self.library.source.at
        self.interpreter = Interpreter(self.at.ranges)

    @classmethod
    @contextmanager
    def of(
        cls,
        at: Instance,
        budget: Budget,
        memory: int,
        progress: Callable[[str], None] = lambda _: None,
    ) -> Generator[StateGraph]:
        """Explores all states of a spec; yields the graph of its states and transitions.

        Raises TooLarge if a limit is reached first, SpecError for an undefined term, and Declined
        without a C compiler.
        """
        library = Library(at)
        with library.opened(1, ()):
            graph = cls(library, budget, memory, progress)
            graph._explore()
            yield graph

    # ---- the search

    def _explore(self) -> None:
        c = self.library
        for state in self.interpreter.initial(self.at.spec):
            c.start(self.at.pack(state))
        self.initial = c.count()
        while size := c.next_level():
            self.levels.append(c.count() - size)
            left = 1
            while left:
                left = c.expand(QUOTA)
                self.pulse(f"{c.count():,} states")
                self._stop_above(c.count(), self._generated())
        self.levels.append(c.count())

    def _generated(self) -> int:
        generated: int = self.library.found[0].generated
        return generated

    def pulse(self, where: str = "strongly connected components") -> None:
        """Reports the text `where` as the progress of the search.

        Raises TooLarge if the time budget is spent, SpecError if a term of an action was undefined.
        """
        self.progress(f"liveness: {where}")
        spent = time.monotonic() - self.started
        if self.budget.seconds is not None and spent > self.budget.seconds:
            raise TooLarge(STOPPED["seconds"])
        if node := self.library.found[0].undefined:
            self._raise_undefined(self.state(node - 1))

    def _stop_above(self, states: int, generated: int) -> None:
        if self.budget.states is not None and states > self.budget.states:
            raise TooLarge(STOPPED["states"])
        if why := too_large(self.library.source, states, generated, self.memory):
            raise TooLarge(why)

    def _raise_undefined(self, state: Packed) -> None:
        title = title_of(self.at.spec)
        try:
            self.program.successors(state, lambda _: None)
        except Undefined as fault:
            raise SpecError(f"{title} is ill-defined: {fault.where}: {fault.what}") from fault
        raise AssertionError("plain Python finds no undefined term where C did")

    # ---- transitions

    @cached_property
    def cycles(self) -> FairCycles:
        """Returns the graph's transitions as a `FairCycles`, which searches for fair cycles.

        The first call computes them, and frees the hash set of states.
        """
        c, source = self.library, self.library.source
        label = np.dtype(f"u{source.label_bytes}")
        offsets = np.zeros(c.count() + 1, np.uint32)
        targets, labels = np.empty(self._generated(), np.uint32), np.empty(self._generated(), label)
        c.c.transitions_begin(c.search)
        left = 1
        while left:
            left = c.c.transitions_write(
                c.search, QUOTA, *(x.ctypes.data for x in (offsets, targets, labels))
            )
            c.check_memory()
            self.pulse(f"transitions, {left:,} states to go")
        c.c.transitions_forget(c.search)
        kinds = [KINDS[action.fair] for action in source.action_of_instances]
        return FairCycles(
            offsets=offsets,
            targets=targets,
            labels=labels,
            kinds=np.array(kinds, np.uint8),
            levels=np.array(self.levels, np.uint32),
            parent=self._parent,
            pulse=self.pulse,
        )

    def _parent(self, node: int) -> int:
        return self.library.parent(node) if node >= self.initial else -1

    # ---- states

    @property
    def ranges(self) -> Ranges:
        return self.at.ranges

    @cached_property
    def program(self) -> Program:
        return Program(self.at)

    def state(self, node: int) -> Packed:
        return self.library.source.layout.loaded(self.library.key(node))

    def where(self, claim: Liveness, formula: Formula, values: Sequence[int]) -> Mask:
        """Returns a mask of the states in which the premise or the goal of the claim is true.

        `values` are those of the claim's parameters. Raises SpecError for an undefined term.
        """
        c = self.library
        number = 2 * c.source.lively.index(claim) + (formula == "goal")
        raw = [self.at.packed(v, p.sort) for p, v in zip(claim.params, values, strict=True)]
        mask = np.zeros(c.count(), dtype=bool)
        arguments = (ctypes.c_int * max(1, len(raw)))(*raw)
        c.c.transitions_begin(c.search)
        while c.c.transitions_where(c.search, QUOTA, number, arguments, mask.ctypes.data):
            if node := c.found[0].undefined:
                self._raise_undefined_formula(claim, formula, values, self.state(node - 1))
            self.pulse(claim.name)
        return mask

    def _raise_undefined_formula(
        self, claim: Liveness, formula: Formula, values: Sequence[int], state: Packed
    ) -> None:
        try:
            formula_of(self.program, claim, formula, values)(state)
        except Undefined as fault:
            raise SpecError(f"{claim.name} is ill-defined: {fault.what}") from fault
        raise AssertionError("plain Python finds no undefined term where C did")

    def trace(self, start: int, edges: Sequence[int]) -> Trace:
        """Returns the trace of a path; the path is a list of transitions from an initial node."""
        steps = [Step(action="init", values=(), state=self.at.unpack(self.state(start)))]
        for edge in edges:
            action, values = self.library.source.instance(int(self.cycles.labels[edge]))
            state = self.at.unpack(self.state(int(self.cycles.targets[edge])))
            steps.append(Step(action=action.name, values=values, state=state))
        return tuple(steps)


def too_large(source: Source, states: int, generated: int, memory: int) -> str:
    """Returns why liveness cannot be decided on a state graph of this size.

    `generated` is the number of transitions. Returns an empty text if the graph needs at most
    `memory` bytes.
    """
    if max(states, generated) > MOST:
        return f"more than {MOST:,} states or transitions"
    needed = bytes_for(source, states, generated)
    if needed <= memory:
        return ""
    return f"{size(needed)} of memory, above the limit of {size(memory)}: set --memory"


def size(amount: int) -> str:
    """Returns a number of bytes as text, rounded up."""
    unit, name = (10**9, "GB") if amount >= 10**9 else (10**6, "MB")
    return f"{ceil(10 * amount / unit) / 10:g} {name}"


def bytes_for(source: Source, states: int, generated: int) -> int:
    """Returns an upper bound on the memory of a state graph, in bytes.

    `generated` is the number of transitions.
    """
    hashes = 13  # two slots a state, until the transitions are written
    state = source.layout.state_bytes + 1 + 4 + max(hashes, BYTES_A_STATE)
    return states * state + generated * (4 + source.label_bytes)
