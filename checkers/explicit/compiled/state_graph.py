"""The reachable states and all transitions between them, for the check of liveness properties.

A transition needs 4 bytes for its target, and 1, 2 or 4 bytes for its label. If the graph exceeds
the memory limit, its arrays move to files (`mapped`), but the states stay in memory. The oracle of
this module is `checkers.explicit.transitions`.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.explicit.actions import Program
from checkers.explicit.compiled.fair_cycles import ARRAYS, KINDS, MASKS, FairCycles
from checkers.explicit.compiled.library import Library
from checkers.explicit.compiled.mapped import HAS_FILES, Files
from checkers.explicit.compiled.spill import view
from checkers.explicit.exploration import Step, TooLarge, Trace
from checkers.explicit.instance import Packed
from checkers.explicit.lassos import Formula, Mask
from checkers.explicit.transitions import formula_of
from model.language.actions import Liveness
from model.language.expressions import SpecError
from model.language.interpreter import Undefined
from model.language.scope import Ranges

QUOTA = 1 << 16  # states between two checks of the limits
MOST = 0xFFFF_FFFE  # transitions: their numbers have 32 bits
MOST_MEMORY = 4 * 10**9  # bytes, if the machine has twice as much


def memory_of_machine() -> int:
    """Returns the default memory limit in bytes: 4 GB, or half of the machine's memory if that
    is less.
    """
    return min(MOST_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)


@dataclass
class StateGraph:
    """The state graph that a compiled search builds with one thread and at most `memory` bytes.

    `levels` has the first state of each level of the search. During the liveness check, `pulse` is
    called with the name of the current activity; it may raise an exception to end the check.
    """

    library: Library
    memory: int
    files: Files
    pulse: Callable[[str], None] = lambda _: None
    levels: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.at = self.library.source.at
        self.initial = self.library.count()  # the number of initial nodes, which come first
        self.library.c.transitions_keep(self.library.search)

    # ---- memory

    def fit(self, states: int = 0) -> None:
        """Moves the transitions to files if the graph needs more memory than the limit.

        Raises TooLarge if the graph needs too much memory even with files. Also raises TooLarge if
        the transitions may need more than 32-bit numbers after `states` further states.
        """
        if self.transitions + states * self.library.source.first_instances[-1] > MOST:
            raise TooLarge(f"more than {MOST:,} transitions")
        needed = self.bytes_on_disk() if HAS_FILES else self.bytes_in_memory()
        if needed > self.memory:
            raise TooLarge(
                f"{size(needed)} of memory, above the limit of {size(self.memory)}: set --memory"
            )
        if not self.files.used and self.bytes_in_memory() > self.memory:
            numbers = [self.files.opened(name) for name in ("offsets", "targets", "labels")]
            self.library.c.transitions_move(self.library.search, *numbers)
            self.library.check_memory()

    @property
    def transitions(self) -> int:
        count: int = self.library.c.transitions_count(self.library.search)
        return count

    def bytes_in_memory(self) -> int:
        """Returns an upper bound on the memory in bytes that the graph needs if all its arrays
        are in memory.
        """
        states, edges = self._bytes_of_states(), self._bytes_of_edges()
        return states + edges + max(self._bytes_of_set(), self.library.count() * (ARRAYS + MASKS))

    def bytes_on_disk(self) -> int:
        """Returns an upper bound on the memory in bytes that the graph needs if its large arrays
        are in files. The bytes in the files are not counted.
        """
        return self._bytes_of_states() + max(self._bytes_of_set(), self.library.count() * MASKS)

    def _bytes_of_states(self) -> int:
        c, search = self.library.c, self.library.search
        keys: int = c.search_key_bytes(search)
        parents: int = c.search_parent_bytes(search)
        return keys + parents

    def _bytes_of_set(self) -> int:
        needed: int = self.library.c.search_set_bytes(self.library.search)
        return needed

    def _bytes_of_edges(self) -> int:
        edge = 4 + self.library.source.label_bytes
        return 4 * (self.library.count() + 1) + edge * self.transitions

    # ---- transitions

    @cached_property
    def cycles(self) -> FairCycles:
        """The graph of all transitions, in which fair cycles can be searched.

        The first use frees the hash set of the states, so the search for states must have ended
        before.
        """
        source, edges = self.library.source, self.transitions
        self.library.c.transitions_forget(self.library.search)
        kinds = [KINDS[action.fair] for action in source.action_of_instances]
        return FairCycles(
            offsets=self._array(0, self.library.count() + 1, "u4"),
            targets=self._array(1, edges, "u4"),
            labels=self._array(2, edges, f"u{source.label_bytes}"),
            kinds=np.array(kinds, np.uint8),
            levels=np.array([*self.levels, self.library.count()], np.uint32),
            parent=self._parent,
            pulse=lambda: self.pulse("strongly connected components"),
            empty=self.files.empty if self.files.used else np.empty,
        )

    def _array(self, which: int, length: int, kind: str) -> NDArray[Any]:
        address = self.library.c.transitions_array(self.library.search, which)
        self.library.check_memory()
        return view(address, length * np.dtype(kind).itemsize).view(kind)

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
        """Returns a mask of the states in which the claim's `formula` (premise or goal) is true.

        `values` are the values of the claim's parameters. Raises SpecError if a value in the
        formula is outside its type.
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
        """Returns the trace from the initial state `start` along the transitions `edges`."""
        steps = [Step(action="init", values=(), state=self.at.unpack(self.state(start)))]
        for edge in edges:
            action, values = self.library.source.instance(int(self.cycles.labels[edge]))
            state = self.at.unpack(self.state(int(self.cycles.targets[edge])))
            steps.append(Step(action=action.name, values=values, state=state))
        return tuple(steps)


def size(amount: int) -> str:
    """Returns a number of bytes as a text in MB or GB, rounded up."""
    unit, name = (10**9, "GB") if amount >= 10**9 else (10**6, "MB")
    return f"{ceil(10 * amount / unit) / 10:g} {name}"
