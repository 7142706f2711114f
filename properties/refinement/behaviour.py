"""A behaviour of a spec, grown action by action: the spec's own text says what may happen next.

Whoever validates a run keeps the state that the spec is in and asks it for actions, with all their
arguments. The interpreter of the language (`model.language.interpreter`) evaluates the guards and
makes the next state; no rule is written down a second time. What no run shows, as who committed a
record first, the actions fill in.

The sorts are as large as the run needs. Nothing ranges over a sort but what the text itself does,
so a sort that is no key may be as large as one likes (`ANY`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Final, NamedTuple, Self

from model.language.interpreter import Interpreter, State, Undefined, called
from model.language.spec import Spec

ANY: Final = range(2**63)  # of a sort that is not the key of a variable


class Call(NamedTuple):
    """An action with its arguments; a `maybe` is taken where the spec allows it."""

    action: str
    arguments: tuple[int, ...] = ()
    maybe: bool = False

    def __str__(self) -> str:
        return f"{self.action}({', '.join(map(str, self.arguments))})"


class Refusal(NamedTuple):
    """An action that the spec does not allow now, and the conjunct of its guard that is false."""

    action: str  # with its arguments
    conjunct: str

    def __str__(self) -> str:
        return f"{self.action} is not allowed: it needs {self.conjunct}"


@dataclass(slots=True)
class Behaviour:
    """The state that a spec is in, and how often each action was taken so far."""

    spec: Spec
    interpreter: Interpreter
    state: State
    taken: Counter[str] = field(default_factory=Counter[str])

    @classmethod
    def initial(
        cls, spec: Spec, sorts: Mapping[str, int | range], chosen: Sequence[int] = ()
    ) -> Self:
        """The spec in its initial state for this choice, with sorts of these sizes."""
        ranges = {n: s if isinstance(s, range) else range(s) for n, s in sorts.items()}
        interpreter = Interpreter({"Bool": range(2), **ranges})
        blank: State = {
            (v.name, keys): interpreter.least(v.value)
            for v in spec.variables
            for keys in product(*(interpreter.elements(k) for k in v.keys))
        }
        state = interpreter.step(spec.initial, blank, chosen)
        assert state is not None, "an initial state is assigned without a guard"
        return cls(spec, interpreter, state)

    def take(self, call: Call) -> Refusal | None:
        """The action is taken; or the state stays, and the refusal says why."""
        action = next(a for a in self.spec.actions if a.name == call.action)
        try:
            after = self.interpreter.step(action, self.state, call.arguments)
        except Undefined as fault:
            return Refusal(called(action, call.arguments), f"what has a meaning: {fault.what}")
        if after is None:
            guard = self.interpreter.why_disabled(action, self.state, call.arguments)
            return Refusal(called(action, call.arguments), str(guard))
        self.state = after
        self.taken[call.action] += 1
        return None

    def fork(self) -> Self:
        """The same, to go on in another way."""
        return replace(self, taken=self.taken.copy())

    @property
    def never_taken(self) -> tuple[str, ...]:
        """The actions that this behaviour has not shown."""
        return tuple(a.name for a in self.spec.actions if not self.taken[a.name])
