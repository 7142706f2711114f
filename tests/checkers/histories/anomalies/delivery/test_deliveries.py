"""The analysis finds the same deliveries as the literal definition.

The result does not depend on how the history is partitioned.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from checkers.histories.analysis import analyze
from checkers.histories.anomalies.delivery.applications import Application, Repeated
from checkers.histories.anomalies.groups import pipelines
from checkers.histories.anomalies.transactions import transactions
from checkers.histories.deciding import decide
from checkers.histories.io.operation_rows import as_table
from model.histories import History
from model.history_notation import history
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.delivery import Delivery, deliveries, strongest
from tests.checkers.histories.mutated_histories import mutated, partitioned
from tests.checkers.histories.random_histories import CONSUMERS, random_history

CHECKERS = (*transactions.CHECKERS, *pipelines.CHECKERS)


def assert_agrees(h: History, declared: Declarations, rng: random.Random) -> tuple[Delivery, ...]:
    found = decide(partitioned(h, rng), (), declared, rng.randrange(1, 4), delivery=True)
    assert not found.broken
    assert found.delivered == deliveries(declared.applied(h), declared)
    return found.delivered


def consumed(seed: int) -> History:
    """Draws a history of polls, most of which agree on the values of one log.

    The history satisfies all assumptions of the analysis.
    """
    made = random_history(seed, fs=CONSUMERS, settled=(0, 0.8, 0.95, 1)[seed % 4])
    assume(not any(one.find(made) for one in ASSUMPTIONS))
    return made


@pytest.mark.parametrize("made", [mutated, consumed])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(seed=st.integers(0, 10**9))
def test_the_kernels_agree_with_the_literal_definition(
    made: Callable[[int], History], seed: int
) -> None:
    rng = random.Random(f"declared {seed}")
    declared = Declarations(
        isolation=rng.choice(["read_committed", "read_uncommitted"]),
        compacted=frozenset({"i"} if rng.random() < 0.1 else ()),
    )
    assert_agrees(made(seed), declared, rng)


ONE_BY_ONE = """
    p1  send k=a k=b k=c k=d  -> ok @0 @1 @2 @3
    c1  poll{group=g}         -> ok k=a@0
    c1  poll{group=g}         -> ok k=b@1
    c2  poll{group=g}         -> ok k=a@0 k=d@3
    c1  poll{group=g}         -> ok k=b@1
"""
TWO_VALUES = """
    p1  send k=a k=b     -> ok @0 @1
    p2  send k=c k=d     -> ok @1 @2
    c1  poll             -> ok k=a@0 k=c@1
    c1  poll             -> ok k=d@2
    c2  poll             -> ok k=a@0 k=b@1
    c2  poll             -> ok k=c@1 k=b@1 k=d@2
"""
DUPLICATES = """
    p1  send k=a k=b     -> ok @0 @2
    p2  send k=c         -> info
    c1  poll             -> ok k=a@0 k=a@1 k=b@2
    c2  poll             -> ok k=c@? k=c@3
    c3  poll             -> ok k=a@0 k=b@2 k=d@9
"""
FAILED_POLL = """
    p1  send k=a k=b k=c -> ok @0 @1 @2
    p2  send k=d         -> ok @1
    c1  poll             -> ok k=a@0 k=d@1
    c1  poll             -> fail k=b@1
    c1  poll             -> ok k=c@2
"""


@pytest.mark.parametrize(
    ("text", "semantics"),
    [
        (FAILED_POLL, ["at-most-once"]),
        (ONE_BY_ONE, ["neither"]),
        (TWO_VALUES, ["at-most-once", "at-least-once"]),
        (DUPLICATES, ["at-least-once", "at-least-once", "at-most-once"]),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_small_histories_have_the_expected_delivery_semantics(
    text: str, semantics: list[str], seed: int
) -> None:
    found = assert_agrees(history(text), NOTHING_DECLARED, random.Random(seed))
    assert [it.semantics for it in found] == semantics


def test_an_application_keeps_its_earliest_repetition() -> None:
    earlier, later = (Repeated((op, 0, 7), None, key=1, value=2) for op in (3, 5))
    application = Application(group=0, process=1, repetition=later)
    application.keep_earliest(earlier)
    assert application.repetition == earlier
    application.keep_earliest(later)
    assert application.repetition == earlier


def test_an_analysis_of_selected_anomalies_has_no_delivery_semantics() -> None:
    table = as_table(history(ONE_BY_ONE))
    assert [it.semantics for it in analyze(table).delivered] == ["neither"]
    assert analyze(table, anomalies=("duplicate",)).delivered == ()
    assert analyze(as_table(history("p1 send k=a -> ok @0"))).delivered == ()


@pytest.mark.parametrize(
    ("recorded", "semantics"),
    [("safe", "exactly-once"), ("transactions", "exactly-once"), ("unsafe", "at-most-once")],
)
def test_histories_of_apache_kafka_have_the_expected_delivery_semantics(
    recorded: str, semantics: str
) -> None:
    analysis = analyze(Path(__file__).parents[4] / "data" / "apache_kafka" / recorded)
    assert strongest(analysis.delivered) == semantics
    assert sum(it.records for it in analysis.delivered) > 1000
    found = {decision.anomaly.id for decision in analysis.decisions if decision.count}
    assert found.isdisjoint(name for family in CHECKERS for name in family.ids)
