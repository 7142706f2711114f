"""Tries several Z3 queries, in a fixed order, until one query proves or refutes a condition.

A condition says that an action preserves a claim. The queries use these methods:

- E-matching instantiates quantifiers with existing terms. It proves a condition fast if the claims
  suffice, but it never refutes a condition.
- A search at a finite scope, such as 3 replicas, refutes a condition fast, but it never proves a
  condition.
- Ground instances (claims with terms in place of quantified variables) give E-matching more terms.
- Model-based instantiation is slow, but it is complete for some types of variables.

The spec may name a *slice*: claims that suffice to prove the condition. In this case, the first two
queries assume only the claims of the slice.

The same query may take 0.1 seconds or a minute, because its time depends on how Z3 branches. So
several short searches that branch differently are better than one long search.

In the proofs of Urteil's specs, the first E-matching query decides a condition with at most 0.4
million units of work, or not at all. A query with ground instances usually needs less than 8
million; one of `quorum-abstract` needed 21 million.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import z3

from checkers.symbolic.induction import Facts, Goal
from checkers.symbolic.limits import Answer, Effort, Expr, Solver
from checkers.symbolic.sorts import Sorts


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A configuration of Z3, and the share of the remaining units of work that its query may
    use.
    """

    name: str
    options: Mapping[str, object]
    part: float


E_MATCHING: Final = {"mbqi": False, "auto_config": False}
AT_FIRST_SIGHT: Final = Strategy(name="e-matching", options=E_MATCHING, part=0.01)
AT_A_FINITE_SCOPE: Final = Strategy(name="finite scope", options={}, part=0.1)
OF_INSTANCES: Final = Strategy(name="ground instances", options=E_MATCHING, part=0.3)
OF_FEW_INSTANCES: Final = replace(OF_INSTANCES, part=0.1)  # those of a slice
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
    """A Z3 query: can the goal be false although all assumptions are true?

    `settles` has the results of Z3 that decide the goal: `unsat` proves the goal, and `sat` refutes
    the goal.

    - At a finite scope, such as 3 replicas, only `sat` decides, because a larger scope may have a
      counterexample.
    - If the assumptions lack some claims, only `unsat` decides, because the lacking claims may
      exclude the counterexample.
    """

    strategy: Strategy
    facts: Facts
    goal: Expr
    sorts: Sorts
    settles: frozenset[str]  # a subset of sat, which refutes, and unsat, which proves

    @property
    def name(self) -> str:
        """The name of the Z3 configuration, such as `e-matching`. If the attempt assumes only a
        slice of the claims, the name is, for example, `e-matching of a slice`.
        """
        return f"{self.strategy.name} of a slice" if self.facts.named else self.strategy.name

    def run(self, *, units: int, limit_ms: int, seed: int) -> Answer:
        """Runs the query and returns Z3's result. The result is `unknown` if Z3 reaches a limit.

        `units` is the budget that is left for this query and all later queries of the condition.
        This query may use only a share of the budget, which its strategy determines. `limit_ms`
        limits the wall time of this query.
        """
        solver = Solver(
            self.sorts.context,
            units=int(units * self.strategy.part),
            limit_ms=limit_ms,
            seed=seed,
            options=self.strategy.options,
        )
        solver.add([*self.sorts.axioms, *self.facts.formulas, z3.Not(self.goal)])
        return solver.check()

    def remark(self, answer: Answer) -> str:
        """Returns the reason why Z3's result does not decide the condition."""
        if answer.verdict == "unknown":
            return f"{self.name}: {answer.reason}"
        if self.facts.missing:
            return f"{self.name}: cannot translate {self.facts.missing}"
        return (
            f"{self.name}: {'too few claims' if answer.verdict == 'sat' else 'no counterexample'}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The verdict on one condition of a proof, and how Z3 reached it. `seconds` is the time in
    Z3.
    """

    verdict: Literal["proved", "refuted", "unknown"]
    how: str
    seconds: float = 0.0
    assumed: frozenset[str] = frozenset()  # the claims that the deciding query assumes
    from_cache: bool = False  # an earlier run decided the condition


AtScopes = Callable[[], Iterator[tuple[Goal, Sorts]]]  # the same condition at finite scopes


def attempts(goal: Goal, sorts: Sorts, at_scopes: AtScopes) -> Iterator[Attempt]:
    """Yields the Z3 queries that may decide a condition of a proof, in the order in which they
    are tried.
    """
    *slices, every = goal.facts
    for facts in slices:
        yield unbounded(goal, facts, sorts, AT_FIRST_SIGHT)
        yield from with_instances(goal, [facts], sorts, OF_FEW_INSTANCES)
    yield unbounded(goal, every, sorts, AT_FIRST_SIGHT)
    for finite, finite_sorts in at_scopes():
        facts = finite.facts[-1]
        yield Attempt(
            strategy=AT_A_FINITE_SCOPE,
            facts=facts,
            goal=finite.formula,
            sorts=finite_sorts,
            settles=frozenset() if facts.missing else frozenset({"sat"}),
        )
    yield from with_instances(goal, goal.facts, sorts, OF_INSTANCES)
    for strategy in AT_LENGTH:
        for facts in goal.facts:
            yield unbounded(goal, facts, sorts, strategy)


def with_instances(
    goal: Goal, facts: Sequence[Facts], sorts: Sorts, strategy: Strategy
) -> Iterator[Attempt]:
    """Yields one query for each set of assumptions in `facts`. The query also assumes ground
    instances of the claims in this set. Yields nothing if the goal has no ground instances.
    """
    if goal.instantiated is not None:
        for some in facts:
            more, formula = goal.instantiated(some)
            yield unbounded(replace(goal, formula=formula), more, sorts, strategy)


def unbounded(goal: Goal, facts: Facts, sorts: Sorts, strategy: Strategy) -> Attempt:
    all_claims = not facts.named and not facts.missing
    return Attempt(
        strategy=strategy,
        facts=facts,
        goal=goal.formula,
        sorts=sorts,
        settles=frozenset({"sat", "unsat"} if all_claims else {"unsat"}),
    )


def decide(goal: Goal, sorts: Sorts, at_scopes: AtScopes, effort: Effort) -> Outcome:
    """Runs Z3 queries in a fixed order until one query proves or refutes the goal. If no query
    decides the goal, the verdict is `unknown`.
    """
    spent, left, remarks = 0.0, effort.units, list[str]()
    for attempt in attempts(goal, sorts, at_scopes):
        effort.poll()
        left_ms = int(effort.limit_ms - spent * 1000)
        answer = attempt.run(units=left, limit_ms=left_ms, seed=effort.seed)
        spent += answer.seconds
        left -= answer.units
        if answer.verdict in attempt.settles:
            verdict: Literal["proved", "refuted"] = (
                "proved" if answer.verdict == "unsat" else "refuted"
            )
            assumed = frozenset(claim.name for claim in attempt.facts.claims)
            return Outcome(verdict=verdict, how=attempt.name, seconds=spent, assumed=assumed)
        remarks.append(attempt.remark(answer))
    return Outcome(verdict="unknown", how="; ".join(remarks), seconds=spent)
