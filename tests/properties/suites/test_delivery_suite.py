"""The suite `delivery`: what each crash window leaves, on ten seeds, and in PostgreSQL."""

from __future__ import annotations

import os
import re

import pytest

from properties.suites import store
from properties.suites.client_defaults import CLIENT_DEFAULTS
from properties.suites.deciding import decide
from properties.suites.delivery import SETTINGS, DeliveryMachine
from properties.suites.delivery_sides import SUITE

SIDES = {(side.claim, side.setting): side for side in SUITE.sides if not side.bugs}
TWO_TRANSACTIONS = "kafka_and_database_not_atomic"

# What the smallest run that was found says, for each order of two writes.
WINDOWS = [
    ("at_most_once", "processing first", r"v\d is 2 times in the database"),
    ("at_least_once", "position first", r"v\d is not in the database"),
    ("two_phase_commit", "output, then position", r"v\d is 2 times in the database"),
    ("two_phase_commit", "position, then output", r"v\d is not in the database"),
    (TWO_TRANSACTIONS, "database, then Kafka", r"v\d is 2 times in the .* and 1 times downstream"),
    (TWO_TRANSACTIONS, "Kafka, then database", r"v\d is 0 times in the .* and 1 times downstream"),
]


@pytest.mark.parametrize(("claim", "setting", "says"), WINDOWS)
def test_the_order_of_two_writes_says_what_a_death_between_them_leaves(
    claim: str, setting: str, says: str
) -> None:
    assert re.fullmatch(says, decide(SUITE, SIDES[claim, setting]).why)


def test_a_zombie_is_found_on_ten_seeds_of_ten() -> None:
    for seed in range(10):
        side = SIDES["exactly_once_external", "position with output, overwritten"]
        verdict = decide(SUITE, side, seed=seed)
        assert verdict.outcome == "violated", f"seed {seed}: {verdict.why}"


@pytest.mark.parametrize("setting", ["position with output", "consumed table", "two-phase commit"])
def test_the_same_holds_in_postgresql(setting: str) -> None:
    if store.DSN not in os.environ:
        pytest.skip(f"{store.DSN} names no server")
    side = next(side for side in SUITE.inside if side.setting == setting)
    assert decide(SUITE, side, runs=15).outcome == "holds"


def test_two_writes_leave_the_same_in_postgresql() -> None:
    if store.DSN not in os.environ:
        pytest.skip(f"{store.DSN} names no server")
    verdict = decide(SUITE, SIDES["two_phase_commit", "output, then position"])
    assert re.fullmatch(r"v\d is 2 times in the database", verdict.why)


def test_each_library_is_decided_by_a_setting() -> None:
    decided = {
        side.setting: side.expected == "holds"
        for side in SUITE.sides
        if side.claim == "default_is_at_least_once"
    }
    for row in CLIENT_DEFAULTS:
        assert decided[row.setting] is row.is_at_least_once, row.library


def test_every_setting_stands_on_some_side() -> None:
    assert {side.setting for side in SUITE.sides} == {*SETTINGS}


def test_a_zombie_of_the_pipeline_is_refused_and_without_generation_it_is_not() -> None:
    def run(setting: str) -> tuple[str, ...]:
        machine = DeliveryMachine(setting, judge=())
        machine.send_and_replace(count=1, steps=1)
        machine.teardown()
        return tuple(machine.observed.downstream)

    assert run("pipeline") == ("v0",)
    assert run("pipeline, a transactional id for each partition") == ("v0",)
    assert run("pipeline without generation") == ("v0", "v0")
