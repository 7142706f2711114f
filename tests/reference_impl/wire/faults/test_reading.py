"""Faults of the served broker: how they are written, and which are invalid."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.wire.faults.reading import (
    API_NAMES,
    document_of,
    error_codes,
    parsed,
    rule_of,
)
from reference_impl.wire.faults.rule import (
    FAULTS,
    BadFault,
    Delay,
    Error,
    Rule,
    Split,
    When,
)
from reference_impl.wire.messages.apis import Api

APPLIED = {"api": "Produce", "applied": True}


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("drop-response:every=7", {"do": "disconnect", "when": {**APPLIED, "every": 7}}),
        (
            "drop-response:probability=0.25",
            {"do": "disconnect", "when": {**APPLIED, "probability": 0.25}},
        ),
        ("kill-broker:id=2,after=9", {"do": "crash", "broker": 2, "when": {**APPLIED, "nth": 9}}),
        (
            "kill-broker:id=2,after=9,restart=30",
            {
                "do": "crash",
                "broker": 2,
                "when": {**APPLIED, "nth": 9},
                "then": {"do": "start", "broker": 2, "when": {"nth": 30}},
            },
        ),
        (
            "delay:ms=500,api=Fetch,topic=orders",
            {"do": "delay", "ms": 500, "when": {"api": "Fetch", "topic": "orders"}},
        ),
        ("split:brokers=1+2", {"do": "split", "brokers": [1, 2]}),
        ('{"do": "heal"}', {"do": "heal"}),
    ],
)
def test_the_short_notation_is_the_same_as_the_json_object(
    text: str, document: dict[str, Any]
) -> None:
    assert parsed(text) == rule_of(document)


EVERY_FIELD: dict[str, Any] = {
    "do": "delay",
    "ms": 5,
    "when": {
        "api": "AddPartitionsToTxn",
        "topic": "orders-*",
        "partition": 0,
        "client_id": "billing",
        "broker": 2,
        "first": 3,
        "every": 2,
        "times": 4,
        "probability": 0.5,
        "applied": True,
    },
    "then": {"do": "error", "error": "NOT_COORDINATOR", "when": {"nth": 2}},
}


def test_a_rule_with_every_field_is_read_and_written() -> None:
    rule = rule_of(EVERY_FIELD)
    assert rule == Rule(
        fault=Delay(ms=5),
        when=When(
            api=Api.ADD_PARTITIONS_TO_TXN,
            topic="orders-*",
            partition=0,
            client_id="billing",
            broker=rule.when.broker if rule.when else None,
            applied=True,
            first=3,
            every=2,
            times=4,
            probability=0.5,
        ),
        then=Rule(fault=Error(error="NOT_COORDINATOR"), when=When(nth=2)),
    )
    assert document_of(rule) == EVERY_FIELD


def test_a_split_may_name_the_controller_and_brokers() -> None:
    fault = rule_of({"do": "split", "brokers": [1], "others": [2, "controller"]}).fault
    assert isinstance(fault, Split)
    assert fault.others == (2, "controller")


def test_apis_and_errors_have_kafkas_names() -> None:
    assert {"Produce", "EndTxn", "OffsetForLeaderEpoch"} <= {*API_NAMES.values()}
    for name in ("add_partitions_to_txn", "ADD_PARTITIONS_TO_TXN", "addPartitionsToTxn"):
        when = rule_of({"do": "drop", "when": {"api": name}}).when
        assert when is not None
        assert when.api is Api.ADD_PARTITIONS_TO_TXN
    assert error_codes()["NOT_LEADER_OR_FOLLOWER"] == 6
    assert len(error_codes()) > 130


@pytest.mark.parametrize(
    ("document", "at", "error"),
    [
        ([], "body", "write a JSON object"),
        ({}, "do", f"known are {', '.join(FAULTS)}"),
        ({"do": "explode"}, "do", '"explode" is no fault'),
        ({"do": "drop"}, "when", "name the requests"),
        ({"do": "drop", "when": {"api": "Prduce"}}, "when.api", "the nearest: Produce"),
        (
            {"do": "drop", "when": {"apis": 1}},
            "when.apis",
            "no such field; the fields are api, topic",
        ),
        ({"do": "drop", "when": {"nth": 0}}, "when.nth", "counted from 1"),
        (
            {"do": "drop", "when": {"nth": 2, "every": 2}},
            "when.nth",
            "cannot be combined with first, every",
        ),
        ({"do": "drop", "when": {"probability": 2}}, "when.probability", "from 0 to 1"),
        ({"do": "drop", "when": {"applied": 1}}, "when.applied", "true or false"),
        ({"do": "drop", "when": {"topic": 1}}, "when.topic", "write a text"),
        ({"do": "delay", "when": {}}, "ms", "is missing"),
        ({"do": "delay", "ms": "soon", "when": {}}, "ms", "write a whole number"),
        ({"do": "error", "error": "NOT_LEADER", "when": {}}, "error", "NOT_LEADER_OR_FOLLOWER"),
        ({"do": "error", "error": "NONE", "when": {}}, "error", "no Kafka error"),
        ({"do": "crash"}, "broker", 'is missing; only a rule with "when"'),
        ({"do": "start", "when": {}}, "broker", "is missing; the broker that gets a request is up"),
        ({"do": "heal", "broker": 1}, "broker", "no such field; the fields are when, then"),
        ({"do": "advance-clock", "ms": 3_600_001}, "ms", "advance the clock several times"),
        ({"do": "split", "brokers": 1}, "brokers", "write a list of brokers"),
        ({"do": "split", "brokers": ["controller"]}, "brokers[0]", "write a whole number"),
        ({"do": "heal", "then": {"do": "heal"}}, "then", 'needs "when" in the same rule'),
        (
            {"do": "heal", "when": {}, "then": {"do": "drop", "when": {"nth": 0}}},
            "then.when.nth",
            "counted from 1",
        ),
    ],
)
def test_an_invalid_rule_is_rejected_with_its_place(document: Any, at: str, error: str) -> None:
    with pytest.raises(BadFault) as bad:
        rule_of(document)
    assert bad.value.at == at
    assert error in bad.value.message


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("drop-everything", "'drop-everything' is no fault; known are drop-response, kill-broker"),
        ("drop-response", "needs every=N or probability=P"),
        ("drop-response:every=2,probability=0.5", "needs every=N or probability=P"),
        ("drop-response:every=1", "every=1 leaves no response"),
        ("drop-response:probability=1", "probability=1 leaves no response"),
        ("drop-response:every=x", 'every: "x": write a whole number'),
        ("drop-response:often=2", "'often' is not one of every, probability"),
        ("kill-broker:id=1", "write id and after, such as kill-broker:id=1,after=100"),
        ("kill-broker:id=1,after=0", "requests are counted from 1"),
        ("delay:ms=1,often=2", "often: there is no such field; the fields are ms"),
        ("{", "no JSON"),
    ],
)
def test_an_invalid_text_is_rejected_with_a_reason(text: str, complaint: str) -> None:
    with pytest.raises(BadFault) as bad:
        parsed(text)
    assert complaint in str(bad.value)
