"""The portfolio: the ways in which one condition is tried, in order.

E-matching instantiates quantifiers at the terms that it sees; it is quick where the claims say
enough, and never finds a counterexample. Model-based instantiation is slower, and complete where
the sorts allow it: it also refutes. Both are tried first on the slice of a condition, where it has
one, then on all claims.

A condition has one limit. What an attempt leaves of its share goes to those after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import z3

from checkers.symbolic.induction import Facts, Goal
from checkers.symbolic.limits import Answer, Expr, Solver


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A configuration of Z3, and how much of a condition's time it may have, against the others."""

    name: str
    options: Mapping[str, object]
    share: float


E_MATCHING: Final = Strategy(
    name="e-matching", options={"mbqi": False, "auto_config": False}, share=1
)
MODEL_BASED: Final = Strategy(name="model-based instantiation", options={}, share=3)
STRATEGIES: Final = (E_MATCHING, MODEL_BASED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a condition was decided, or why it was not; seconds are those spent in Z3."""

    verdict: Literal["proved", "refuted", "unknown"]
    how: str
    seconds: float


def decide(
    goal: Goal, axioms: Sequence[Expr], context: z3.Context, *, limit_ms: int, seed: int
) -> Outcome:
    """Whether the goal follows from its facts.

    It is `proved`, `refuted` by a model of all facts, or `unknown` within the limit.
    """
    attempts = [(facts, strategy) for facts in goal.facts for strategy in STRATEGIES]
    spent, said = 0.0, list[str]()
    for i, (facts, strategy) in enumerate(attempts):
        left = limit_ms - spent * 1000
        share = strategy.share / sum(later.share for _, later in attempts[i:])
        solver = Solver(
            context, limit_ms=max(1, int(left * share)), seed=seed, options=strategy.options
        )
        solver.add([*axioms, *facts.formulas, z3.Not(goal.formula)])
        answer = solver.check()
        spent += answer.seconds
        if answer.verdict == "unsat":
            return Outcome(verdict="proved", how=named(strategy, facts), seconds=spent)
        if answer.verdict == "sat" and not facts.named and not facts.missing:
            return Outcome(verdict="refuted", how=named(strategy, facts), seconds=spent)
        said.append(f"{named(strategy, facts)}: {remark(answer, facts)}")
    return Outcome(verdict="unknown", how="; ".join(said), seconds=spent)


def named(strategy: Strategy, facts: Facts) -> str:
    return f"{strategy.name} from {facts.named}" if facts.named else strategy.name


def remark(answer: Answer, facts: Facts) -> str:
    """Why the attempt settled nothing."""
    if answer.verdict == "unknown":
        return answer.reason or "no reason given"
    return (
        f"not proved without {facts.missing}, which has no reading"
        if facts.missing
        else "too few claims"
    )
