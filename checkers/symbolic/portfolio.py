"""The portfolio: the ways in which one condition is tried, in order, until one settles it.

E-matching instantiates quantifiers at the terms that it sees: quick where the claims say enough,
and it never refutes. A finite scope needs no instantiation: quick to refute, and it never proves.
Ground instances help e-matching to terms. Model-based instantiation is slow, and complete where the
sorts allow it. What a condition's slice
suffices for is tried first.

How long a hard condition takes has a heavy tail: the same facts are settled in a tenth of a second
or not in a minute, by how Z3 happens to branch. So several short searches that branch differently
are worth more than one long one.

A condition has one limit. What an attempt leaves of its part goes to those after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

import z3

from checkers.symbolic.induction import Facts, Goal
from checkers.symbolic.limits import Answer, Expr, Solver
from checkers.symbolic.sorts import Sorts


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A configuration of Z3, and the part that it may have of the time left for a condition."""

    name: str
    options: Mapping[str, object]
    part: float


E_MATCHING: Final = {"mbqi": False, "auto_config": False}
AT_FIRST_SIGHT: Final = Strategy(name="e-matching", options=E_MATCHING, part=0.05)
AT_A_FINITE_SCOPE: Final = Strategy(name="finite scope", options={}, part=0.1)
OF_INSTANCES: Final = Strategy(name="ground instances", options=E_MATCHING, part=0.3)
AT_LENGTH: Final = (
    Strategy(name="e-matching", options=E_MATCHING, part=0.1),
    Strategy(
        name="e-matching, false first", options={**E_MATCHING, "phase_selection": 0}, part=0.1
    ),
    Strategy(name="e-matching, goal first", options={**E_MATCHING, "case_split": 3}, part=0.15),
    Strategy(
        name="e-matching, shallow", options={**E_MATCHING, "qi.eager_threshold": 3.0}, part=0.2
    ),
    Strategy(name="model-based instantiation", options={}, part=0.6),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attempt:
    """A question to Z3, whether the goal can be false, and which answers settle the condition."""

    strategy: Strategy
    facts: Facts
    goal: Expr
    sorts: Sorts
    settles: frozenset[str]  # of sat, which refutes, and unsat, which proves

    @property
    def name(self) -> str:
        return f"{self.strategy.name} of a slice" if self.facts.named else self.strategy.name

    def ask(self, *, limit_ms: int, seed: int) -> Answer:
        options = self.strategy.options
        solver = Solver(self.sorts.context, limit_ms=limit_ms, seed=seed, options=options)
        solver.add([*self.sorts.axioms, *self.facts.formulas, z3.Not(self.goal)])
        return solver.check()

    def remark(self, answer: Answer) -> str:
        """Why the answer does not settle the condition."""
        if answer.verdict == "unknown":
            return f"{self.name}: {answer.reason}"
        if self.facts.missing:
            return f"{self.name}: not without {self.facts.missing}, which has no reading"
        return (
            f"{self.name}: {'too few claims' if answer.verdict == 'sat' else 'no counterexample'}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a condition was decided, or why it was not; seconds are those spent in Z3."""

    verdict: Literal["proved", "refuted", "unknown"]
    how: str
    seconds: float = 0.0


AtScopes = Callable[[], Iterator[tuple[Goal, Sorts]]]  # the same condition at finite scopes


def attempts(goal: Goal, sorts: Sorts, at_scopes: AtScopes) -> Iterator[Attempt]:
    """The attempts at a condition, in order; a finite scope is formulated only when reached."""
    for facts in goal.facts:
        yield unbounded(goal, facts, sorts, AT_FIRST_SIGHT)
    for finite, finite_sorts in at_scopes():
        facts = finite.facts[-1]
        yield Attempt(
            strategy=AT_A_FINITE_SCOPE,
            facts=facts,
            goal=finite.formula,
            sorts=finite_sorts,
            settles=frozenset() if facts.missing else frozenset({"sat"}),
        )
    if goal.instantiated is not None:
        for facts in goal.facts:
            few, formula = goal.instantiated(facts)
            yield unbounded(replace(goal, formula=formula), few, sorts, OF_INSTANCES)
    for strategy in AT_LENGTH:
        for facts in goal.facts:
            yield unbounded(goal, facts, sorts, strategy)


def unbounded(goal: Goal, facts: Facts, sorts: Sorts, strategy: Strategy) -> Attempt:
    all_claims = not facts.named and not facts.missing
    return Attempt(
        strategy=strategy,
        facts=facts,
        goal=goal.formula,
        sorts=sorts,
        settles=frozenset({"sat", "unsat"} if all_claims else {"unsat"}),
    )


def decide(goal: Goal, sorts: Sorts, at_scopes: AtScopes, *, limit_ms: int, seed: int) -> Outcome:
    """Whether the goal follows from its facts, as the first attempt says that settles it.

    A finite scope is asked for only when no proof is seen at first sight.
    """
    spent, said = 0.0, list[str]()
    for attempt in attempts(goal, sorts, at_scopes):
        left_ms = limit_ms - spent * 1000
        answer = attempt.ask(limit_ms=int(left_ms * attempt.strategy.part), seed=seed)
        spent += answer.seconds
        if answer.verdict in attempt.settles:
            verdict: Literal["proved", "refuted"] = (
                "proved" if answer.verdict == "unsat" else "refuted"
            )
            return Outcome(verdict=verdict, how=attempt.name, seconds=spent)
        said.append(attempt.remark(answer))
    return Outcome(verdict="unknown", how="; ".join(said), seconds=spent)
