"""Each reproduction has a counterexample of its model, and a control case.

A reproduction has two cases, which differ in one version, one setting or one step. The first case
breaks a guarantee of Kafka. The second, the control case, keeps it. If a reproduction has a
documentation page, the page shows its command.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.reproduce.catalogue import REPRODUCTIONS, find
from checkers.reproduce.reproduction import Reproduction
from checkers.systems.apache_kafka.jars import checked
from model.faults import UnknownName
from model.specs import all_variants
from properties.anomalies.catalogue import CATALOGUE
from properties.log_audit.catalogue import CHECKS

FINDINGS = Path(__file__).parents[3] / "docs" / "findings"
ALL = pytest.mark.parametrize("one", REPRODUCTIONS.values(), ids=REPRODUCTIONS)


@ALL
def test_the_promise_is_a_claim_and_the_cause_is_a_sentence(one: Reproduction) -> None:
    assert one.promise.startswith("Always: ")
    assert one.promise.endswith(".")
    assert one.because.endswith(".")


@ALL
def test_the_case_and_its_control_differ_in_one_thing_that_is_named(one: Reproduction) -> None:
    assert one.case.about != one.control.about
    differs = (
        one.case.layout != one.control.layout,
        [step.text for step in one.case.steps] != [step.text for step in one.control.steps],
        one.case.version != one.control.version,
    )
    assert any(differs)


@ALL
def test_every_step_has_its_own_text(one: Reproduction) -> None:
    for case in (one.case, one.control):
        texts = [step.text for step in case.steps]
        assert len(texts) > 3
        assert len({*texts}) == len(texts)


@ALL
def test_the_judge_looks_for_anomalies_that_exist(one: Reproduction) -> None:
    by_answer = one.case.breaks is not None
    assert sum((bool(one.anomalies), bool(one.log_anomalies), by_answer)) == 1
    if by_answer:
        assert (one.case.breaks, one.control.breaks) == (True, False)
    assert {*one.anomalies} <= {anomaly.id for anomaly in CATALOGUE}
    assert {*one.log_anomalies} <= {check.id for check in CHECKS}


@ALL
def test_the_counterexample_of_the_model_is_one_that_is_caught(one: Reproduction) -> None:
    breaks = {(row.spec, row.name): row.breaks for row in all_variants()}
    for instance in one.model:
        assert instance.claim in (breaks[instance.spec, instance.variant] or ())


@ALL
def test_the_versions_exist_and_the_first_one_has_the_defect(one: Reproduction) -> None:
    major, minor, _ = checked(one.shown_on).split(".")
    assert one.has((int(major), int(minor)))
    for case in (one.case, one.control):
        assert case.version is None or checked(case.version)


@ALL
def test_a_finding_has_a_page_that_shows_its_command(one: Reproduction) -> None:
    if one.page is not None:
        page = (FINDINGS / f"{one.page}.md").read_text()
        assert f"urteil reproduce {one.name} --on apache-kafka:{one.shown_on}" in page
        assert all(instance.command in page for instance in one.model)


def test_a_version_after_the_last_one_is_fixed() -> None:
    marker = find("late-marker")
    assert [marker.has(number) for number in ((3, 9), (4, 0), (4, 1), (4, 3))] == [
        False,
        True,
        True,
        False,
    ]


def test_an_unknown_name_lists_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"no reproduction 'stale-elr'.*stale-elr-member"):
        find("stale-elr")
