"""Writes the conditions of a proof as SMT-LIB scripts, which every SMT solver can read.

A script asserts the axioms of the sorts (types), the guard of the action, and every claim before
the step. It also asserts that one claim is false after the step. So the result `unsat` proves the
condition. If the result is `sat`, the model is a counterexample to induction. With the scripts,
another solver can confirm Z3's verdicts, but it cannot confirm the translation of the spec.

Source: Barrett, Fontaine and Tinelli, The SMT-LIB Standard, version 2.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import z3

from checkers.symbolic.condition import Condition
from checkers.symbolic.induction import Facts, Goal, Induction
from checkers.symbolic.limits import Expr, Solver
from checkers.symbolic.proof import DECLINED, FRAME, Proof
from checkers.symbolic.sorts import Sorts, Unbounded
from checkers.symbolic.states import Step
from checkers.symbolic.translation import Translation
from model.language.spec import Spec

LOGIC: Final = "UFDT"  # uninterpreted functions and sorts, datatypes, quantifiers
STATUS: Final = {"proved": "unsat", "refuted": "sat", "unknown": "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A condition of a proof with Z3's verdict, and its formulas in SMT-LIB.

    `of_slice` is a second script. It assumes only a slice: the claims that the spec names as
    sufficient for the condition. Its result `unsat` proves the condition, but its result `sat`
    decides nothing. `of_slice` is empty if the spec names no slice for the condition.
    """

    name: str  # such as append-atomic, for a file
    title: str  # such as `append preserves atomic`
    condition: Condition
    without: tuple[str, ...]  # claims that were dropped, so that the script does not assume them
    text: str
    of_slice: str = ""
    lacks_claims: bool = False  # some claim has no formula: `sat` decides nothing

    def file(self) -> str:
        """Returns the script with a heading. The heading has the condition and Z3's verdict. It
        also lists the dropped claims, which the script does not assume.
        """
        verdict = self.condition.verdict
        lines = [f"; {self.title}: {verdict} by Z3"]
        lines += [f"; without the dropped claims {', '.join(self.without)}"] if self.without else []
        return "\n".join([*lines, f"(set-info :status {STATUS[verdict]})", self.text])


def scripts(spec: Spec, proof: Proof) -> Iterator[Script]:
    """Yields a script for each condition that decides a verdict of the proof.

    A condition has no script if its action changes no variable of its claim. If a claim follows
    from other claims, one script replaces the scripts of all conditions of this claim
    (`Proof.by_consequence`).
    """
    sorts = Unbounded()
    induction = Induction(spec, Step(spec, Translation(sorts)))
    actions = {action.name: action for action in (spec.initial, *spec.actions)}
    claims = {claim.name: claim for claim in spec.claims}
    once = set[str]()
    for condition, without in deciding(proof):
        action, claim = actions[condition.action], claims[condition.claim]
        if not induction.follows(claim, without):
            name, title = f"{action.name}-{claim.name}", f"{action.name} preserves {claim.name}"
            goal = induction.goal(action, claim, without)
        elif claim.name not in once:
            once.add(claim.name)
            name, title = f"{claim.name}-follows", f"{claim.name} follows from other claims"
            goal = induction.consequence(claim)
        else:
            continue
        *slices, every = (text_of(goal, facts, sorts) for facts in goal.facts)
        yield Script(
            name=name,
            title=title,
            condition=condition,
            without=tuple(sorted(without)),
            text=every,
            of_slice=slices[0] if slices else "",
            lacks_claims=bool(goal.facts[-1].missing),
        )


def deciding(proof: Proof) -> Iterator[tuple[Condition, frozenset[str]]]:
    """Yields the conditions that decide a proof. Each condition comes with the names of the dropped
    claims that its proof must not assume.

    The conditions are the failed conditions and the conditions of the proved claims. Two kinds of
    conditions are left out: conditions that Z3 cannot express, and conditions whose action changes
    no variable of the claim.
    """
    dropped = frozenset(proof.dropped)
    for condition in proof.conditions:
        if condition.how == FRAME or condition.how.startswith(DECLINED):
            continue
        if condition.verdict != "proved":
            yield condition, frozenset[str]()
        elif condition.claim not in dropped:
            yield condition, dropped
    if dropped and proof.subset is not None:
        for lost in proof.subset.dropped:
            if lost.without:
                yield lost.condition, frozenset(lost.without)


def text_of(goal: Goal, facts: Facts, sorts: Sorts) -> str:
    """Returns an SMT-LIB script that is satisfiable if the goal can be false while the facts are
    true.
    """
    guards = facts.formulas[: len(facts.formulas) - len(facts.claims)]
    claims = facts.formulas[len(guards) :]
    asserted: list[tuple[str, Sequence[Expr]]] = [
        ("the sorts", sorts.axioms),
        ("the guard of the action", guards),
        *((f"before: {c.name}", [f]) for c, f in zip(facts.claims, claims, strict=True)),
        ("after: the claim is false", [z3.Not(goal.formula)]),
    ]
    solver = Solver(sorts.context)  # only prints
    for _, formulas in asserted:
        solver.add(formulas)
    lines = [f"(set-logic {LOGIC})", solver.declarations()]
    for comment, formulas in asserted:
        lines += [f"; {comment}"] if formulas else []
        lines += [f"(assert {formula.sexpr()})" for formula in formulas]
    return "\n".join([*lines, "(check-sat)", ""])
