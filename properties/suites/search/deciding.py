"""Searches for runs that decide the claims of a suite, and prints each run found as a program.

A run decides a claim if it breaks the claim. For a claim "X can happen", a run decides the claim if
X happens. The verdict "holds" means only that the search found no counterexample in its runs. A
search is not a proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from properties.suites.machines.judged import PROGRESS, JudgedMachine, Tally
from properties.suites.search.counterexample import program
from properties.suites.search.searching import Found, replay, search
from properties.suites.suite import Outcome, Side, Suite
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.simulation.trace import Traced

RUNS: Final = 200
RULES: Final = 16  # of each run
RUNS_FOR_A_GOAL: Final = 10  # times the runs, if some run must exist: the search ends at the first


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimVerdict:
    """The verdict of a search on one claim, and the runs that are the evidence for it.

    `programs` has these runs, each printed as a program. They break the claim, or reach its goals.
    `events` has every event of a run that breaks the claim.
    """

    claim: str
    outcome: Outcome
    why: str
    programs: tuple[str, ...] = ()
    events: tuple[Traced, ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """The verdicts on all claims of a suite, and the cost of the searches."""

    suite: str
    bugs: Bugs
    seed: int
    verdicts: tuple[ClaimVerdict, ...]
    runs: int
    broker_steps: int
    cpu_seconds: float

    @property
    def violated(self) -> tuple[ClaimVerdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "violated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The parameters of a search: the suite, the seed, the number of runs, and the number of
    rule calls per run.
    """

    suite: Suite
    seed: int
    runs: int
    rules: int
    tally: Tally
    shrinks: bool = True

    @property
    def rules_of_each(self) -> int:
        """The number of rule calls per run: `rules` multiplied by the suite's factor
        `share_of_rules`. The factor is below 1 for a suite whose rules are slow, so that its runs
        do not take longer.
        """
        return max(1, round(self.rules * self.suite.share_of_rules))

    def machine(self, setting: str, bugs: Bugs) -> Callable[..., JudgedMachine]:
        return partial(self.suite.machine, setting, bugs=bugs, tally=self.tally)

    def found(self, setting: str, bugs: Bugs, judge: Sequence[str]) -> Found | None:
        """Returns the first run that breaks a claim, reaches a goal or has an anomaly whose name is
        in `judge`.

        The result is None if there is no such run. The result may also be a run in which the
        clients stop making progress.
        """
        return search(
            partial(self.machine(setting, bugs), judge=tuple(judge)),
            seed=self.seed,
            runs=self.runs,
            rules=self.rules_of_each,
            simpler=self.suite.machine.SIMPLER,
            shrinks=self.shrinks,
        )

    def nothing_found(self, searched: str) -> str:
        scope = f"{self.runs} runs of {self.rules_of_each} rules"
        return f"no {searched} in {scope} (seed {self.seed})"


def run(
    suite: Suite,
    *,
    bugs: Bugs = NO_BUGS,
    seed: int = 0,
    runs: int = RUNS,
    rules: int = RULES,
    shrinks: bool = True,
    progress: Callable[[Tally], None] | None = None,
) -> SuiteResult:
    """Returns a verdict on each claim of the suite, for a broker with the seeded `bugs`.

    The settings of the runs satisfy the conditions of the claims. The claims that must *always*
    hold in a setting are checked together, on the same runs. The search ends at the first run that
    breaks one of these claims, and the verdict on the remaining claims is undecided. Each claim of
    the kind "X *can* happen" has its own search. If `bugs` is not empty, no claim of this kind is
    checked.
    """
    started = time.process_time()
    tally = Tally(progress=progress)
    where = Search(suite=suite, seed=seed, runs=runs, rules=rules, tally=tally, shrinks=shrinks)
    fewer = replace(where, runs=max(1, round(runs * suite.share_of_runs)))
    always = [side for side in suite.inside if side.claim in suite.always]
    verdicts: list[ClaimVerdict] = []
    for setting in dict.fromkeys(side.setting for side in always):
        claims = [side.claim for side in always if side.setting == setting]
        broken = next((verdict for verdict in verdicts if verdict.outcome == "violated"), None)
        if broken is None:
            verdicts += _judge_together(fewer, claims, setting, bugs)
        else:
            why = f"the search ended at a violation of {broken.claim}"
            verdicts += (
                ClaimVerdict(claim=claim, outcome="undecided", why=why) for claim in claims
            )
    if not bugs:
        goals = (side for side in suite.inside if side.claim in suite.sometimes)
        verdicts += (_decide_goals(where, side) for side in goals)
    return SuiteResult(
        suite=suite.name,
        bugs=bugs,
        seed=seed,
        verdicts=tuple(verdicts),
        runs=tally.runs,
        broker_steps=tally.broker_steps,
        cpu_seconds=time.process_time() - started,
    )


def decide(
    suite: Suite,
    side: Side,
    *,
    seed: int = 0,
    runs: int = RUNS,
    rules: int = RULES,
    shrinks: bool = True,
    progress: Callable[[Tally], None] | None = None,
) -> ClaimVerdict:
    """Returns the verdict of a search on the claim of `side`.

    The search makes at most `runs` runs. It makes up to ten times as many in two cases: `side`
    expects that some run breaks the claim, or that some run reaches each goal of a claim "X can
    happen". If the search then finds no such run, the verdict is undecided.
    """
    tally = Tally(progress=progress)
    where = Search(suite=suite, seed=seed, runs=runs, rules=rules, tally=tally, shrinks=shrinks)
    if side.claim in suite.sometimes:
        return _decide_goals(where, side)
    is_outside = side.expected == "violated"
    if is_outside:
        where = replace(where, runs=where.runs * RUNS_FOR_A_GOAL)
    verdicts = _judge_together(where, [side.claim], side.setting, side.bugs)
    verdict = next(verdict for verdict in verdicts if verdict.claim == side.claim)
    if is_outside and verdict.outcome == "holds":
        return replace(verdict, outcome="undecided")
    return verdict


def _judge_together(
    where: Search, claims: Sequence[str], setting: str, bugs: Bugs
) -> list[ClaimVerdict]:
    found = where.found(setting, bugs, claims)
    if found is None:
        why = where.nothing_found("counterexample")
        return [ClaimVerdict(claim=claim, outcome="holds", why=why) for claim in claims]
    ended = where.machine(setting, bugs)(judge=())
    replay(ended, found.calls)
    verdicts = [_verdict(claim, ended, found) for claim in claims]
    if found.name == PROGRESS:
        text = program(type(ended), found, setting, bugs)
        verdicts.append(
            ClaimVerdict(
                claim=PROGRESS,
                outcome="violated",
                why=found.how,
                programs=(text,),
                events=ended.events(),
            )
        )
    return verdicts


def _verdict(claim: str, ended: JudgedMachine, found: Found) -> ClaimVerdict:
    how = None if ended.observed is None else ended.shows(claim)
    if how is None:
        why = f"the search ended at a violation of {found.name}"
        return ClaimVerdict(claim=claim, outcome="undecided", why=why)
    shown = Found(name=claim, how=how, calls=found.calls)
    text = program(type(ended), shown, ended.setting_name, ended.bugs)
    return ClaimVerdict(
        claim=claim, outcome="violated", why=how, programs=(text,), events=ended.events()
    )


def _decide_goals(where: Search, side: Side) -> ClaimVerdict:
    """Returns the verdict on a claim of the kind "X can happen".

    The claim holds if the search finds, for each goal of the claim, a run that reaches the goal.
    """
    is_inside = side.expected == "holds"
    if is_inside:
        where = replace(where, runs=where.runs * RUNS_FOR_A_GOAL)
    goals = where.suite.sometimes[side.claim]
    programs: list[str] = []
    for goal in goals:
        name = f"{side.claim}: {goal}"
        found = where.found(side.setting, side.bugs, (name,))
        if found is None:
            why = where.nothing_found(f"run that shows {goal!r}")
            outcome: Outcome = "undecided" if is_inside else "violated"
            return ClaimVerdict(claim=side.claim, outcome=outcome, why=why)
        programs.append(program(where.suite.machine, found, side.setting, side.bugs))
        if found.name != name:
            why = f"the search for {goal!r} ended with {found.name}: {found.how}"
            shown = (programs[-1],)
            return ClaimVerdict(claim=side.claim, outcome="undecided", why=why, programs=shown)
    why = "shown: " + "; ".join(goals)
    return ClaimVerdict(claim=side.claim, outcome="holds", why=why, programs=tuple(programs))
