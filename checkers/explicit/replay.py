"""A trace, taken again by the reference interpreter: on its own spec, or on a variant of it.

The answer says how far it went: to a state that breaks the property again, to an end that does not,
or to a step that this spec does not allow, with the conjunct that is false there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from model.language.actions import Action, Guard, Liveness
from model.language.behaviours import Lasso, is_fair, true_of
from model.language.interpreter import Cell, Interpreter, State, joined
from model.language.spec import Claim, Spec, title_of


class Recorded(Protocol):
    """A state of a trace; the action that led to it, where that is known."""

    @property
    def action(self) -> str | None: ...
    @property
    def values(self) -> tuple[int, ...]: ...
    @property
    def state(self) -> State: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A step that was taken again; `differs` are the cells that came out otherwise than told."""

    action: Action | None  # None: the initial state, or stuttering
    values: tuple[int, ...]
    state: State
    differs: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """How far a trace went."""

    taken: tuple[Taken, ...]
    stopped: str = ""  # why the next step was not taken; empty where all were
    guard: Guard | None = None  # the conjunct that is false there
    action: Action | None = None  # whose it is
    values: tuple[int, ...] = ()
    broken: int | None = None  # the step after which the property is false


def replay(
    spec: Spec,
    interpreter: Interpreter,
    steps: Sequence[Recorded],
    claim: Claim | Liveness,
    loop: int | None = None,
) -> Replayed:
    """Takes the steps again, and asks the claim about what was reached."""
    actions = {a.name: a for a in spec.actions}
    if steps[0].state not in interpreter.initial(spec):
        return Replayed(taken=(), stopped="the first state of the trace is not initial here")
    taken = [Taken(action=None, values=(), state=steps[0].state)]
    for told in steps[1:]:
        state = taken[-1].state
        if told.action is None:
            found = _leading(spec, interpreter, state, told.state)
            if found is None:
                stopped = "no action leads to the state that the trace tells"
                return _judged(
                    spec, interpreter, claim, Replayed(taken=tuple(taken), stopped=stopped)
                )
            taken.append(found)
            continue
        action = actions.get(told.action)
        if action is None or len(action.params) != len(told.values):
            stopped = f"{title_of(spec)} has no such action as {told.action} of the trace"
            return _judged(spec, interpreter, claim, Replayed(taken=tuple(taken), stopped=stopped))
        guard = interpreter.why_disabled(action, state, told.values)
        after = interpreter.step(action, state, told.values)
        if after is None:
            ended = Replayed(
                taken=tuple(taken),
                stopped=f"{told.action} is disabled",
                guard=guard,
                action=action,
                values=told.values,
            )
            return _judged(spec, interpreter, claim, ended)
        differs = tuple(cell for cell in after if after[cell] != told.state.get(cell))
        taken.append(Taken(action=action, values=told.values, state=after, differs=differs))
    return _judged(spec, interpreter, claim, Replayed(taken=tuple(taken)), loop)


def _leading(spec: Spec, interpreter: Interpreter, state: State, to: State) -> Taken | None:
    """The step from one state to the other; staying is stuttering."""
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
    """What was found, with the step after which the claim is false."""
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
    return Replayed(
        taken=found.taken,
        stopped=found.stopped,
        guard=found.guard,
        action=found.action,
        values=found.values,
        broken=broken,
    )
