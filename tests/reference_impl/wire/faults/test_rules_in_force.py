"""The requests on which fault rules act: by API, client, topic, partition and number."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.vocabulary import BrokerId
from reference_impl.wire.faults.reading import rule_of
from reference_impl.wire.faults.rule import Request
from reference_impl.wire.faults.rules_in_force import RulesInForce, UnknownRule
from reference_impl.wire.messages.apis import Api

ORDERS = Request(
    broker=BrokerId(2),
    api=Api.PRODUCE,
    client_id="billing-7",
    partitions=(("orders", 0), ("orders", 3), ("bills", None)),
)


def in_force(*documents: dict[str, Any], seed: int = 0) -> RulesInForce:
    rules = RulesInForce(seed)
    for document in documents:
        rules.add(rule_of(document))
    return rules


def acted_on(rules: RulesInForce, count: int, request: Request = ORDERS) -> list[int]:
    """Returns the numbers of the requests that a rule acts on."""
    return [n for n in range(1, count + 1) if rules.acting_on(request, applied=False)]


@pytest.mark.parametrize(
    ("when", "selects"),
    [
        ({}, True),
        ({"api": "Produce"}, True),
        ({"api": "Fetch"}, False),
        ({"broker": 2}, True),
        ({"broker": 1}, False),
        ({"client_id": "billing-7"}, True),
        ({"client_id": "billing-*"}, True),
        ({"client_id": "billing"}, False),
        ({"topic": "orders"}, True),
        ({"topic": "order?"}, True),
        ({"topic": "order"}, False),
        ({"partition": 3}, True),
        ({"topic": "orders", "partition": 3}, True),
        ({"topic": "orders", "partition": 1}, False),
        ({"topic": "bills", "partition": 3}, False),
        ({"topic": "bills"}, True),
        ({"applied": True}, False),  # it was not applied yet
    ],
)
def test_a_rule_selects_requests_by_what_they_name(when: dict[str, Any], selects: bool) -> None:
    assert bool(acted_on(in_force({"do": "drop", "when": when}), 1)) == selects


@pytest.mark.parametrize(
    ("when", "numbers"),
    [
        ({"nth": 3}, [3]),
        ({"first": 7}, [7, 8, 9]),
        ({"every": 4}, [4, 8]),
        ({"times": 2}, [1, 2]),
        ({"first": 3, "every": 2}, [4, 6, 8]),
        ({"first": 3, "every": 2, "times": 1}, [4]),
        ({"probability": 0}, []),
        ({"probability": 1}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_a_rule_selects_requests_by_their_number(when: dict[str, Any], numbers: list[int]) -> None:
    assert acted_on(in_force({"do": "drop", "when": when}), 9) == numbers


def test_only_matching_requests_are_counted() -> None:
    rules = in_force({"do": "drop", "when": {"api": "Fetch", "nth": 1}})
    assert acted_on(rules, 5) == []
    fetch = Request(broker=BrokerId(1), api=Api.FETCH, client_id=None)
    assert acted_on(rules, 2, fetch) == [1]


@settings(max_examples=15)
@given(st.floats(0.1, 0.9), st.integers(0, 5))
def test_random_rules_depend_only_on_the_seed(probability: float, seed: int) -> None:
    rule = {"do": "drop", "when": {"probability": probability}}
    acted = acted_on(in_force(rule, seed=seed), 400)
    assert acted == acted_on(in_force(rule, seed=seed), 400)
    assert acted != acted_on(in_force(rule, seed=seed + 1), 400)
    assert abs(len(acted) / 400 - probability) < 0.15


def test_the_first_fault_of_a_request_acts_and_every_fault_of_the_cluster() -> None:
    rules = in_force(
        {"do": "delay", "ms": 5, "when": {"nth": 2}},
        {"do": "drop", "when": {"times": 1}},
        {"do": "disconnect", "when": {"times": 1}},
        {"do": "crash", "broker": 1, "when": {"nth": 1}},
    )
    acting = [[one.id for one in rules.acting_on(ORDERS, applied=False)] for _ in range(3)]
    assert acting == [[4, 2], [1], [3]]  # a rule that gave way to another has not acted
    assert [one.seen for one in rules] == [3, 3, 3, 3]


def test_a_rule_that_follows_comes_into_force_when_the_first_acts() -> None:
    rules = in_force(
        {
            "do": "crash",
            "broker": 1,
            "when": {"nth": 2},
            "then": {"do": "start", "broker": 1, "when": {"nth": 3}},
        }
    )
    assert acted_on(rules, 9) == [2, 5]


def test_a_removed_rule_acts_no_more_and_its_held_requests_continue() -> None:
    async def waited() -> list[int]:
        rules = in_force({"do": "drop", "when": {}})
        (active,) = rules
        ends = asyncio.create_task(rules.ends(active.id))
        await asyncio.sleep(0)
        rules.remove(active)
        await asyncio.wait_for(ends, 5)
        return acted_on(rules, 3)

    assert asyncio.run(waited()) == []
    with pytest.raises(UnknownRule, match="no fault 3 is in force; those in force: 1"):
        in_force({"do": "drop", "when": {}}).of_id(3)
