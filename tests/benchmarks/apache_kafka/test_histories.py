"""The analysis finds known anomalies in histories of Apache Kafka under faults.

`benchmarks.apache_kafka` recorded the histories in `tests/data/apache_kafka`.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.apache_kafka.campaigns import OUTCOME, judged
from checkers.histories.analysis import Analysis
from checkers.histories.io.faults import faults
from checkers.histories.io.recorded import metadata, operations
from model.histories import Assigned, History, Operation, Poll, Rebalanced, Send

DATA = Path(__file__).parents[2] / "data" / "apache_kafka"
RESULTS = (Path(__file__).parents[3] / "docs" / "apache-kafka.md").read_text()
NAMES = ("safe", "unsafe", "transactions")


@cache
def history(name: str) -> History:
    return operations(DATA / name)


@cache
def analysis(name: str) -> Analysis:
    return judged(DATA / name)[0]


def violated(name: str) -> dict[str, int]:
    return {
        decision.anomaly.id: decision.count
        for decision in analysis(name).decisions
        if decision.count and not decision.permitted
    }


def rows(name: str, anomaly: str) -> list[dict[str, Any]]:
    (decision,) = (d for d in analysis(name).decisions if d.anomaly.id == anomaly)
    table: list[dict[str, Any]] = decision.rows.to_pylist()
    return table


def of(name: str, f: str) -> list[Operation]:
    return [operation for operation in history(name) if operation.f == f]


def last_read(name: str) -> dict[str, dict[int, str]]:
    process = max(operation.process for operation in of(name, "assign"))
    log: dict[str, dict[int, str]] = {}
    for operation in history(name):
        if operation.process == process:
            for micro in operation.did:
                if isinstance(micro, Poll) and micro.offset is not None:
                    log.setdefault(micro.key, {})[micro.offset] = micro.value
    return log


@pytest.mark.parametrize("name", NAMES)
def test_versions_settings_and_faults_are_recorded(name: str) -> None:
    outcome, recorded = json.loads((DATA / name / OUTCOME).read_text()), metadata(DATA / name)
    assert recorded["finished"] is True
    assert outcome["apache_kafka"] == "4.3.0"
    assert outcome["unread"] == []
    suffered = faults(DATA / name)
    assert Counter(fault.do for fault in suffered) == outcome["faults"]
    times = [operation.invoked_ns for operation in history(name)]
    assert all(
        min(times) < fault.from_ns < (fault.until_ns or 0) < max(times) for fault in suffered
    )


def test_a_safely_configured_kafka_keeps_every_guarantee() -> None:
    assert violated("safe") == {}
    assert analysis("safe").verdict == "holds"
    assert {operation.outcome for operation in of("safe", "send")} == {"ok"}
    log = last_read("safe")
    for operation in of("safe", "send"):
        (send,) = operation.did
        assert isinstance(send, Send)
        assert send.offset is not None
        assert log[send.key][send.offset] == send.value


def test_kafka_loses_acknowledged_records_with_acks_1_and_unclean_elections() -> None:
    """Kafka loses acknowledged records with acks=1 and unclean elections; the analysis finds them.

    A record is lost if the last read of the log does not contain it. If no consumer polled a lost
    record, the analysis reports `lost-write`. If a consumer polled it earlier, the analysis reports
    `inconsistent-offsets`, because another record is now at its offset.
    """
    found = violated("unsafe")
    assert analysis("unsafe").verdict == "violated"
    log = last_read("unsafe")
    there = {(key, value) for key, at in log.items() for value in at.values()}
    acknowledged = {
        (micro.key, micro.value)
        for operation in of("unsafe", "send")
        for micro in operation.did
        if operation.outcome == "ok" and isinstance(micro, Send)
    }
    polled = {
        (micro.key, micro.value)
        for operation in of("unsafe", "poll")
        for micro in operation.did
        if isinstance(micro, Poll)
    }
    gone = acknowledged - there
    lost = {(row["key"], row["value"]) for row in rows("unsafe", "lost-write")}
    replaced = {
        (row["key"], value)
        for row in rows("unsafe", "inconsistent-offsets")
        for value in row["values"]
    }
    assert lost == gone - polled
    assert found["lost-write"] == len(lost) > 0
    assert gone <= lost | replaced
    assert found["inconsistent-offsets"] > 0
    assert found["stale-end-offset"] > 0
    assert f"{len(gone)} acknowledged records are gone, {len(lost)} of them never read" in RESULTS


def test_a_reader_whose_log_was_truncated_begins_again_as_a_new_process() -> None:
    assert len(of("safe", "assign")) == 3
    assert len(of("unsafe", "assign")) > 3
    for operation in of("unsafe", "assign"):
        earlier = [op for op in history("unsafe") if op.invoked_ns < operation.invoked_ns]
        assert all(op.process != operation.process for op in earlier)
        assert len(operation.did) == 4
        assert all(isinstance(micro, Assigned) for micro in operation.did)


def test_transactions_keep_every_guarantee_and_a_rebalance_explains_every_skip() -> None:
    assert violated("transactions") == {}
    assert analysis("transactions").verdict == "holds"
    permitted = {d.anomaly.id for d in analysis("transactions").decisions if d.permitted}
    assert permitted <= {"poll-skip", "nonmonotonic-poll"}
    for anomaly in permitted:
        for row in rows("transactions", anomaly):
            assert the_group_rebalanced(row)


def the_group_rebalanced(row: dict[str, Any]) -> bool:
    between = history("transactions")[row["first_op"] : row["second_op"] + 1]
    mine = [op for op in between if op.process == between[0].process]
    return any(
        op.f == "subscribe"
        or any(isinstance(m, Rebalanced) and m.key == row["key"] for m in op.did)
        for op in mine
    )


def test_transactions_were_aborted_and_fenced_and_rebalances_happened() -> None:
    failed = [op.error or "" for op in of("transactions", "txn") if op.outcome == "fail"]
    for what in ("the application aborted it", "_FENCED", "a rebalance, nothing was sent"):
        assert any(what in error for error in failed), what
    assert len(of("transactions", "init_producer")) > 3
    assert len(of("transactions", "subscribe")) > 3


def test_every_input_is_in_the_output_once() -> None:
    log = last_read("transactions")
    inputs = [v for key, at in log.items() if "-in-" in key for v in at.values()]
    outputs = [v.split(":")[0] for key, at in log.items() if "-out-" in key for v in at.values()]
    assert sorted(outputs) == sorted(inputs)
    assert len(inputs) == 1_200
