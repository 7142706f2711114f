"""Deciding the claims of a suite by search, and the programs that show what was found.

"Holds" says that so many runs were searched from that seed and none broke it: a search, not a
proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from properties.suites.machines.judged import PROGRESS, JudgedMachine, Tally
from properties.suites.search.searching import Found, replay, search
from properties.suites.suite import Outcome, Side, Suite
from reference_impl.node.bugs import NO_BUGS, Bugs

RUNS: Final = 200
RULES: Final = 16  # of each run


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimVerdict:
    """What a search says of one claim; the program shows a breach, or a goal of the claim."""

    claim: str
    outcome: Outcome
    why: str
    programs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """What one run of a suite has decided, and what it cost."""

    suite: str
    bugs: Bugs
    seed: int
    verdicts: tuple[ClaimVerdict, ...]
    runs: int
    broker_steps: int
    cpu_seconds: float

    @property
    def violated(self) -> tuple[ClaimVerdict, ...]:
        """The verdicts that show a violation."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "violated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Where and how far is searched: a suite's machine, a seed, runs, and rules of each run."""

    suite: Suite
    seed: int
    runs: int
    rules: int
    tally: Tally
    shrinks: bool = True

    @property
    def rules_of_each(self) -> int:
        """The suite's share of the rules."""
        return max(1, round(self.rules * self.suite.share_of_rules))

    def machine(self, setting: str, bugs: Bugs) -> Callable[..., JudgedMachine]:
        """The machine in a setting; it still takes what it is judged by."""
        return partial(self.suite.machine, setting, bugs=bugs, tally=self.tally)

    def found(self, setting: str, bugs: Bugs, judge: Sequence[str]) -> Found | None:
        """The smallest run found that shows one of the names, or no progress."""
        return search(
            partial(self.machine(setting, bugs), judge=tuple(judge)),
            seed=self.seed,
            runs=self.runs,
            rules=self.rules_of_each,
            simpler=self.suite.machine.SIMPLER,
            shrinks=self.shrinks,
        )

    def none(self, does: str) -> str:
        """Words for a search that found nothing."""
        return f"none of {self.runs} runs of {self.rules_of_each} rules {does} (seed {self.seed})"


def run(
    suite: Suite,
    *,
    bugs: Bugs = NO_BUGS,
    seed: int = 0,
    runs: int = RUNS,
    rules: int = RULES,
    progress: Callable[[Tally], None] | None = None,
) -> SuiteResult:
    """The claims of the suite inside their conditions, on a broker with these bugs.

    The claims that hold always are judged together, on the same runs; the search ends at the first
    violation, and a claim that this run does not break is then undecided. Claims that something
    can happen are searched on a broker without bugs only.
    """
    started = time.process_time()
    tally = Tally(progress=progress)
    where = Search(suite=suite, seed=seed, runs=runs, rules=rules, tally=tally)
    fewer = replace(where, runs=max(1, round(runs * suite.share_of_runs)))
    always = [side for side in suite.inside if side.claim in suite.always]
    verdicts: list[ClaimVerdict] = []
    for setting in dict.fromkeys(side.setting for side in always):
        claims = [side.claim for side in always if side.setting == setting]
        broken = next((verdict for verdict in verdicts if verdict.outcome == "violated"), None)
        if broken is None:
            verdicts += _judge_together(fewer, claims, setting, bugs)
        else:
            why = f"the search ended when it had broken {broken.claim}"
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
    """What a search says of a claim on one side of its condition; its program may stay long."""
    tally = Tally(progress=progress)
    where = Search(suite=suite, seed=seed, runs=runs, rules=rules, tally=tally, shrinks=shrinks)
    if side.claim in suite.sometimes:
        return _decide_goals(where, side)
    verdicts = _judge_together(where, [side.claim], side.setting, side.bugs)
    return next(verdict for verdict in verdicts if verdict.claim == side.claim)


def program(machine: type[JudgedMachine], found: Found, setting: str, bugs: Bugs) -> str:
    """A program that runs what was found again, and raises it again."""
    names = ", ".join(f'"{bug.value}"' for bug in sorted(bugs, key=lambda bug: bug.value))
    broker = f", bugs=bugs_named({names})" if bugs else ""
    imports = [f"from {machine.__module__} import {machine.__name__}"]
    if bugs:
        imports.append("from reference_impl.node.bugs import bugs_named")
    return "\n".join(
        (
            f"# {found.name}: {found.how}",
            *imports,
            "",
            f'state = {machine.__name__}("{setting}"{broker}, judge=("{found.name}",))',
            *map(str, found.calls),
            "state.teardown()",
            "",
        )
    )


def _judge_together(
    where: Search, claims: Sequence[str], setting: str, bugs: Bugs
) -> list[ClaimVerdict]:
    found = where.found(setting, bugs, claims)
    if found is None:
        why = where.none("breaks it")
        return [ClaimVerdict(claim=claim, outcome="holds", why=why) for claim in claims]
    again = where.machine(setting, bugs)(judge=())
    replay(again, found.calls)
    verdicts = [_verdict(claim, again, found) for claim in claims]
    if found.name == PROGRESS:
        text = program(type(again), found, setting, bugs)
        stuck = ClaimVerdict(claim=PROGRESS, outcome="violated", why=found.how, programs=(text,))
        verdicts.append(stuck)
    return verdicts


def _verdict(claim: str, again: JudgedMachine, found: Found) -> ClaimVerdict:
    """What the smallest run says of one claim: it may break several."""
    how = None if again.observed is None else again.shows(claim)
    if how is None:
        why = f"the search ended when it had broken {found.name}"
        return ClaimVerdict(claim=claim, outcome="undecided", why=why)
    shown = Found(name=claim, how=how, calls=found.calls)
    text = program(type(again), shown, again.setting_name, again.bugs)
    return ClaimVerdict(claim=claim, outcome="violated", why=how, programs=(text,))


def _decide_goals(where: Search, side: Side) -> ClaimVerdict:
    goals = where.suite.sometimes[side.claim]
    programs: list[str] = []
    for goal in goals:
        name = f"{side.claim}: {goal}"
        found = where.found(side.setting, side.bugs, (name,))
        if found is None:
            why = where.none(f"shows it {goal}")
            return ClaimVerdict(claim=side.claim, outcome="violated", why=why)
        programs.append(program(where.suite.machine, found, side.setting, side.bugs))
        if found.name != name:
            why = f"the search for {goal!r} ended with {found.name}: {found.how}"
            shown = (programs[-1],)
            return ClaimVerdict(claim=side.claim, outcome="undecided", why=why, programs=shown)
    why = "shown: " + "; ".join(goals)
    return ClaimVerdict(claim=side.claim, outcome="holds", why=why, programs=tuple(programs))
