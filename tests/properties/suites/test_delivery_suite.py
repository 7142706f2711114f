"""The suite `delivery`: an application crashes between two writes. A claim then breaks, if its
condition is violated.

The two writes are, for example, a row in a database and the committed position in the input topic.
With each of ten seeds, random runs find the violation. Some claims are also checked on PostgreSQL.
"""

from __future__ import annotations

import re

import pytest

from properties.suites.delivery.rules import DeliveryMachine
from properties.suites.delivery.settings import SETTINGS
from properties.suites.delivery.sides import SUITE
from properties.suites.delivery.stores import opening
from properties.suites.delivery.stores.postgres import PostgresStore
from properties.suites.search.deciding import decide
from tests.properties.suites.client_defaults import CLIENT_DEFAULTS

SIDES = {(side.claim, side.setting): side for side in SUITE.sides if not side.bugs}
TWO_TRANSACTIONS = "kafka_and_database_not_atomic"

# The breach after a crash at one of the first steps, for each order of two writes, or None.
WINDOWS = [
    ("at_most_once", "processing first", "v0 is in the database 2 times"),
    ("at_least_once", "position first", "v0 is not in the database"),
    ("two_phase_commit", "output, then position", "v0 is in the database 2 times"),
    ("two_phase_commit", "position, then output", "v0 is not in the database"),
    ("two_phase_commit", "two-phase commit", None),
    (
        TWO_TRANSACTIONS,
        "database, then Kafka",
        "v0 is in the database [23] times and downstream 1 times",  # one more for each abort
    ),
    (
        TWO_TRANSACTIONS,
        "Kafka, then database",
        "v0 is in the database 0 times and downstream 1 times",
    ),
    (TWO_TRANSACTIONS, "database, then Kafka, idempotent", None),
    (TWO_TRANSACTIONS, "Kafka, then database, idempotent", None),
]


@pytest.mark.parametrize(("claim", "setting", "leaves"), WINDOWS)
def test_a_crash_between_two_writes_breaks_the_claim_that_their_order_implies(
    claim: str, setting: str, leaves: str | None
) -> None:
    breaches: list[str] = []
    for steps in range(1, 5):
        machine = DeliveryMachine(setting, judge=())
        machine.send_and_kill(count=1, steps=steps)
        machine.teardown()
        if (why := machine.shows(claim)) is not None:
            breaches.append(why)
    assert bool(breaches) is bool(leaves)
    assert all(re.fullmatch(leaves or "", why) for why in breaches)


@pytest.mark.parametrize(
    ("claim", "setting"),
    [
        ("at_least_once", "position first"),
        ("two_phase_commit", "output, then position"),
    ],
)
def test_a_breach_is_found_on_ten_seeds_of_ten(claim: str, setting: str) -> None:
    for seed in range(10):
        verdict = decide(SUITE, SIDES[claim, setting], seed=seed, shrinks=False)
        assert verdict.outcome == "violated", f"seed {seed}: {verdict.why}"


@pytest.mark.parametrize("setting", ["position with output", "consumed table", "two-phase commit"])
@pytest.mark.usefixtures("postgres")
def test_claims_hold_in_postgresql(setting: str) -> None:
    database = opening.open_store()
    assert isinstance(database, PostgresStore)
    database.close()
    side = next(side for side in SUITE.inside if side.setting == setting)
    assert decide(SUITE, side, runs=15).outcome == "holds"


@pytest.mark.usefixtures("postgres")
def test_two_writes_break_the_same_claim_in_postgresql() -> None:
    verdict = decide(SUITE, SIDES["two_phase_commit", "output, then position"])
    assert re.fullmatch(r"v\d is in the database 2 times", verdict.why)


def test_a_setting_decides_each_client_library() -> None:
    decided = {
        side.setting: side.expected == "holds"
        for side in SUITE.sides
        if side.claim == "default_is_at_least_once"
    }
    for row in CLIENT_DEFAULTS:
        assert decided[row.setting] is row.is_at_least_once, row.library


def test_every_setting_is_on_some_side() -> None:
    assert {side.setting for side in SUITE.sides} == {*SETTINGS}


def test_a_commit_that_waited_for_verification_is_refused_after_a_rebalance() -> None:
    """A commit is refused if a rebalance occurs while its transaction is verified (KIP-890).

    In the run the coordinator's log is slow, so the verification takes long.
    """
    machine = DeliveryMachine("pipeline", judge=("exactly_once_pipeline",))
    machine.send_and_lose_requests(count=1)
    machine.pass_time(pause_ms=500)
    machine.send_and_lose_requests(count=1)
    machine.send_and_replace(count=2, steps=1)
    machine.crash(broker=1)
    machine.restart_all()
    machine.send_and_replace(count=1, steps=1)
    machine.crash(broker=0)
    machine.teardown()


def test_a_zombie_pipeline_is_refused_only_if_it_sends_the_generation() -> None:
    def run(setting: str) -> tuple[str, ...]:
        machine = DeliveryMachine(setting, judge=())
        machine.send_and_replace(count=1, steps=1)
        machine.teardown()
        return tuple(machine.observed.downstream)

    assert run("pipeline") == ("v0",)
    assert run("pipeline, a transactional id for each partition") == ("v0",)
    assert run("pipeline without generation") == ("v0", "v0")
