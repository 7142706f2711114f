"""Builds the conditions of a proof by induction. If all conditions are true, every claim is true in
every reachable state.

There are two kinds of conditions:

- Each claim is true in every initial state.
- Each action preserves each claim: if all claims are true before the action, the claim is true
  after the action.

If an action changes no variable of a claim, the action preserves the claim. Such a condition is
proved by its *frame*, without a solver.

If all claims together are too many for the solver, a spec can name a *slice* for a condition: the
claims that suffice to prove the condition. A wrong slice costs time, but it never makes a false
condition proved. In this example, the slice of a condition has two claims:

    using = {("append", "log_is_complete"): ("fetched_is_copied", "one_leader")}

A claim may also *follow* from other claims in the same state. In this case, one query about a
single state replaces all conditions of the claim. If one of the other claims also has a row in the
table, its row must come first. In this example, a claim follows from two claims:

    consequences = {"one_leader": ("a_majority_votes_for_each_leader", "votes_are_given_once")}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
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
Consequences = Mapping[
    str, Sequence[str]
]  # claim -> the claims from which it follows in every state
Using = Mapping[tuple[str, str], Sequence[str]]  # (action, claim) -> the claims of its slice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Facts:
    """A set of assumptions with which a solver tries to prove that an action preserves a claim."""

    formulas: Sequence[Expr]
    claims: Sequence[Claim] = ()  # the claims among the formulas
    named: str = ""  # the claims of a slice; empty for all of them
    missing: str = ""  # claims that cannot be translated: without them a model refutes nothing


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Goal:
    """One condition of a proof as Z3 formulas: an action preserves a claim.

    The condition is proved if `formula` follows from at least one of the sets of assumptions in
    `facts`.
    """

    facts: Sequence[Facts]  # in the order of the attempts; the last has all claims
    formula: Expr
    instantiated: Callable[[Facts], tuple[Facts, Expr]] | None = None  # with ground instances


class Induction:
    """Builds the Z3 formulas for a proof by induction of each claim of a spec."""

    def __init__(self, spec: Spec, step: Step, using: Using | None = None) -> None:
        self.spec, self.step = spec, step
        self.using = checked(spec, declared(spec) if using is None else using)
        self.consequences = consequences_of(spec)

    def goal(self, action: Action, claim: Claim, without: Set[str] = frozenset()) -> Goal:
        """Returns the condition that the claim is true after the action.

        The condition assumes that all claims are true before the action, except the claims in
        `without`. For `init`, it assumes no claim. Raises Declined if Z3 cannot express the claim
        or the action.
        """
        if action.name == INIT:
            return self._initially(claim)
        return self._preserved(action, claim, without)

    def follows(self, claim: Claim, without: Set[str] = frozenset()) -> bool:
        """Returns True if the spec's table `consequences` has a row for `claim`, and no claim from
        which it follows is in `without`.
        """
        premises = self.consequences.get(claim.name)
        return premises is not None and without.isdisjoint(premises)

    def consequence(self, claim: Claim) -> Goal:
        """Returns a condition: the claim must follow from certain other claims. The spec's table
        `consequences` names them. Raises Declined if Z3 cannot express the claim.
        """
        return Goal(
            facts=[replace(self._slice(self.consequences[claim.name], []), named="")],
            formula=self.step.formula(claim.formula, self.step.before),
        )

    def _initially(self, claim: Claim) -> Goal:
        start = self.step.initial()
        return Goal(
            facts=[Facts(formulas=[*self.step.guard(self.spec.initial)])],
            formula=self.step.formula(claim.formula, start),
        )

    def _preserved(self, action: Action, claim: Claim, without: Set[str]) -> Goal:
        guard = self.step.guard(action)
        named = self.using.get((action.name, claim.name), ())
        part = [name for name in named if name not in without]
        slices = [self._slice(part, guard)] if part else []

        def instantiated(facts: Facts) -> tuple[Facts, Expr]:
            formula, about = failing(self.step, action, claim)
            grounds = instances(self.step, action, about, facts.claims)
            return replace(facts, formulas=[*facts.formulas, *grounds]), formula

        return Goal(
            facts=[*slices, self._all_claims(guard, without)],
            formula=self.step.formula(claim.formula, self.step.after(action)),
            instantiated=instantiated,
        )

    def assumed(self, claims: Sequence[Claim]) -> tuple[dict[str, Expr], list[str]]:
        """Returns a formula for each claim in the state before a step, and the names of the
        claims that Z3 cannot express.
        """
        formulas: dict[str, Expr] = {}
        missing: list[str] = []
        for claim in claims:
            try:
                formulas[claim.name] = self.step.formula(claim.formula, self.step.before)
            except Declined:
                missing.append(claim.name)
        return formulas, missing

    def _all_claims(self, guard: list[Expr], without: Set[str]) -> Facts:
        claims = [c for c in self.spec.claims if c.name not in without]
        formulas, missing = self.assumed(claims)
        return Facts(
            formulas=[*guard, *formulas.values()],
            claims=[c for c in claims if c.name in formulas],
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
    """Returns True if the action changes no variable that the claim reads. Such an action
    preserves the claim.
    """
    return not t.reads(claim.formula) & action.changes


def declared(spec: Spec) -> Using:
    """Returns the spec's table of slices. For an action and a claim, it names the claims that
    suffice to prove that the action preserves the claim. The table is empty if the spec has
    none.
    """
    slices: Any = getattr(type(spec), "using", {})
    return slices  # type: ignore[no-any-return]  # the base class has no such attribute


def consequences_of(spec: Spec) -> Consequences:
    """Returns the spec's table `consequences`: it maps a claim to other claims from which the claim
    follows. The table is empty if the spec has none.

    Raises SpecError for an unknown name. Raises SpecError also if a claim would follow from itself
    or from a later claim of the table.
    """
    table: Consequences = getattr(type(spec), "consequences", {})
    names, seen = [c.name for c in spec.claims], set[str]()
    for claim, premises in table.items():
        for name in (claim, *premises):
            require_known(spec, "claim", name, names)
        late = [name for name in premises if name in table and name not in seen]
        if late:
            raise SpecError(
                f"{title_of(spec)}: {claim} follows from {late[0]}, which is not above it in"
                " `consequences`\n  order the table, so that no claim follows from itself"
            )
        seen.add(claim)
    return table


def checked(spec: Spec, using: Using) -> Using:
    """Returns `using` unchanged. Raises SpecError if it contains an unknown action or claim."""
    actions, claims = [INIT, *(a.name for a in spec.actions)], [c.name for c in spec.claims]
    for (action, claim), names in using.items():
        require_known(spec, "action", action, actions)
        for name in (claim, *names):
            require_known(spec, "claim", name, claims)
    return using


def require_known(spec: Spec, kind: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise SpecError(
            f"{title_of(spec)} has no {kind} {name!r}; the nearest: {nearest(name, known)}"
        )
