"""Finds counterexamples to induction: a state that satisfies all claims, and a step that violates a
claim.

The state may be unreachable. In this case the claim may be true, and its proof only needs another
lemma. Only exploration finds violations that begin in an initial state.

The search runs at a finite scope, such as 3 replicas. It then simplifies the state: each variable
gets the least value of its type, if this is possible. The reference interpreter confirms the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import z3

from checkers.symbolic.induction import INIT, require_known
from checkers.symbolic.limits import LIMIT_MS, UNITS, Effort, Model, Solver
from checkers.symbolic.small_scope import SmallScope, scopes_of
from checkers.symbolic.sorts import Declined
from model.language.interpreter import State
from model.language.scope import Scope
from model.language.spec import Action, Claim, Spec, title_of
from model.language.values import Writer

NOT_KNOWN_REACHABLE: Final = "a state of the candidate invariant, not known to be reachable"
INITIAL: Final = "an initial state"


class EnginesDisagree(Exception):
    """Raised if Z3 contradicts the reference interpreter or cvc5. Such a contradiction is a bug
    of this program.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterexampleToInduction:
    """A state that satisfies all claims, a step from this state, and a claim that is false after
    the step.

    If the claim is false in an initial state, `state` and `after` are both this initial state.
    """

    spec: str
    action: str
    arguments: Mapping[str, int]
    claim: str
    scope: Mapping[str, int]  # sort -> number of elements
    state: State
    after: State
    quiet: State  # every cell at its least value; the text shows only differences from it
    step: str  # the action with its arguments, as text
    writer: Writer = field(repr=False)

    @property
    def label(self) -> str:
        return INITIAL if self.action == INIT else NOT_KNOWN_REACHABLE

    def by_variable(self) -> dict[str, str]:
        """Returns the values of the variables as text. Variables with the least value of their
        type (0, false or empty) are left out.
        """
        items = zip(self.writer.items(self.state), self.writer.items(self.quiet), strict=True)
        return {item.place: item.value for item, least in items if item.value != least.value}

    def changed(self) -> list[str]:
        changes = self.writer.changes(self.state, self.after)
        return [f"{where} {', '.join(what)}" for where, what in changes]

    def __str__(self) -> str:
        state = self.by_variable()
        width = max(map(len, state), default=0)
        lines = [
            f"{self.step} breaks {self.claim}   (at {scope_text(self.scope)})",
            f"  {self.label}:",
        ]
        lines += [f"    {where:<{width}}  {value}" for where, value in state.items()]
        lines += ["    (all other cells at their least values)"]
        if self.action != INIT:
            lines += [f"  {self.step} changes:", *(f"    {line}" for line in self.changed())]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoneFound:
    """The reason why a search found no counterexample. For example, the searched scopes contain
    none, or Z3 reached a limit.
    """

    reason: str

    def __str__(self) -> str:
        return self.reason


def counterexample_to_induction(
    spec: Spec,
    action: str,
    claim: str,
    *,
    scope: Scope | None = None,
    seed: int = 0,
    units: int = UNITS,
    limit_ms: int = LIMIT_MS,
) -> CounterexampleToInduction | NoneFound:
    """Returns a state that satisfies every claim, and a step of the action that violates the claim
    `claim`.

    If `scope` is None, the search first uses the spec's own scope, such as 3 replicas, and then a
    larger scope. If the search finds no counterexample, returns the reason. Raises SpecError for an
    unknown action or claim. Raises EnginesDisagree if the interpreter does not confirm the result
    of Z3.
    """
    require_known(spec, "action", action, [INIT, *(a.name for a in spec.actions)])
    require_known(spec, "claim", claim, [c.name for c in spec.claims])
    taken = next(a for a in (spec.initial, *spec.actions) if a.name == action)
    broken = next(c for c in spec.claims if c.name == claim)
    found: CounterexampleToInduction | NoneFound = NoneFound(reason="the spec has no scope")
    for tried in scopes_of(spec, scope):
        found = _at(
            SmallScope(spec, tried),
            taken,
            broken,
            Effort(seed=seed, units=units, limit_ms=limit_ms),
        )
        if isinstance(found, CounterexampleToInduction):
            break
    return found


def _at(
    at: SmallScope, action: Action, claim: Claim, effort: Effort
) -> CounterexampleToInduction | NoneFound:
    try:
        goal = at.induction.goal(action, claim)
    except Declined as reason:
        return NoneFound(reason=f"declined: {reason}")
    solver = at.solver(units=effort.units, limit_ms=effort.limit_ms, seed=effort.seed)
    solver.add([*at.sorts.axioms, *goal.facts[-1].formulas, z3.Not(goal.formula)])
    answer = solver.check()
    if answer.verdict == "unknown":
        return NoneFound(reason=f"no answer within the limits: {answer.reason}")
    if answer.verdict == "unsat":
        return NoneFound(
            reason=f"no counterexample at {scope_text(at.sizes)}; a larger scope may have one"
        )
    return _confirmed(at, _with_least_values(at, solver), action, claim)


def _with_least_values(at: SmallScope, solver: Solver) -> Model:
    model = solver.model()
    for _, info, term in at.cells():
        least = at.sorts.least(info)
        if z3.is_true(model.eval(term == least, model_completion=True)):
            solver.add([term == least])
            continue
        solver.push()
        solver.add([term == least])
        if solver.check().verdict == "sat":
            model = solver.model()
        else:
            solver.pop()
    return model


def _confirmed(
    at: SmallScope, model: Model, action: Action, claim: Claim
) -> CounterexampleToInduction:
    interpreter, values = at.interpreter, at.arguments(model, action)
    quiet = {cell: interpreter.least(info) for cell, info, _ in at.cells()}
    start = quiet if action.name == INIT else at.state(model)
    after = interpreter.step(action, start, values)
    false_before = [c.name for c in at.spec.claims if not interpreter.holds(c.formula, start)]
    if action.name != INIT and false_before:
        raise EnginesDisagree(f"{', '.join(false_before)} is true before the step in Z3 only")
    if after is None:
        raise EnginesDisagree(f"{action.name}{values} is enabled in Z3 only")
    if interpreter.holds(claim.formula, after):
        raise EnginesDisagree(f"{claim.name} is false after {action.name}{values} in Z3 only")
    writer = Writer(at.spec, interpreter.ranges)
    return CounterexampleToInduction(
        spec=title_of(at.spec),
        action=action.name,
        arguments={p.name: v for p, v in zip(action.params, values, strict=True)},
        claim=claim.name,
        scope=at.sizes,
        state=after if action.name == INIT else start,
        after=after,
        quiet=quiet,
        step=writer.call(action, values),
        writer=writer,
    )


def scope_text(sizes: Mapping[str, int]) -> str:
    """Returns the sizes of the scope as text, such as `2 Replica, 3 Offset`."""
    return ", ".join(f"{n} {sort}" for sort, n in sizes.items())
