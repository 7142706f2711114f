"""Decides claims by trials (test runs) on a running system. A claim is tested in configurations
that satisfy the condition of the claim, and in configurations that do not.

A setting is a configuration of the cluster, such as acks=1. A setting is *inside* the condition of
a claim if the claim must hold in this setting, and *outside* otherwise. A program is a list of
calls to the cluster. Known programs come from the simulation of Kafka. Each entry below explains
one kind of trials:

    inside      The claim must hold, and trials try to break it. If no trial breaks the claim, the
                verdict is `holds`; this is no proof. The programs are those that find seeded bugs
                in the simulation.
    outside     A trial should break the claim. The programs break it in the simulation.
    goals       Some claims have goals: situations that trials inside the condition should reach.
                The programs reach them in the simulation.

After the known programs, trials with random calls are run. If a trial breaks a claim or reaches a
goal, its list of calls is shortened. The shortest trial is repeated, to count how many of the
repetitions have the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from checkers.trials import known
from checkers.trials.known import Program
from checkers.trials.powers import WEAKENED, how_to_get, impossible
from checkers.trials.shared import SharedTrials, Trial
from checkers.trials.trial import ONE_AT_A_TIME, RULES, Ran, Trials
from checkers.verdicts import Verdict
from properties.suites.machines.driven import Power
from properties.suites.machines.judged import PROGRESS
from properties.suites.suite import Side, Suite

DRAWN: Final = 3  # trials of each claim in each setting
FRAGILE: Final = 4  # programs of seeded bugs, tried inside
TRIES: Final = 3  # of each known program
REPEATS: Final = 3  # of the shortest trial that breaks a claim or reaches a goal
REDUCTIONS: Final = 8  # trials that reduce a program


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The largest numbers of trials to decide a claim: one number for each purpose of a trial.
    `rules` is the largest number of calls in a random trial.
    """

    drawn: int = DRAWN
    rules: int = RULES
    fragile: int = FRAGILE
    tries: int = TRIES
    repeats: int = REPEATS
    reductions: int = REDUCTIONS
    together: int = 1  # trials at the same time, inside


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """The result of the repetitions of a trial (a test run): `shown` of the `runs` repetitions
    broke the claim, or reached the goal.
    """

    shown: int
    runs: int

    def __str__(self) -> str:
        return f"{self.shown} of {self.runs} runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdict on a claim in one configuration of the cluster, after `trials` test runs.

    `side` names the claim, the configuration and the expected verdict. The expected verdict is
    `holds` if the configuration satisfies the condition of the claim, and `violated` otherwise.
    """

    side: Side
    verdict: Verdict
    why: str
    trials: int
    seconds: float = 0.0
    evidence: Ran | None = None  # the trial that broke the claim or reached the goal
    last: Ran | None = None  # the last trial with a history
    again: Again | None = None
    is_observed: bool = True  # at least one trial came to its end
    tried: tuple[str, ...] = ()  # kinds of faults that were possible in the trials
    untried: tuple[str, ...] = ()  # other kinds that the suite can inject

    @property
    def reason(self) -> str:
        """The reason for the verdict, as text. It also has the number of trials (test runs), the
        kinds of faults that were not tried, and the result of the repetitions.
        """
        parts = [self.why]
        if self.trials and self.evidence is None:
            parts.append(f"{self.trials} trials")
        if self.untried:
            parts.append(f"not tried: {', '.join(self.untried)}")
        if self.again is not None:
            parts.append(f"again in {self.again}")
        return "; ".join(parts)


@dataclass(slots=True)
class _Tally:
    progress: Callable[[str], None]
    trials: int = 0
    seconds: float = 0.0
    unobserved: int = 0
    stuck: str | None = None
    last: Ran | None = None

    def add(self, ran: Ran, what: str) -> None:
        self.trials += 1
        self.last = ran if ran.history else self.last
        self.seconds += ran.seconds
        self.unobserved += not ran.is_observed
        self.stuck = self.stuck or ran.stuck
        end = f"; {ran.stuck}" if ran.stuck else ""
        self.progress(f"{what}: trial {self.trials} took {ran.seconds:.0f} s{end}")


def decide(
    trials: Trials,
    suite: Suite,
    sides: tuple[Side, ...],
    *,
    seed: int,
    effort: Effort,
    progress: Callable[[str], None],
) -> Iterator[Judged]:
    """Yields a verdict for each of `sides`. A side is a claim in one configuration of the cluster,
    with the expected verdict.
    """
    shared = SharedTrials(trials, suite, effort.rules)
    trying = Trying(trials, suite, seed, effort, progress, shared)
    together: dict[str, list[Side]] = {}  # by setting: they share trials
    alone: list[Side] = []
    for side in sides:
        if why := impossible(trials.system.name, suite.name, side.setting) or _cannot(
            trials.powers, _needed(suite, side)
        ):
            yield _undecided(side, why)
        elif side.expected == "holds" and side.claim in suite.always:
            together.setdefault(side.setting, []).append(side)
        else:
            alone.append(side)
    for sides_together in together.values():
        for judged in trying.inside(sides_together):
            yield trying.with_faults(judged)
    for side in alone:
        yield trying.with_faults(trying.show(side))


@dataclass(frozen=True, slots=True)
class Trying:
    """Runs the trials (test runs) of one suite on one system, and decides the claims of
    the suite.
    """

    trials: Trials
    suite: Suite
    seed: int
    effort: Effort
    progress: Callable[[str], None]
    shared: SharedTrials

    def inside(self, sides: list[Side]) -> list[Judged]:
        """Returns one verdict for each of `sides`, which are claims that must hold in the same
        configuration. The same trials (test runs) decide all of these claims.
        """
        setting = sides[0].setting
        tally = _Tally(self.progress)
        broken: dict[str, Ran] = {}
        for plans in self._batches(setting):
            rules = self.effort.rules
            for ran in self.trials.together(self.suite, setting, plans, rules):
                tally.add(ran, f"{self.suite.name}, {setting}")
                for side in sides:
                    if side.claim in ran.shown:  # the other claims are still tried
                        broken.setdefault(side.claim, ran)
            if len(broken) == len(sides):
                break
        return [self._inside(side, tally, broken) for side in sides]

    def _plans(self, setting: str) -> list[Program | str]:
        # lists of calls that detect seeded bugs
        fragile = [
            program
            for program in known.fragile(self.suite.name, setting)
            if self.trials.can_run(self.suite, program)
        ]
        seeds = (self._seed(setting, number) for number in range(self.effort.drawn))
        return [*fragile[: self.effort.fragile], *seeds]

    def _batches(self, setting: str) -> Iterator[Sequence[Program | str]]:
        plans, size = self._plans(setting), self.effort.together
        yield from (plans[at : at + size] for at in range(0, len(plans), size))
        # some faults are possible only in a trial that runs alone
        needed = {*self.suite.machine.NEEDS.values()}
        if size > 1 and self.effort.drawn and needed & self.trials.powers & ONE_AT_A_TIME:
            yield (self._seed(setting, self.effort.drawn),)

    def _seed(self, setting: str, number: int) -> str:
        return f"{self.seed} {setting} {number}"

    def _drawn(self, setting: str) -> Iterator[Ran]:
        for number in range(self.effort.drawn):
            yield self.shared.ran(setting, self._seed(setting, number))

    def _inside(self, side: Side, tally: _Tally, broken: dict[str, Ran]) -> Judged:
        judged = Judged(
            side=side,
            verdict="undecided",
            why="",
            trials=tally.trials,
            seconds=round(tally.seconds, 1),
            last=tally.last,
        )
        if side.claim in broken:
            ran, again = self._reduced(side, side.claim, broken[side.claim])
            return replace(
                judged, verdict="violated", why=ran.shown[side.claim], evidence=ran, again=again
            )
        if tally.unobserved == tally.trials:
            return replace(judged, why=f"no trial came to its end: {tally.stuck}")
        why = "no counterexample"
        if tally.unobserved:
            why += f"; {tally.unobserved} trials did not come to their end"
        if tally.stuck is not None:
            why += f"; {PROGRESS}: {tally.stuck}"
        return replace(judged, verdict="holds", why=why)

    def show(self, side: Side) -> Judged:
        """Runs trials (test runs) that should break the claim or reach its goals, and returns the
        verdict.

        A claim with goals states that something can happen. It holds if every goal is reached, in
        one trial or in several.
        """
        if side.bugs:
            return _undecided(side, "only the reference broker has seeded bugs")
        if side.claim in self.suite.always:
            return self._shows_one(side, side.claim)
        goals = self.suite.sometimes[side.claim]
        shown = [self._shows_one(side, f"{side.claim}: {goal}") for goal in goals]
        missing = next((one for one in shown if one.evidence is None), None)
        number = sum(one.trials for one in shown)
        seconds = round(sum(one.seconds for one in shown), 1)
        if missing is not None:
            # that something never happens is a verdict only where it is expected
            is_expected = side.expected == "violated" and missing.is_observed
            return replace(
                missing,
                verdict="violated" if is_expected else "undecided",
                trials=number,
                seconds=seconds,
            )
        why = "shown: " + "; ".join(goals)
        return replace(shown[0], verdict="holds", why=why, trials=number, seconds=seconds)

    def _shows_one(self, side: Side, name: str) -> Judged:
        tally = _Tally(self.progress)
        for ran in _each_once(
            self.shared.earlier(side.setting), self._known_trials(side), self._drawn(side.setting)
        ):
            tally.add(ran, f"{side}")
            if name in ran.shown:
                found, again = self._reduced(side, name, ran)
                return Judged(
                    side=side,
                    verdict="violated",
                    why=found.shown[name],
                    trials=tally.trials,
                    seconds=round(tally.seconds, 1),
                    evidence=found,
                    again=again,
                )
        _, _, goal = name.partition(": ")
        what = f"run that shows {goal!r}" if goal else "counterexample"
        kept = tally.trials - tally.unobserved
        why = f"no {what}"
        if not kept:
            why = f"no trial came to its end: {tally.stuck or 'the system can run no program'}"
        return replace(
            _undecided(side, why),
            trials=tally.trials,
            seconds=round(tally.seconds, 1),
            last=tally.last,
            is_observed=kept > 0,
        )

    def _known_trials(self, side: Side) -> Iterator[Ran]:
        for program in known.recorded(self.suite.name, side.claim, side.setting):
            if self.trials.can_run(self.suite, program):
                for number in range(self.effort.tries):
                    yield self.shared.ran(side.setting, program, number)

    def with_faults(self, judged: Judged) -> Judged:
        """Returns the verdict with two lists of the kinds of faults that the suite uses. `tried`
        has the kinds that the trials (test runs) could inject. `untried` has all other kinds.
        """
        if not judged.trials:
            return judged
        powers = self.trials.powers
        needed = {*self.suite.machine.NEEDS.values()}
        return replace(
            judged,
            tried=tuple(sorted(power.value for power in needed & powers)),
            untried=tuple(sorted(power.value for power in needed - powers)),
        )

    # ------------------------------------------------------------ the same once more

    def _reduced(self, side: Side, name: str, found: Ran) -> tuple[Ran, Again]:
        """Shortens a trial (test run) that breaks the claim or reaches the goal `name`.

        Returns the shortest trial that has this result, and the number of its repetitions that have
        the same result.
        """
        programs = known.recorded(self.suite.name, side.claim, side.setting)
        smallest, left = found, 0 if found.calls in programs else self.effort.reductions
        tried: set[Trial] = set()
        while left > 0:
            fewer = next((one for one in _smaller(smallest) if one not in tried), None)
            if fewer is None:
                break
            tried.add(fewer)
            for _ in range(2):
                left -= 1
                ran = self._again(side.setting, fewer)
                if name in ran.shown:
                    smallest = ran
                    break
        runs = self._repeated(side.setting, (smallest.calls, *smallest.beside))
        self.progress(
            f"{side}: repeated {len(runs)} times, {sum(ran.seconds for ran in runs):.0f} s"
        )
        return smallest, Again(shown=sum(name in ran.shown for ran in runs), runs=len(runs))

    def _repeated(self, setting: str, trial: Trial) -> list[Ran]:
        is_calm = not any(call.rule in self.suite.machine.NEEDS for call in trial[0])
        if is_calm and len(trial) == 1:
            # Without faults and other trials, the runs happen at the same time.
            return self.trials.together(self.suite, setting, list(trial) * self.effort.repeats)
        # One after the other; other claims reuse these runs.
        return self.shared.repeated(setting, trial, self.effort.repeats)

    def _again(self, setting: str, trial: Trial) -> Ran:
        return self.trials.together(self.suite, setting, trial)[0]


def _each_once(*trials: Iterator[Ran]) -> Iterator[Ran]:
    # The next trial is not run before the caller requests it.
    seen: set[int] = set()
    for ran in chain(*trials):
        if id(ran) not in seen:
            seen.add(id(ran))
            yield ran


def _smaller(ran: Ran) -> Iterator[Trial]:
    others = len(ran.beside)
    if others:
        yield (ran.calls,)
    for at in range(others if others > 1 else 0):
        yield ran.calls, *ran.beside[:at], *ran.beside[at + 1 :]
    for at in reversed(range(len(ran.calls))):
        yield ran.calls[:at] + ran.calls[at + 1 :], *ran.beside


def _needed(suite: Suite, side: Side) -> set[Power]:
    machine = suite.machine
    found = (machine.SETTING_NEEDS.get(side.setting), machine.CLAIM_NEEDS.get(side.claim))
    return {power for power in found if power is not None}


def _cannot(powers: Collection[Power], needed: Collection[Power]) -> str:
    """Returns the reason for which trials (test runs) on a system cannot decide a claim. Returns an
    empty text if they can.
    """
    lacking = sorted(power for power in needed if power not in powers)
    if lacking:
        options = filter(None, map(how_to_get, lacking))
        how = "".join(f" ({option})" for option in options)
        return f"this needs a system that can {' and '.join(one.value for one in lacking)}{how}"
    weaker = sorted(WEAKENED.intersection(powers).difference(needed))
    if weaker:
        because = " and ".join(one.value for one in weaker)
        return f"the settings of the brokers are outside this condition: they {because}"
    return ""


def _undecided(side: Side, why: str) -> Judged:
    return Judged(side=side, verdict="undecided", why=why, trials=0)
