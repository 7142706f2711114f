"""Induction: what must be proved so that every claim is true in every reachable state.

Each claim is true initially, and each action that finds all claims true leaves each of them true. A
claim that reads nothing that an action changes is preserved by that action's frame, and no solver
is asked.

A *slice* names the claims that suffice for one condition, where all of them together overwhelm the
solver. It is a hint: fewer facts prove no more, so a wrong one costs time and never truth. A spec
writes its slices as a class attribute

    using = {("append", "log_is_complete"): ("fetched_is_copied", "one_leader")}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from checkers.symbolic.instances import failing, instances
from checkers.symbolic.limits import Expr
from checkers.symbolic.sorts import Declined
from checkers.symbolic.states import Step
from model.faults import nearest
from model.language import terms as t
from model.language.expressions import SpecError
from model.language.spec import Action, Claim, Spec, title_of

INIT: Final = "init"  # the name of the initial condition among the actions
Using = Mapping[tuple[str, str], Sequence[str]]  # (action, claim) -> the claims that suffice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Facts:
    """What one attempt may assume."""

    formulas: Sequence[Expr]
    claims: Sequence[Claim] = ()  # what of this is said of all elements
    named: str = ""  # the claims of a slice; empty for all of them
    missing: str = ""  # claims without a reading: a model without them refutes nothing


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Goal:
    """One condition as formulas: the goal follows from each of the facts, or so it is hoped."""

    facts: Sequence[Facts]  # in the order in which they are tried, all claims last
    formula: Expr
    instantiated: Callable[[Facts], tuple[Facts, Expr]] | None = None  # the same, of few things


class Induction:
    """The conditions of a spec, under one reading of its sorts."""

    def __init__(self, spec: Spec, step: Step, using: Using | None = None) -> None:
        self.spec, self.step = spec, step
        self.using = checked(spec, declared(spec) if using is None else using)

    def goal(self, action: Action, claim: Claim) -> Goal:
        """The condition of the action and the claim, the initial one of `init`; raises Declined."""
        return self._initially(claim) if action.name == INIT else self._preserved(action, claim)

    def _initially(self, claim: Claim) -> Goal:
        """The claim is true in every initial state."""
        start = self.step.initial()
        return Goal(
            facts=[Facts(formulas=[*self.step.guard(self.spec.initial)])],
            formula=self.step.formula(claim.formula, start),
        )

    def _preserved(self, action: Action, claim: Claim) -> Goal:
        """Where all claims are true and the action may happen, the claim is true after it."""
        guard = self.step.guard(action)
        slices = [c for c in [self.using.get((action.name, claim.name))] if c is not None]

        def instantiated(facts: Facts) -> tuple[Facts, Expr]:
            formula, about = failing(self.step, action, claim)
            grounds = instances(self.step, action, about, facts.claims)
            return replace(facts, formulas=[*facts.formulas, *grounds]), formula

        return Goal(
            facts=[*(self._slice(names, guard) for names in slices), self._all_claims(guard)],
            formula=self.step.formula(claim.formula, self.step.after(action)),
            instantiated=instantiated,
        )

    def assumed(self, claims: Sequence[Claim]) -> tuple[dict[str, Expr], list[str]]:
        """The claims about the state before, by name, and the names of those without a reading."""
        formulas: dict[str, Expr] = {}
        missing: list[str] = []
        for claim in claims:
            try:
                formulas[claim.name] = self.step.formula(claim.formula, self.step.before)
            except Declined:
                missing.append(claim.name)
        return formulas, missing

    def _all_claims(self, guard: list[Expr]) -> Facts:
        formulas, missing = self.assumed(self.spec.claims)
        return Facts(
            formulas=[*guard, *formulas.values()],
            claims=[c for c in self.spec.claims if c.name in formulas],
            missing=", ".join(missing),
        )

    def _slice(self, names: Sequence[str], guard: list[Expr]) -> Facts:
        formulas, _ = self.assumed([c for c in self.spec.claims if c.name in names])
        return Facts(
            formulas=[*guard, *formulas.values()],
            claims=[c for c in self.spec.claims if c.name in formulas],
            named=", ".join(formulas),
        )


def framed(action: Action, claim: Claim) -> bool:
    """Whether the claim reads nothing that the action changes."""
    return not t.reads(claim.formula) & action.changes


def declared(spec: Spec) -> Using:
    """The slices that the spec's class writes down."""
    slices: Any = getattr(type(spec), "using", {})
    return slices  # type: ignore[no-any-return]  # a spec is open: the attribute is no part of its base


def checked(spec: Spec, using: Using) -> Using:
    """The slices, once every name in them is one of the spec's; raises SpecError."""
    actions, claims = [INIT, *(a.name for a in spec.actions)], [c.name for c in spec.claims]
    for (action, claim), names in using.items():
        among(spec, "action", action, actions)
        for name in (claim, *names):
            among(spec, "claim", name, claims)
    return using


def among(spec: Spec, kind: str, name: str, known: Sequence[str]) -> None:
    """Raises SpecError, with the nearest names, unless the name is known."""
    if name not in known:
        told = f"{title_of(spec)} has no {kind} {name!r}"
        raise SpecError(f"{told}; the nearest: {nearest(name, known)}")
