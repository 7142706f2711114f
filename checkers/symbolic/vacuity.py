"""Checks that a proof is not vacuous: the claims are not contradictory, and every action can be
enabled.

Contradictory claims would prove everything, and an action that is never enabled would preserve
every claim. So two checks run at a finite scope, such as 3 replicas:

- Some state must satisfy all claims.
- For every action, some state must satisfy all claims and the guard of the action.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Final

import z3

from checkers.symbolic.limits import LIMIT_MS, UNITS, Answer, Solver
from checkers.symbolic.small_scope import SmallScope
from checkers.symbolic.sorts import Declined
from model.language.scope import Scope
from model.language.spec import Action, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacuity:
    scope: Mapping[str, int]  # sort -> number of elements
    contradictory: tuple[str, ...] = ()  # claims that no state satisfies together
    never_enabled: tuple[str, ...] = ()  # actions that no state of the invariant enables
    undecided: str = ""

    @property
    def reason(self) -> str:
        """The reason why the proof may be vacuous. The text is empty if the checks passed."""
        if self.contradictory:
            return (
                f"vacuous: no state of the scope satisfies all of {', '.join(self.contradictory)}"
            )
        if self.never_enabled:
            names = ", ".join(self.never_enabled)
            return f"vacuous: no state of the scope enables {names}; a larger scope may"
        return self.undecided


UNCHECKED: Final = Vacuity(scope={}, undecided="vacuity was not checked")


def vacuity_of(
    spec: Spec,
    scope: Scope | None = None,
    *,
    seed: int = 0,
    units: int = UNITS,
    limit_ms: int = LIMIT_MS,
    without: Set[str] = frozenset(),
) -> Vacuity:
    """Checks at a finite scope that some state satisfies all claims, and that every action is
    enabled in a state that satisfies all claims.

    If `scope` is None, the spec's own scope is used. The claims in `without` are left out. `units`
    and `limit_ms` limit each query of the solver.
    """
    if not (spec.scope() if scope is None else scope):
        return Vacuity(scope={}, undecided="vacuity was not checked: the spec has no scope")
    at = SmallScope(spec, scope)
    try:
        return _gates(at, at.solver(units=units, limit_ms=limit_ms, seed=seed), without)
    except Declined as reason:
        return Vacuity(scope=at.sizes, undecided=f"vacuity was not checked: {reason}")


def _gates(at: SmallScope, solver: Solver, without: Set[str]) -> Vacuity:
    checked = [claim for claim in at.spec.claims if claim.name not in without]
    claims, missing = at.induction.assumed(checked)
    if missing:
        raise Declined(f"cannot translate {', '.join(missing)}")
    switches = [z3.Bool(name, at.sorts.context) for name in claims]
    solver.add(z3.Implies(on, f) for on, f in zip(switches, claims.values(), strict=True))
    solver.add(at.sorts.axioms)
    together = solver.check(*switches)
    if together.verdict == "unsat":
        return Vacuity(scope=at.sizes, contradictory=tuple(solver.core()))
    solver.add(switches)
    enabled = {action.name: _enabled(at, solver, action) for action in at.spec.actions}
    unknown = {n: a.reason for n, a in enabled.items() if a.verdict == "unknown"}
    return Vacuity(
        scope=at.sizes,
        never_enabled=tuple(n for n, a in enabled.items() if a.verdict == "unsat"),
        undecided="; ".join(
            f"cannot decide if {n} is enabled: {why}" for n, why in unknown.items()
        ),
    )


def _enabled(at: SmallScope, solver: Solver, action: Action) -> Answer:
    guard = at.step.guard(action)
    solver.push()
    solver.add([*at.sorts.axioms, *guard])
    answer = solver.check()
    solver.pop()
    return answer
