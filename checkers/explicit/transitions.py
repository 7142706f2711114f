"""The reachable states and all transitions between them, as arrays, for the check of liveness
properties.

Transitions from a state to itself are omitted, because a behaviour can stutter in every state.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from checkers.explicit.actions import Program
from checkers.explicit.exploration import STOPPED, Budget, Step, TooLarge, Trace
from checkers.explicit.instance import Packed
from checkers.explicit.lassos import Formula, Mask
from model.language.actions import Liveness
from model.language.expressions import SpecError
from model.language.interpreter import Undefined
from model.language.scope import Ranges

Nodes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Transitions:
    """A state graph. Edge k is the transition with the number `label[k]` from `source[k]` to
    `target[k]`.
    """

    program: Program
    states: Sequence[Packed]
    initial: int  # the number of initial nodes, which come first
    source: Nodes  # ascending
    target: Nodes
    label: Nodes  # index into `program.labels`
    came_by: Nodes  # node -> the edge that first led to it; -1 for an initial one

    @classmethod
    def of(cls, program: Program, budget: Budget) -> Transitions:
        """Explores all states of a compiled spec. Raises TooLarge if the budget is spent before
        the end.
        """
        started = time.monotonic()
        states = program.initial()
        initial = len(states)
        number = {state: k for k, state in enumerate(states)}
        source, target, label, came_by = (array("q") for _ in range(4))
        came_by.extend([-1] * initial)
        for node, state in enumerate(states):  # grows while it is read
            out: list[tuple[int, Packed]] = []
            program.successors(state, out.append)
            for how, after in out:
                if after == state:
                    continue
                other = number.setdefault(after, len(states))
                if other == len(states):
                    states.append(after)
                    came_by.append(len(source))
                source.append(node)
                target.append(other)
                label.append(how)
            if budget.states is not None and len(states) > budget.states:
                raise TooLarge(STOPPED["states"])
            if budget.seconds is not None and time.monotonic() - started > budget.seconds:
                raise TooLarge(STOPPED["seconds"])
        arrays = (np.frombuffer(x, dtype=np.int64) for x in (source, target, label, came_by))
        edges = [a if len(a) else np.zeros(0, dtype=np.int64) for a in arrays]
        return cls(
            program=program,
            states=states,
            initial=initial,
            source=edges[0],
            target=edges[1],
            label=edges[2],
            came_by=edges[3],
        )

    @property
    def ranges(self) -> Ranges:
        return self.program.at.ranges

    def where(self, claim: Liveness, formula: Formula, values: Sequence[int]) -> Mask:
        """Returns a mask of the states in which the claim's `formula` (premise or goal) is true.

        `values` are the values of the claim's parameters. Raises SpecError if a value in the
        formula is outside its type.
        """
        holds = formula_of(self.program, claim, formula, values)
        try:
            return np.fromiter(map(holds, self.states), dtype=bool, count=len(self.states))
        except Undefined as fault:
            raise SpecError(f"{claim.name} is ill-defined: {fault.what}") from fault

    @cached_property
    def depths(self) -> Nodes:
        """Returns the depth of each state: the length of a shortest path from an initial state
        to the state.
        """
        depths = np.zeros(len(self.states), dtype=np.int64)
        parents = self.source[self.came_by[self.initial :]]  # ascending, as nodes are numbered
        end = self.initial
        while end < len(depths):
            following = self.initial + int(np.searchsorted(parents, end))
            depths[end:following] = depths[end - 1] + 1
            end = following
        return depths

    def path_to(self, node: int) -> list[int]:
        """Returns the edges of a shortest path from an initial state to `node`."""
        way: list[int] = []
        while (edge := int(self.came_by[node])) >= 0:
            way.append(edge)
            node = int(self.source[edge])
        return way[::-1]

    def trace(self, start: int, edges: Sequence[int]) -> Trace:
        """Returns the trace from the initial state `start` along these edges. The first step of
        the trace is `init`.
        """
        unpack = self.program.at.unpack
        steps = [Step(action="init", values=(), state=unpack(self.states[start]))]
        for edge in edges:
            action, values = self.program.labels[self.label[edge]]
            state = unpack(self.states[self.target[edge]])
            steps.append(Step(action=action.name, values=values, state=state))
        return tuple(steps)


def formula_of(
    program: Program, claim: Liveness, formula: Formula, values: Sequence[int]
) -> Callable[[Packed], bool]:
    """Returns a function that evaluates the claim's `formula` (premise or goal) in a packed state.

    `values` are the values of the claim's parameters.
    """
    env = {p.uid: program.at.packed(v, p.sort) for p, v in zip(claim.params, values, strict=True)}
    return program.predicate(claim.goal if formula == "goal" else claim.premise, env)
