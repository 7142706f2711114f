"""Claims with the same setting share their trials, so each trial runs only once.

A setting fixes the configuration of brokers and clients: `unclean`, for example, permits unclean
elections. Claims also share the repetitions of a trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from checkers.trials import known
from checkers.trials.deciding import Effort, Judged, decide
from checkers.trials.known import Program
from checkers.trials.shared import SharedTrials
from checkers.trials.trial import Ran, Trials
from properties.suites.machines.driven import Power
from properties.suites.registry import suite_named
from properties.suites.search.programs import Call
from properties.suites.suite import Suite

ELECTIONS = suite_named("elections")
BREAKS: Program = (Call("take_turns", (("count", 1),)),)


@dataclass
class Counted:
    """Trials that record what they run; the program `BREAKS` breaks two claims.

    `ran` has one item for each run, in order: the program (the list of calls), or the seed from
    which the calls are drawn.
    """

    ran: list[Program | str] = field(default_factory=list[Program | str])
    powers = frozenset(Power) - {Power.UNVERIFIED, Power.ONE_REPLICA, Power.EXPIRE}

    class system:  # noqa: N801 - stands for an object
        name = "apache-kafka:4.3.0"

    def draw(self, _suite: Suite, setting: str, seed: str, _rules: int) -> Ran:
        return self._run(setting, seed, ())

    def replay(self, _suite: Suite, setting: str, calls: Program) -> Ran:
        return self._run(setting, calls, calls)

    def together(self, _suite: Suite, setting: str, plans: Sequence[Program]) -> list[Ran]:
        return [self._run(setting, calls, calls) for calls in plans]

    def can_run(self, _suite: Suite, _calls: Program) -> bool:
        return True

    def _run(self, setting: str, plan: Program | str, calls: Program) -> Ran:
        self.ran.append(plan)
        broken = ("clean_election", "writes_to_leader") if plan == BREAKS else ()
        return Ran(
            setting=setting,
            calls=calls,
            is_observed=True,
            shown=dict.fromkeys(broken, "v0 is lost"),
            stuck=None,
            history=(),
            inflicted=(),
            seconds=1.0,
        )


def judged(trials: Counted, *claims: str) -> list[Judged]:
    sides = tuple(
        side for side in ELECTIONS.outside if side.setting == "unclean" and side.claim in claims
    )
    effort = Effort(drawn=1, tries=2, repeats=3)
    return [
        *decide(
            cast("Trials", trials), ELECTIONS, sides, seed=0, effort=effort, progress=lambda _: None
        )
    ]


def test_one_trial_and_its_repetitions_break_two_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "recorded", lambda *_: (BREAKS,))
    trials = Counted()
    found = judged(trials, "clean_election", "writes_to_leader")
    assert [one.verdict for one in found] == ["violated", "violated"]
    assert [str(one.again) for one in found] == ["3 of 3 runs"] * 2
    assert [one.trials for one in found] == [1, 1]
    assert trials.ran == [BREAKS] * 4  # once, and three repetitions


def test_a_claim_that_earlier_trials_did_not_break_is_tried_no_second_time_by_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(known, "recorded", lambda *_: (BREAKS,))
    trials = Counted()
    first, second = judged(trials, "wait_for_last_leader", "identical_replicas")
    assert (first.verdict, second.verdict) == ("undecided", "undecided")
    assert (first.trials, second.trials) == (3, 3)  # two tries of the program, one drawn
    assert trials.ran == [BREAKS, BREAKS, "0 unclean 0"]


def test_trials_are_kept_by_setting_plan_and_number() -> None:
    trials = Counted()
    shared = SharedTrials(cast("Trials", trials), ELECTIONS, rules=2)
    one = shared.ran("unclean", BREAKS)
    assert shared.ran("unclean", BREAKS) is one
    assert shared.ran("unclean", BREAKS, 1) is not one
    assert shared.ran("clean", BREAKS) is not one
    assert len([*shared.earlier("unclean")]) == 2
    assert shared.repeated("unclean", (BREAKS,), 2) == shared.repeated("unclean", (BREAKS,), 2)
    assert len(trials.ran) == 5
    assert len([*shared.earlier("unclean")]) == 2  # a repetition is no trial of its own
