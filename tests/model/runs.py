"""Runs a spec from its first initial state, and finds the claims that the last state breaks."""

from __future__ import annotations

from model.language import Spec
from model.language.actions import Action
from model.language.interpreter import Interpreter, State

Call = tuple[str, *tuple[int, ...]]  # an action with its arguments


def action(spec: Spec, name: str) -> Action:
    return next(a for a in spec.actions if a.name == name)


def run(spec: Spec, *calls: Call) -> State:
    """Returns the state after some steps; fails if the spec does not allow a step."""
    interpreter = Interpreter.of(spec)
    state = interpreter.initial(spec)[0]
    for name, *values in calls:
        after = interpreter.step(action(spec, name), state, values)
        assert after is not None, f"{name}{values} is not enabled"
        state = after
    return state


def refused(spec: Spec, state: State, name: str, *values: int) -> str:
    """Returns the conjunct that forbids a step; empty if the spec allows the step."""
    conjunct = Interpreter.of(spec).why_disabled(action(spec, name), state, values)
    return "" if conjunct is None else str(conjunct)


def broken(spec: Spec, state: State) -> set[str]:
    interpreter = Interpreter.of(spec)
    return {c.name for c in spec.claims if not c.lemma and not interpreter.holds(c.formula, state)}
