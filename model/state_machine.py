"""A state machine of one part of a spec, such as a replica or a transaction: a table of transitions
that can also be drawn.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from model.variants import Constants

WIDTH: Final = 92
Step = tuple[str, str, str]  # state, action, next state
Steps = tuple[Step, ...]  # several actions between the same states are one text: "join | miss"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMachine:
    """The states and transitions of one part of a spec. The field `of` names this part.

    Each entry of `at` is a choice of constants. `steps` has exactly the transitions that the spec
    makes with one of these choices. Larger constants may add transitions.
    """

    of: str
    steps: Steps
    at: Sequence[Constants]
    means: Mapping[str, str] = field(default_factory=dict)  # state -> its meaning

    def transitions(self) -> Iterator[Step]:
        """Yields each transition as (state, action, next state). An entry of `steps` with several
        actions, such as `join | leave`, yields one transition for each action.
        """
        for state, actions, following in self.steps:
            for action in actions.split(" | "):
                yield state, action, following

    def diagram(self) -> str:
        """Returns a drawing of the state machine as text. Each entry of `steps` is one line with an
        arrow. Below, the drawing lists the meaning of the states, and the constants at which the
        spec was explored.
        """
        return "\n".join([self.of, *self._drawing(), *self._legend(), *self._scopes()])

    def _drawing(self) -> Iterator[str]:
        width = max(len(state) for state, _, _ in self.steps)
        actions = max(len(action) for _, action, _ in self.steps)
        last = ""
        for state, action, following in self.steps:
            name = state if state != last else ""
            arrow = "-" * (actions - len(action) + 2)
            yield f"  {name:<{width}}  --{action}{arrow}> {following}"
            last = state

    def _legend(self) -> Iterator[str]:
        width = max(map(len, self.means), default=0)
        for state, meaning in self.means.items():
            yield _wrapped(f"  {state:<{width}}  {meaning}", " " * (width + 4))

    def _scopes(self) -> Iterator[str]:
        for constants in self.at:
            listed = ", ".join(f"{name}={str(value).lower()}" for name, value in constants.items())
            yield _wrapped(f"  explored at {listed}", "    ")


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, drop_whitespace=True)
