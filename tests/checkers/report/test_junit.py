"""The JUnit XML of a run agrees with its exit code; each failed case has its evidence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.events import AnomalyDecided, Event, Evidence, PropertyDecided, RowShown, RunFinished
from checkers.report.junit import junit
from checkers.report.run_result import run_result
from checkers.verdicts import Verdict

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Analysed = Callable[..., Path]


def parsed(*events: Event) -> Element:
    return ElementTree.fromstring(junit(run_result(events)).encode())


def cases(root: Element) -> dict[str, str]:
    return {
        case.attrib["name"]: ",".join(sorted(inside.tag for inside in case))
        for case in root.iter("testcase")
    }


def anomaly(name: str, verdict: Verdict, **named: Any) -> AnomalyDecided:
    fields: dict[str, Any] = {"count": 0, "permitted": False, "history": "h.edn", **named}
    return AnomalyDecided(anomaly=name, verdict=verdict, **fields)


def test_an_analysis_is_a_suite_of_its_anomalies(analysed: Analysed, tmp_path: Path) -> None:
    analysed(
        "p1 send k=a -> ok @1\np1 send k=b -> ok @0\nc1 poll -> ok k=a@1",
        *("--anomaly", "offset-order-inversion", "--anomaly", "duplicate"),
        *("--junit", str(tmp_path / "junit.xml")),
    )
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    (suite,) = root.iter("testsuite")
    assert suite.attrib["name"] == "history.parquet · history"
    assert int(suite.attrib["tests"]) == len(cases(root)) == 2
    assert suite.attrib["failures"] == "1"
    assert cases(root)["offset-order-inversion"] == "failure"
    assert cases(root)["duplicate"] == ""
    (failure,) = root.iter("failure")
    assert failure.attrib["message"].startswith("violated: 1 found")
    assert "send k=b -> ok @0" in (failure.text or "")
    assert "replay  urteil analyze history.parquet --engine local --quiet" in (failure.text or "")
    assert "--junit" not in (failure.text or "")


def test_undecided_is_an_error_and_permitted_passes() -> None:
    root = parsed(
        anomaly("a", "undecided", reason="assumptions broken"),
        anomaly("b", "violated", count=2, permitted=True, reason="subscribed"),
        anomaly("c", "violated", count=2),
        anomaly("d", "holds", observations=1),
        RunFinished(exit_code=1),
    )
    assert cases(root) == {"a": "error", "b": "system-out", "c": "failure", "d": ""}


def test_an_anomaly_that_was_not_exercised_is_skipped_with_the_reason() -> None:
    root = parsed(
        anomaly("a", "not exercised", observations=0),
        anomaly("b", "holds", observations=12),
        RunFinished(exit_code=0),
    )
    assert cases(root) == {"a": "skipped", "b": ""}
    (suite,) = root
    assert (suite.get("tests"), suite.get("skipped"), suite.get("errors")) == ("2", "1", "0")
    (skipped,) = root.iter("skipped")
    assert skipped.get("message") == "not exercised: nothing was observed that could have shown it"


def test_a_property_has_its_evidence_and_a_name_without_counts_or_times() -> None:
    decision = PropertyDecided(
        property="weak_isr",
        verdict="violated",
        engine="explicit",
        spec="replication",
        variant="kip-101",
        constants={"replicas": 2},
        distinct_states=4_000,
        seconds=0.5,
        trace_length=8,
    )
    root = parsed(Evidence(about="weak_isr", text="step 1"), decision, RunFinished(exit_code=1))
    (case,) = root.iter("testcase")
    assert case.attrib == {
        "classname": "replication kip-101 · explicit · replicas 2",
        "name": "weak_isr",
        "time": "0.500",
    }
    assert "step 1" in (case.findtext("failure") or "")


def test_a_bad_exit_code_without_a_verdict_is_an_error() -> None:
    assert cases(parsed(RunFinished(exit_code=4))) == {"the run": "error"}
    assert cases(parsed(anomaly("a", "holds"), RunFinished(exit_code=130))) == {
        "a": "",
        "the run": "error",
    }
    assert cases(parsed(anomaly("a", "holds"), RunFinished(exit_code=0))) == {"a": ""}
    assert cases(parsed(anomaly("a", "violated"), RunFinished(exit_code=1))) == {"a": "failure"}


@settings(deadline=None)
@given(st.text(), st.text())
def test_any_value_of_a_client_is_valid_xml(name: str, text: str) -> None:
    row = RowShown(anomaly=name, history="h.edn", number=1, text=text)
    decided = anomaly(name, "violated", count=1, reason=text, statement=text)
    root = parsed(row, decided, RunFinished(exit_code=1))
    assert len(cases(root)) == 1
