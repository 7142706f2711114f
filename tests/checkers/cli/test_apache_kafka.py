"""Clients record while brokers of Apache Kafka are killed, and every guarantee holds.

The test downloads Kafka with Maven. If the download fails, the test is skipped, with the reason.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from checkers.systems.apache_kafka import jars
from model.faults import InputFault

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def kafka() -> str:
    try:
        found = jars.download(jars.DEFAULT_VERSION)
    except InputFault as fault:
        pytest.skip(str(fault))
    return f"apache-kafka:{found.version}"


def test_kafka_keeps_its_guarantees_while_brokers_are_killed(
    call: Any, kafka: str, tmp_path: Path
) -> None:
    faults = ("--fault", "kill", "--broker-config", "min.insync.replicas=2")
    recorded = call("record", "--on", kafka, "--sends", "60", "--pause", "0.3", *faults)
    assert recorded.exit_code == 0
    (history,) = (m["value"] for m in recorded.named("measured") if m["metric"] == "history")
    folder = tmp_path / history

    steps = [json.loads(line) for line in (folder / "faults.ndjson").read_text().splitlines()]
    assert {step["do"] for step in steps} == {"kill", "start"}
    assert (folder.parent / "cluster" / "node-1" / "server.log").exists()

    verdict = call("analyze", history, "--engine", "local")
    assert verdict.exit_code == 0
    assert set(verdict.verdicts().values()) == {"holds", "not exercised"}
