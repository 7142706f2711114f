"""What claims about behaviours mean, said of behaviours that can be written down: lassos.

A *lasso* goes through its states once, and from the last returns to the one at `loop`, for ever. A
finite graph that has a fair behaviour that breaks a claim has such a lasso.

A *step* of an action changes the state, as in TLA+: what leads back to the same state is
stuttering, and any behaviour may stutter. An instance of an action is *fair* in a lasso when the
cycle takes it, or disables it: somewhere if it is weakly fair, everywhere if strongly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from model.language.actions import Action, Liveness
from model.language.interpreter import Env, Interpreter, State
from model.language.spec import Spec


@dataclass(frozen=True, slots=True)
class Lasso:
    """A behaviour without end: its states, and the place of the one that follows the last."""

    states: Sequence[State]
    loop: int

    @property
    def cycle(self) -> Sequence[State]:
        return self.states[self.loop :]

    @property
    def steps(self) -> Iterator[tuple[State, State]]:
        """Every state of the cycle with the one that follows it."""
        cycle = self.cycle
        return zip(cycle, [*cycle[1:], cycle[0]], strict=True)


def true_of(interpreter: Interpreter, claim: Liveness, lasso: Lasso) -> bool:
    """Whether the claim, for all values of its parameters, is true of the behaviour."""
    return all(_true(interpreter, claim, lasso, e) for e in interpreter.bindings(claim.params, {}))


def _true(interpreter: Interpreter, claim: Liveness, lasso: Lasso, env: Env) -> bool:
    reached = [interpreter.holds(claim.goal, state, env) for state in lasso.states]
    match claim.kind:
        case "eventually":
            return any(reached)
        case "eventually always":
            return all(reached[lasso.loop :])
        case "leads to":
            return all(
                any(reached[min(k, lasso.loop) :])
                for k, state in enumerate(lasso.states)
                if interpreter.holds(claim.premise, state, env)
            )


def is_fair(interpreter: Interpreter, spec: Spec, lasso: Lasso) -> bool:
    """Whether every fair action has, in the cycle, what it was promised."""
    return all(
        _is_fair(interpreter, action, values, lasso)
        for action in spec.actions
        if action.fair
        for values in interpreter.calls(action)
    )


def _is_fair(interpreter: Interpreter, action: Action, values: Sequence[int], lasso: Lasso) -> bool:
    taken, enabled = [], []
    for state, following in lasso.steps:
        after = interpreter.step(action, state, values)
        changes = after is not None and after != state
        enabled.append(changes)
        taken.append(changes and after == following)
    return any(taken) or not (any(enabled) if action.fair == "strong" else all(enabled))
