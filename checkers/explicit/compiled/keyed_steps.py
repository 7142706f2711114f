"""Finds the actions and the values of a trace from the keys of its states.

Compiled code stores only a key of each state: its stored form, or a hash. So the interpreter of
specs repeats the steps along a path of keys.
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
    """Finds the step of a spec from a state to the state with a given key."""

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
        """Returns a term with a value outside its type, in the state or in a step from it, or
        None.
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
