"""The suite `groups` finds each failure of a consumer group with a short sequence of calls."""

from __future__ import annotations

import pytest

from properties.suites.groups.rules import GroupsMachine
from properties.suites.groups.settings import SETTINGS
from properties.suites.groups.sides import SUITE
from properties.suites.machines.judged import Shown
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs


def ended(setting: str, *rules: tuple[str, int], bugs: Bugs = NO_BUGS) -> GroupsMachine:
    """Calls rules of the suite's Hypothesis state machine, ends the run, and returns the machine.

    A rule is a method that Hypothesis may call. It comes with its argument, as in `("crash", 0)`; a
    negative argument stands for none. The run is not judged, so a broken claim raises no exception.
    """
    machine = GroupsMachine(setting, bugs=bugs, judge=())
    arguments = {"pass_time": "pause_ms", "crash": "broker"}
    for rule, argument in rules:
        takes = {} if argument < 0 else {arguments.get(rule, "number"): argument}
        getattr(machine, rule)(**takes)
    machine.teardown()
    return machine


NO = -1
DEATHS = (
    ("join", NO), ("join", NO), ("hold", 0), ("pass_time", 500), ("pass_time", 500),
    ("release", NO), ("crash", 0), ("kill", 1), ("pass_time", 500), ("join", NO),
)  # fmt: skip


@pytest.mark.parametrize("setting", ["classic", "KIP-848"])
def test_zombies_deaths_and_coordinator_crashes_break_no_claim(setting: str) -> None:
    machine = ended(setting, *DEATHS)
    assert {name: machine.shows(name) for name in SUITE.claims} == dict.fromkeys(SUITE.claims)
    epochs = {(one.partition, one.epoch) for one in machine.observed.began}
    assert len(epochs) > 3  # partitions have moved
    assert len(machine.observed.committed) > 10


def test_a_returned_partition_has_two_owners_if_the_coordinator_forgets_its_epoch() -> None:
    rules = (("join", NO), ("come_and_go", 0), ("join", NO))
    correct = ended("KIP-848", *rules)
    assert correct.shows("one_owner") is None
    wrong = ended("KIP-848", *rules, bugs=frozenset({Bug.PARTITION_EPOCH_ERASED}))
    assert wrong.shows("one_owner") == (
        "m1000 commits tasks-2 in epoch 4 when m3000 has it in epoch 5"
    )


def test_a_group_that_is_empty_for_too_long_loses_its_offsets() -> None:
    rules = (("join", NO), ("stand_empty", NO))
    assert ended("KIP-848", *rules).shows("position_resumes") is None
    why = ended("KIP-848, soon forgotten", *rules).shows("position_resumes")
    assert why is not None
    assert "begins tasks-0 at 0" in why


def test_every_setting_is_on_some_side() -> None:
    assert {side.setting for side in SUITE.sides} == set(SETTINGS)


def test_a_judged_run_raises_its_violation() -> None:
    machine = GroupsMachine("by hand", judge=("one_owner",))
    machine.join()
    machine.join()
    with pytest.raises(Shown, match="one_owner: m1000 and m2000 own tasks-0 in epoch -1"):
        machine.teardown()
