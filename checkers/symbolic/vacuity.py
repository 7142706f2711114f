"""Vacuity gates: whether a proof says anything.

From claims that contradict each other everything follows, and of an action that no state of the
invariant enables everything is true. Both are looked for at a finite scope: some state satisfies
all claims, and for every action some state satisfies the claims and the guard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import z3

from checkers.symbolic.small_scope import SmallScope
from checkers.symbolic.sorts import Declined
from model.language.scope import Scope
from model.language.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacuity:
    """What the gates found at a finite scope; `reason` is empty when the proof says something."""

    scope: Mapping[str, int]  # a sort -> how many elements
    contradictory: tuple[str, ...] = ()  # claims that no state satisfies together
    never_enabled: tuple[str, ...] = ()  # actions that no state of the invariant enables
    undecided: str = ""

    @property
    def reason(self) -> str:
        if self.contradictory:
            return (
                f"vacuous: no state of the scope satisfies all of {', '.join(self.contradictory)}"
            )
        if self.never_enabled:
            names = ", ".join(self.never_enabled)
            return f"vacuous: no state of the scope enables {names}; one of a larger may"
        return self.undecided


UNCHECKED: Final = Vacuity(scope={}, undecided="vacuity was not checked")


def vacuity_of(spec: Spec, scope: Scope | None = None, *, seed: int = 0, limit_ms: int) -> Vacuity:
    """What the gates find at the scope, by default the spec's own; each question has the limit."""
    if not (spec.scope() if scope is None else scope):
        return Vacuity(scope={}, undecided="vacuity was not checked: the spec names no scope")
    at = SmallScope(spec, scope)
    sizes = {name: len(r) for name, r in at.meaning.ranges.items() if name != "Bool"}
    try:
        claims, missing = at.induction.assumed(spec.claims)
        if missing:
            return Vacuity(scope=sizes, undecided=f"no reading of {', '.join(missing)}")
        solver = at.solver(limit_ms=limit_ms, seed=seed)
        solver.add(z3.Implies(z3.Bool(name, at.sorts.context), f) for name, f in claims.items())
        solver.add(at.sorts.axioms)
        names = [z3.Bool(name, at.sorts.context) for name in claims]
        answer = solver.check(*names)
        if answer.verdict == "unsat":
            return Vacuity(scope=sizes, contradictory=tuple(solver.core()))
        said = [answer.reason] if answer.verdict == "unknown" else []
        solver.add(names)
        never: list[str] = []
        for action in spec.actions:
            guard = at.step.guard(action)
            solver.push()
            solver.add([*at.sorts.axioms, *guard])
            answer = solver.check()
            solver.pop()
            never += [action.name] if answer.verdict == "unsat" else []
            said += [f"{action.name}: {answer.reason}"] if answer.verdict == "unknown" else []
    except Declined as reason:
        return Vacuity(scope=sizes, undecided=str(reason))
    return Vacuity(scope=sizes, never_enabled=tuple(never), undecided="; ".join(said))
