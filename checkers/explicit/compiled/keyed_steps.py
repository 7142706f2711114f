"""Finds the actions and their parameter values along a trace, from the keys of the states.

The compiled code stores only a key of each state: either a compact form of the state (`layout`) or
a hash. So the interpreter of specs repeats the steps along the path, and compares keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from checkers.explicit.diagnose import diagnose_action, diagnose_claim
from checkers.explicit.exploration import Step, Trace
from checkers.explicit.instance import Instance
from model.language.interpreter import Interpreter, State, Undefined
from model.language.spec import Claim


@dataclass
class KeyedSteps:
    """Finds the step that leads from a state to a successor, of which only the key is stored."""

    at: Instance
    key: Callable[[State], bytes]
    _taken: dict[bytes, list[tuple[bytes, Step]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.interpreter = Interpreter(self.at.ranges)

    def initial(self) -> list[State]:
        return self.interpreter.initial(self.at.spec)

    def trace(self, keys: Sequence[bytes]) -> Trace:
        root = next(state for state in self.initial() if self.key(state) == keys[0])
        trace = [Step(action="init", values=(), state=root)]
        for key in keys[1:]:
            trace.append(self.step_to(trace[-1].state, key))
        return tuple(trace)

    def step_to(self, state: State, key: bytes) -> Step:
        return next(step for kept, step in self._steps(state) if kept == key)

    def fault(self, claims: Sequence[Claim], state: State) -> Undefined | None:
        """Returns a term whose value is outside its type, in `state` or in a step from `state`.
        Returns None if there is no such term.
        """
        judged = (*claims, *self.at.spec.witnesses)
        packed = self.at.pack(state)
        fault = diagnose_claim(self.at, judged, packed) or diagnose_action(self.at, packed)
        for _, step in [] if fault else self._steps(state):
            fault = fault or diagnose_claim(self.at, judged, packed, self.at.pack(step.state))
        return fault

    def _steps(self, state: State) -> list[tuple[bytes, Step]]:
        before = self.key(state)
        if before not in self._taken:
            self._taken[before] = [
                (self.key(after), Step(action=action.name, values=values, state=after))
                for action, values, after in self.interpreter.steps(self.at.spec, state)
            ]
        return self._taken[before]
