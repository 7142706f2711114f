"""The known programs of a suite decide its claims: they break a claim, or they show that an event
can happen.

A program is the list of calls of one run. The simulation found most programs. The others were
written by hand. The tests run only the programs that were written by hand.
"""

from __future__ import annotations

import pytest

from checkers.trials.known import DIRECTED, fragile, recorded
from properties.suites.registry import SUITES
from properties.suites.search.programs import calls_in


def test_a_goal_of_the_simulation_has_its_program() -> None:
    (program,) = recorded("replication", "ambiguous_send", "no retries")
    assert [call.rule for call in program][1::2] == [
        "send_and_lose_responses",
        "send_and_lose_requests",
    ]


def test_each_side_that_shows_something_without_a_bug_has_a_program() -> None:
    for suite in SUITES.values():
        for side in suite.outside:
            if not side.bugs and side.claim in suite.always:
                assert recorded(suite.name, side.claim, side.setting), side


def test_programs_of_seeded_bugs_are_calls_of_the_suite() -> None:
    found = fragile("replication", "idempotent")
    assert found
    machine = SUITES["replication"].machine
    assert all(hasattr(machine, call.rule) for program in found for call in program)


def test_an_unknown_setting_has_no_programs() -> None:
    assert recorded("log", "consumer_order", "none such") == ()
    assert fragile("log", "none such") == ()


@pytest.mark.parametrize(("suite", "claim", "setting"), DIRECTED)
def test_a_directed_program_shows_its_claim_in_the_simulation(
    suite: str, claim: str, setting: str
) -> None:
    found = SUITES[suite]
    machine = found.machine(setting, judge=())
    for call in calls_in(DIRECTED[suite, claim, setting]):
        call.run(machine)
    machine.teardown()
    goals = [f"{claim}: {goal}" for goal in found.sometimes.get(claim, ())]
    side = next(it for it in found.sides if (it.claim, it.setting) == (claim, setting))
    missing = [name for name in goals or [claim] if machine.shows(name) is None]
    is_never_reached = bool(goals) and side.expected == "violated"
    assert bool(missing) is is_never_reached
