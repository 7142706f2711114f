"""SARIF documents have the fields that schema 2.1.0 requires; each result has a rule and a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.events import AnomalyDecided, Event, Evidence, PropertyDecided, RowShown, RunFinished
from checkers.report.run_result import run_result
from checkers.report.sarif import MOST, sarif

Analysed = Callable[..., Path]
LEVELS = {"none", "note", "warning", "error"}


def made(*events: Event) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(sarif(run_result(events)))
    required(document)
    (run,) = document["runs"]
    return dict(run)


def required(document: dict[str, Any]) -> None:
    """Asserts that the document has the fields that the SARIF schema requires."""
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("sarif-2.1.0.json")
    for run in document["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"]
        ids = [rule["id"] for rule in driver["rules"]]
        assert len(set(ids)) == len(ids)
        for rule in driver["rules"]:
            assert rule["help"]["text"]
            assert rule["shortDescription"]["text"]
            assert rule["defaultConfiguration"]["level"] in LEVELS
        for invocation in run["invocations"]:
            assert isinstance(invocation["executionSuccessful"], bool)
            for one in invocation["toolExecutionNotifications"]:
                assert one["message"]["text"]
                assert one["level"] in LEVELS
        assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
        for result in run["results"]:
            assert result["message"]["text"]
            assert ids[result["ruleIndex"]] == result["ruleId"]
            assert result["level"] in LEVELS
            assert result["locations"]
            assert all(
                isinstance(fingerprint, str)
                for fingerprint in result["partialFingerprints"].values()
            )
            for flow in result.get("codeFlows", ()):
                assert all(thread["locations"] for thread in flow["threadFlows"])
            for suppression in result.get("suppressions", ()):
                assert suppression["kind"] in {"inSource", "external"}


def decided(name: str = "duplicate", **named: Any) -> AnomalyDecided:
    fields: dict[str, Any] = {
        "statement": "A value lies in the log at most once.",
        "rule": "One value at two offsets.",
        "verdict": "violated",
        "count": 2,
        "permitted": False,
        "history": "histories/my history.edn",
    }
    return AnomalyDecided(anomaly=name, **{**fields, **named})


def row(number: int = 1, text: str = "key k: the value a", name: str = "duplicate") -> RowShown:
    history = "histories/my history.edn"
    return RowShown(anomaly=name, history=history, number=number, text=text)


def test_a_real_analysis_names_its_rules_and_its_file(analysed: Analysed, tmp_path: Path) -> None:
    analysed(
        "p1 send k=a -> ok @1\np1 send k=b -> ok @0",
        *("--anomaly", "offset-order-inversion", "--anomaly", "duplicate"),
        *("--sarif", str(tmp_path / "urteil.sarif")),
    )
    document = json.loads((tmp_path / "urteil.sarif").read_text())
    required(document)
    (run,) = document["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == "offset-order-inversion"
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "history.parquet"
    ((thread,),) = [flow["threadFlows"] for flow in result["codeFlows"]]
    assert [step["location"]["message"]["text"] for step in thread["locations"]] == [
        "operation 0: send k=a -> ok @1",
        "operation 1: send k=b -> ok @0",
    ]
    assert {"offset-order-inversion", "duplicate"} == {
        rule["id"] for rule in run["tool"]["driver"]["rules"]
    }
    assert run["invocations"][0]["exitCode"] == 1
    assert run["invocations"][0]["executionSuccessful"]


def test_each_of_the_worst_rows_is_a_result_with_a_fingerprint_of_its_own() -> None:
    run = made(row(1, "one"), row(2, "two"), decided(), RunFinished(exit_code=1))
    assert [result["message"]["text"] for result in run["results"]] == ["one", "two"]
    assert len({str(result["partialFingerprints"]) for result in run["results"]}) == 2
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"] == {
        "uri": "histories/my%20history.edn"
    }


def test_a_permitted_violation_is_a_suppressed_note() -> None:
    event = decided(permitted=True, reason="a rebalance moves positions")
    (result,) = made(row(), event, RunFinished(exit_code=0))["results"]
    assert result["level"] == "note"
    assert result["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "a rebalance moves positions",
        }
    ]


def test_holds_is_not_a_result_and_undecided_is_a_notification() -> None:
    run = made(
        decided("a", verdict="holds", count=0),
        decided("b", verdict="undecided", count=0, reason="assumptions broken"),
        RunFinished(exit_code=3),
    )
    assert run["results"] == []
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notification["message"]["text"] == "b is undecided: assumptions broken"
    assert not run["invocations"][0]["executionSuccessful"]


@pytest.mark.parametrize(
    ("spec", "location"),
    [
        (
            "replication",
            {"logicalLocations": [{"fullyQualifiedName": "replication kip-101", "kind": "module"}]},
        ),
        (
            "/specs/mine.py",
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "file:///specs/mine.py"},
                    "region": {"startLine": 1},
                }
            },
        ),
    ],
)
def test_a_property_is_at_its_spec(spec: str, location: dict[str, Any]) -> None:
    evidence = Evidence(about="weak_isr", text="step 1")
    decision = PropertyDecided(
        property="weak_isr", verdict="violated", engine="explicit", spec=spec, variant="kip-101"
    )
    (result,) = made(evidence, decision)["results"]
    assert result["locations"] == [location]
    assert "step 1" in result["message"]["text"]


def test_there_are_at_most_as_many_results_as_code_scanning_accepts() -> None:
    events = [
        event
        for n in range(MOST // 30)
        for event in (*(row(m, name=f"a{n}") for m in range(32)), decided(f"a{n}"))
    ]
    run = made(*events)
    assert len(run["results"]) == MOST
    assert "more results are left out" in str(run["invocations"][0]["toolExecutionNotifications"])


@settings(deadline=None)
@given(st.text(min_size=1), st.text(min_size=1))
def test_any_text_is_json_that_every_reader_takes(name: str, text: str) -> None:
    run = made(row(text=text, name=name), decided(name, statement=text), RunFinished(exit_code=1))
    json.dumps(run, ensure_ascii=False).encode()
