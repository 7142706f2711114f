"""Defines when a liveness property is true of a lasso, and when a lasso is fair.

A *lasso* is an infinite behaviour. It runs through finitely many states, and then repeats the final
states (the *cycle*) for ever. If a fair behaviour of a finite graph violates a claim, then a fair
lasso violates the claim, too.

A *step* of an action changes the state, as in TLA+. A transition to the same state is stuttering.

A lasso is *fair* to an action with values of its parameters in two cases:

- The cycle has a step of the action with these values.
- The action with these values is disabled in some state of the cycle (weak fairness), or in every
  state of the cycle (strong fairness).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from model.language.actions import Action, Liveness
from model.language.interpreter import Env, Interpreter, State
from model.language.spec import Spec


@dataclass(frozen=True, slots=True)
class Lasso:
    states: Sequence[State]
    loop: int

    @property
    def cycle(self) -> Sequence[State]:
        return self.states[self.loop :]

    @property
    def steps(self) -> Iterator[tuple[State, State]]:
        cycle = self.cycle
        return zip(cycle, [*cycle[1:], cycle[0]], strict=True)


def true_of(interpreter: Interpreter, claim: Liveness, lasso: Lasso) -> bool:
    """Returns True if the lasso satisfies the liveness property for all values of the property's
    parameters.
    """
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
