"""Runs an abstract spec action by action, and returns the claims that a state breaks."""

from __future__ import annotations

from model.language import Spec
from model.language.actions import Action
from model.language.interpreter import Interpreter, State

Call = tuple[str, *tuple[int, ...]]  # an action with its arguments


def step(spec: Spec, name: str) -> Action:
    return next(a for a in spec.actions if a.name == name)


def run(spec: Spec, *calls: Call) -> State:
    interpreter = Interpreter.of(spec)
    state = interpreter.initial(spec)[0]
    for name, *values in calls:
        after = interpreter.step(step(spec, name), state, values)
        assert after is not None, f"{name}{values} is not enabled"
        state = after
    return state


def refused(spec: Spec, state: State, name: str, *values: int) -> bool:
    return Interpreter.of(spec).why_disabled(step(spec, name), state, values) is not None


def broken(spec: Spec, state: State) -> set[str]:
    interpreter = Interpreter.of(spec)
    return {c.name for c in spec.claims if not c.lemma and not interpreter.holds(c.formula, state)}
