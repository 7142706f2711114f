"""The verdicts on recorded histories of real brokers of Apache Kafka.

`urteil reproduce NAME` recorded two histories in `tests/data/reproduce/NAME`: `case`, in which a
claim is violated, and `control`, in which the claim holds. The two runs differ only in what the
brokers did.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checkers.reproduce.catalogue import REPRODUCTIONS, find
from checkers.reproduce.conducting import Taken
from checkers.reproduce.judging import judged, verdict
from checkers.reproduce.reproduction import Seen

RECORDED = Path(__file__).parents[2] / "data" / "reproduce"
NAMES = sorted(folder.name for folder in RECORDED.iterdir() if folder.is_dir())


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_case_is_violated(name: str) -> None:
    found = judged(find(name), RECORDED / name / "case")

    assert found.verdict == "violated", found.evidence
    assert all(f"✗ {anomaly}" in found.evidence for anomaly in find(name).anomalies)


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_control_holds(name: str) -> None:
    found = judged(find(name), RECORDED / name / "control")

    assert found.verdict == "holds", found.evidence


def test_every_finding_has_recorded_histories() -> None:
    """Each reproduction with a documentation page has recorded histories.

    Reproductions in which one response of a broker already proves the defect need none.
    """
    findings = {one.name for one in REPRODUCTIONS.values() if one.page and one.case.breaks is None}
    assert findings <= {*NAMES}


@pytest.mark.parametrize("name", ["fenced-instance-returns", "fenced-instance-aborts"])
@pytest.mark.parametrize("answered", [True, False])
def test_the_last_answer_decides_a_promise_about_answers(name: str, answered: bool) -> None:
    one = find(name)
    for case, expected in ((one.case, "violated"), (one.control, "holds")):
        seen = Seen(reached=answered, text="answer: none")
        taken = [Taken(step=case.steps[-1], at_s=1.0, seen=seen)]
        found = verdict(one, case, taken, RECORDED, ())
        assert found.verdict == (expected if answered else "undecided")
        assert "answer: none" in found.reason


def test_a_history_with_a_part_of_the_anomalies_decides_nothing() -> None:
    some = replace(find("stale-elr-member"), anomalies=("lost-write", "value-nobody-sent"))

    assert judged(some, RECORDED / "stale-elr-member" / "case").verdict == "undecided"


def test_a_step_that_did_not_happen_decides_nothing() -> None:
    one = find("stale-elr-member")
    steps = [
        Taken(step=step, at_s=1.0, seen=Seen(reached=True, text="leader 1"))
        for step in one.case.steps[:2]
    ]
    missed = replace(steps[1], seen=Seen(reached=False, text="leader 2"))

    found = verdict(one, one.case, [steps[0], missed], RECORDED / one.name, ())
    assert found.verdict == "undecided"
    assert found.reason == (
        "step 2 did not happen (30 records are acknowledged with acks=all): leader 2"
    )
