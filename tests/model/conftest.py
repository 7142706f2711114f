"""A fixture that runs a spec step by step with the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from model.language import Spec
from model.language.actions import Action
from model.language.interpreter import Interpreter, State, joined


@dataclass
class Play:
    """An execution of a spec, which a test continues step by step from the current state."""

    spec: Spec
    state: State

    @property
    def interpreter(self) -> Interpreter:
        return Interpreter.of(self.spec)

    def action(self, name: str) -> Action:
        return next(a for a in self.spec.actions if a.name == name)

    def do(self, *script: str) -> Play:
        """Takes the steps of a script, each written as an action and its arguments: `commit 0 1`.

        Fails if the spec does not allow a step.
        """
        for line in script:
            name, *values = line.split()
            after = self.interpreter.step(self.action(name), self.state, [int(v) for v in values])
            assert after is not None, f"{line} is not enabled: {self.refused(line)}"
            self.state = after
        return self

    def refused(self, line: str) -> str:
        """Returns the false part of the guard that forbids the step, as the spec writes it.

        Fails if the spec allows the step.
        """
        name, *values = line.split()
        ints = [int(v) for v in values]
        guard = self.interpreter.why_disabled(self.action(name), self.state, ints)
        assert guard is not None, f"{line} is enabled"
        return str(guard)

    def members(self, place: str) -> set[int]:
        """Returns the elements in a set of the state: `run.members("isr 1")`."""
        name, *keys = place.split()
        of = tuple(map(int, keys))
        return {
            at[-1]
            for (variable, at), value in self.state.items()
            if variable == name and at[:-1] == of and value
        }

    def broken(self) -> set[str]:
        claims = [c for c in self.spec.claims if not c.lemma]
        return {c.name for c in claims if not self.interpreter.holds(c.formula, self.state)}

    def broken_by(self, line: str) -> set[str]:
        before = self.state
        both = joined(before, self.do(line).state)
        claims = self.spec.action_properties
        return {c.name for c in claims if not self.interpreter.holds(c.formula, both)}

    def __getitem__(self, place: str) -> object:
        """Returns the value of a state variable: `run["log.end_offset 0"]`."""
        name, *keys = place.split()
        return self.state[name, tuple(map(int, keys))]


Begin = Callable[[Spec], Play]


@pytest.fixture
def play() -> Begin:
    """Returns a function that starts an execution of a spec in the spec's first initial state."""

    def begin(spec: Spec) -> Play:
        state, *_ = Interpreter.of(spec).initial(spec)
        return Play(spec, state)

    return begin
