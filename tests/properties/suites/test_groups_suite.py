"""The suite `groups`: a program of a few rules for each thing that can go wrong in a group."""

from __future__ import annotations

import pytest

from properties.suites.groups.rules import GroupsMachine
from properties.suites.groups.settings import SETTINGS
from properties.suites.groups.sides import SUITE
from properties.suites.machines.judged import Shown
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs


def ended(setting: str, *rules: tuple[str, int], bugs: Bugs = NO_BUGS) -> GroupsMachine:
    """A run of rules, each with its one argument, that is judged by nothing."""
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
def test_zombies_deaths_and_coordinators_that_fail_change_nothing(setting: str) -> None:
    machine = ended(setting, *DEATHS)
    assert {name: machine.shows(name) for name in SUITE.claims} == dict.fromkeys(SUITE.claims)
    epochs = {(one.partition, one.epoch) for one in machine.observed.began}
    assert len(epochs) > 3  # partitions have moved
    assert len(machine.observed.committed) > 10


def test_a_partition_that_comes_back_has_two_owners_when_the_books_are_wrong() -> None:
    rules = (("join", NO), ("come_and_go", 0), ("join", NO))
    honest = ended("KIP-848", *rules)
    assert honest.shows("one_owner") is None
    wrong = ended("KIP-848", *rules, bugs=frozenset({Bug.PARTITION_EPOCH_ERASED}))
    assert wrong.shows("one_owner") == (
        "m1000 commits tasks-2 in epoch 3 when m3000 has it in epoch 4"
    )


def test_a_group_that_stood_empty_for_too_long_begins_anew() -> None:
    rules = (("join", NO), ("stand_empty", NO))
    assert ended("KIP-848", *rules).shows("position_resumes") is None
    why = ended("KIP-848, soon forgotten", *rules).shows("position_resumes")
    assert why is not None
    assert "begins tasks-0 at 0" in why


def test_every_setting_is_on_some_side() -> None:
    assert {side.setting for side in SUITE.sides} == set(SETTINGS)


def test_a_run_that_is_judged_says_what_it_shows() -> None:
    machine = GroupsMachine("by hand", judge=("one_owner",))
    machine.join()
    machine.join()
    with pytest.raises(Shown, match="one_owner: m1000 and m2000 own tasks-0 in epoch -1"):
        machine.teardown()
