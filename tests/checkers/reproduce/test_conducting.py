"""A whole run of `urteil reproduce`, with the served reference broker instead of Apache Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkers.histories.io.faults import faults
from checkers.reproduce import catalogue, conducting
from checkers.reproduce.actions import read, send, to
from checkers.reproduce.checks import acknowledged, done, partition, was_read
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.systems.apache_kafka import jars
from checkers.systems.apache_kafka.jars import Jars
from checkers.systems.system import Ability, Layout
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving
from tests.checkers.cli.conftest import Call, call  # noqa: F401 - a fixture
from tests.checkers.reproduce.conftest import ServedBrokers
from tests.checkers.reproduce.test_stage import create

KAFKA = Jars(version="4.3.0", folder=Path("jars"))
CASE = Case(
    about="two brokers",
    layout=Layout(brokers=2),
    steps=(
        Step("broker 1 leads", create(2), partition(leader=1, isr=(1, 2))),
        Step("a is acknowledged", send("a"), acknowledged("a")),
        Step("broker 2 is paused", to(Ability.PAUSE, 2), done),
        Step("a consumer reads the partition", read, was_read),
    ),
)
STUCK = replace(
    CASE,
    steps=(CASE.steps[0], Step("broker 2 leads", send("a"), partition(leader=2), within_s=0)),
)
CALM = Reproduction(
    name="calm",
    promise="Always: nothing is lost.",
    because="Nothing happens.",
    case=CASE,
    control=CASE,
    anomalies=("lost-write",),
)


@pytest.fixture(autouse=True)
def _reference_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def running(folder: Path, of: Jars, layout: Layout) -> Iterator[Any]:
        with serving(ServeOptions(brokers=layout.brokers)) as served:
            yield ServedBrokers(served.bootstrap_servers, [])

    monkeypatch.setattr(conducting, "running", running)
    monkeypatch.setattr(jars, "download", lambda version: replace(KAFKA, version=version))


def test_a_case_leaves_its_steps_its_history_and_its_faults(tmp_path: Path) -> None:
    said: list[str] = []
    taken = conducting.conduct(CASE, KAFKA, tmp_path / "case", lambda one: said.append(str(one)))

    assert [one.step for one in taken] == [*CASE.steps]
    assert all(one.seen.reached for one in taken)
    assert (tmp_path / "case" / "steps.txt").read_text().splitlines()[1::2] == [
        "             leader 1, ISR [1 2], ELR [], replicas [1 2], epoch 0",
        "             acknowledged at offsets 0",
        "             done",
        "             read",
    ]
    assert len(said) == 4
    history = tmp_path / "case" / conducting.HISTORY
    assert [(fault.do, fault.node) for fault in faults(history)] == [("pause", 2)]


def test_a_case_ends_at_the_first_step_that_does_not_happen(tmp_path: Path) -> None:
    taken = conducting.conduct(STUCK, KAFKA, tmp_path / "case", lambda _: None)

    assert [one.seen.reached for one in taken] == [True, False]
    assert "✗" in (tmp_path / "case" / "steps.txt").read_text()


@pytest.mark.parametrize(
    ("case", "verdicts", "exit_code"),
    [
        (CASE, {"calm, case": "holds", "calm, control": "holds"}, 0),
        (STUCK, {"calm, case": "undecided", "calm, control": "holds"}, 3),
    ],
)
def test_the_command_decides_the_case_and_its_control(
    call: Call,  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
    case: Case,
    verdicts: dict[str, str],
    exit_code: int,
) -> None:
    monkeypatch.setitem(catalogue.REPRODUCTIONS, "calm", replace(CALM, case=case))
    found = call("reproduce", "calm", "--on", "apache-kafka:4.3.0")

    assert found.verdicts() == verdicts
    assert found.exit_code == exit_code
    assert [row["expected"] for row in found.named("property_decided")] == ["violated", "holds"]


def test_only_one_of_the_two_can_be_run(
    call: Call,  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(catalogue.REPRODUCTIONS, "calm", CALM)
    found = call("reproduce", "calm", "--on", "apache-kafka:4.3.0", "--only", "control")

    assert found.verdicts() == {"calm, control": "holds"}


@pytest.mark.parametrize(
    ("options", "versions"),
    [
        ((), ["3.5.2"]),
        (("--on", "apache-kafka"), ["4.3.0"]),
        (("--on", "apache-kafka:4.1.0"), ["4.1.0"]),
    ],
)
def test_without_a_system_the_version_that_showed_the_defect_is_tried(
    call: Call,  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    versions: list[str],
) -> None:
    downloaded: list[str] = []

    def download(version: str) -> Jars:
        downloaded.append(version)
        return replace(KAFKA, version=version)

    monkeypatch.setattr(jars, "download", download)
    monkeypatch.setitem(catalogue.REPRODUCTIONS, "calm", replace(CALM, shown_on="3.5.2"))
    call("reproduce", "calm", "--only", "control", *options)

    assert downloaded == versions
