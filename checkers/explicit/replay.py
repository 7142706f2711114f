"""Replays a trace with the reference interpreter, on the spec of the trace or on a variant of the
spec.

If the spec does not allow a step of the trace, the result names the conjunct that is false.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

from model.language.actions import Action, Guard, Liveness
from model.language.behaviours import Lasso, is_fair, true_of
from model.language.interpreter import Cell, Interpreter, State, joined
from model.language.spec import Claim, Spec, title_of


class Recorded(Protocol):
    """A state of a recorded trace, and the action that led to this state. The action is None if
    the trace has no names of actions.
    """

    @property
    def action(self) -> str | None: ...
    @property
    def values(self) -> tuple[int, ...]: ...
    @property
    def state(self) -> State: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A replayed step. `differs` lists the variables whose values differ from the recorded
    state.
    """

    action: Action | None  # None: the initial state, or stuttering
    values: tuple[int, ...]
    state: State
    differs: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The result of a replay: the steps that were repeated, and the step that violates the
    property, if any.

    `stopped` is the reason why a step could not be repeated. It is empty if the whole trace was
    replayed.
    """

    taken: tuple[Taken, ...]
    stopped: str = ""  # why the next step was impossible; empty if all steps were taken
    guard: Guard | None = None  # the false conjunct
    action: Action | None = None  # the action of the conjunct
    values: tuple[int, ...] = ()
    broken: int | None = None  # the step after which the property is false


def replay(
    spec: Spec,
    interpreter: Interpreter,
    steps: Sequence[Recorded],
    claim: Claim | Liveness,
    loop: int | None = None,
) -> Replayed:
    """Repeats the recorded steps as far as the spec allows them, and checks the claim in the states
    reached.

    `loop` is needed for a liveness property: the steps after step `loop` repeat forever.
    """
    actions = {a.name: a for a in spec.actions}
    if steps[0].state not in interpreter.initial(spec):
        return Replayed(taken=(), stopped="the first state of the trace is not initial here")
    taken = [Taken(action=None, values=(), state=steps[0].state)]
    for recorded in steps[1:]:
        state = taken[-1].state
        if recorded.action is None:
            found = _leading(spec, interpreter, state, recorded.state)
            if found is None:
                stopped = "no action leads to the next state of the trace"
                return _judged(
                    spec, interpreter, claim, Replayed(taken=tuple(taken), stopped=stopped)
                )
            taken.append(found)
            continue
        action = actions.get(recorded.action)
        if action is None or len(action.params) != len(recorded.values):
            stopped = f"{title_of(spec)} has no action {recorded.action}, which the trace takes"
            return _judged(spec, interpreter, claim, Replayed(taken=tuple(taken), stopped=stopped))
        guard = interpreter.why_disabled(action, state, recorded.values)
        after = interpreter.step(action, state, recorded.values)
        if after is None:
            ended = Replayed(
                taken=tuple(taken),
                stopped=f"{recorded.action} is disabled",
                guard=guard,
                action=action,
                values=recorded.values,
            )
            return _judged(spec, interpreter, claim, ended)
        differs = tuple(cell for cell in after if after[cell] != recorded.state.get(cell))
        taken.append(Taken(action=action, values=recorded.values, state=after, differs=differs))
    return _judged(spec, interpreter, claim, Replayed(taken=tuple(taken)), loop)


def _leading(spec: Spec, interpreter: Interpreter, state: State, to: State) -> Taken | None:
    if state == to:
        return Taken(action=None, values=(), state=to)
    steps = (Taken(action=a, values=v, state=x) for a, v, x in interpreter.steps(spec, state))
    return next((step for step in steps if step.state == to), None)


def _judged(
    spec: Spec,
    interpreter: Interpreter,
    claim: Claim | Liveness,
    found: Replayed,
    loop: int | None = None,
) -> Replayed:
    states = [step.state for step in found.taken]
    broken: int | None = None
    if isinstance(claim, Liveness):
        if loop is not None and not found.stopped and states[loop] == states[-1]:
            lasso = Lasso(states if loop == len(states) - 1 else states[:-1], loop)
            if is_fair(interpreter, spec, lasso) and not true_of(interpreter, claim, lasso):
                broken = len(states) - 1
    elif claim.about == "states":
        false = (k for k, s in enumerate(states) if not interpreter.holds(claim.formula, s))
        broken = next(false, None)
    else:
        pairs = ((k, a, b) for k, (a, b) in enumerate(pairwise(states), 1))
        steps = ((k, joined(a, b)) for k, a, b in pairs if a != b)
        broken = next((k for k, s in steps if not interpreter.holds(claim.formula, s)), None)
    return replace(found, broken=broken)
