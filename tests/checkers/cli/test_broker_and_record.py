"""`urteil broker` prints its addresses and ends on a signal; `urteil record` records a history."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checkers.cli.main import urteil
from checkers.demo import __file__ as demo
from checkers.record import reading, sending
from checkers.systems.requests import call as call_broker
from reference_impl.wire.messages.apis import Api

DEMO = str(Path(demo).with_name("three-anomalies.edn"))
KAFKA = "apache-kafka:4.3.0"
URTEIL = (sys.executable, "-c", "from checkers.cli.main import main; main()")


@contextmanager
def broker(*words: str, cwd: Path) -> Generator[tuple[str, subprocess.Popen[str]]]:
    call = [*URTEIL, "broker", "--json", *words]
    with subprocess.Popen(
        call, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        event = json.loads(process.stdout.readline())
        assert event["event"] == "ready"
        yield event["bootstrap_servers"], process
        process.kill()


def test_broker_prints_its_addresses_first_and_its_end_after_a_signal(tmp_path: Path) -> None:
    with broker("--brokers", "2", cwd=tmp_path) as (servers, process):
        assert len(servers.split(",")) == 2
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    (last,) = [json.loads(line) for line in out.splitlines()]
    assert last.items() >= {"v": 2, "event": "run_finished", "exit_code": 0}.items()


def test_no_broker_process_survives_a_killed_command(tmp_path: Path) -> None:
    call = [*URTEIL, "broker", "--json", "--processes", "--brokers", "2"]
    with subprocess.Popen(
        [*call, "--data-dir", str(tmp_path / "data")], cwd=tmp_path, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        pids = ready["pids"]
        assert pids.keys() == {"controller", "1", "2"}
        assert all(Path(f"/proc/{pid}").exists() for pid in pids.values())
        os.kill(pids["2"], signal.SIGSTOP)
        process.kill()
    for _ in range(1_000):
        if not any(Path(f"/proc/{pid}").exists() for pid in pids.values()):
            return
        time.sleep(0.01)
    raise AssertionError(f"of {pids} some still run")


def test_a_topic_is_created_by_a_metadata_request_only_with_the_option(tmp_path: Path) -> None:
    for words, error in (
        ((), "UNKNOWN_TOPIC_OR_PARTITION"),
        (("--auto-create-topics",), "NONE"),
    ):
        with broker("--brokers", "1", *words, cwd=tmp_path) as (servers, _):
            host, _, port = servers.rpartition(":")
            body = {"topics": [{"name": "wanted"}], "allow_auto_topic_creation": True}
            found = "none"
            for _ in range(100):
                answer = call_broker((host, int(port)), Api.METADATA, 12, body)
                found = answer["topics"][0]["error_code"]
                if found == "NONE" or not words:
                    break
            assert found == error


def test_a_workload_on_a_served_cluster_has_no_anomaly(call: Any, tmp_path: Path) -> None:
    log = tmp_path / "applied.ndjson"
    words = ("--fault", "drop-response:every=5", "--applied-log", str(log))
    with broker(*words, cwd=tmp_path) as (servers, _):
        output = call("record", "--on", servers, "--sends", "300")
    assert output.exit_code == 0
    (history,) = (m["value"] for m in output.named("measured") if m["metric"] == "history")
    unanswered = [line for line in log.read_text().splitlines() if '"answered": false' in line]
    assert len(unanswered) >= 20
    verdict = call("analyze", history, "--engine", "local")
    assert verdict.exit_code == 0
    assert set(verdict.verdicts().values()) == {"holds", "not exercised"}


def test_the_state_of_the_brokers_is_kept_if_records_cannot_be_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "READ_WITHIN_S", 0.5)
    monkeypatch.setattr(reading, "QUERY_S", 0.3)
    monkeypatch.setattr(sending, "GIVE_UP_AFTER_S", 2.0)
    impatient = tmp_path / "client.properties"
    impatient.write_text("message.timeout.ms=1500\n")
    words = ("--sends", "400", "--replication-factor", "1", "--fault", "kill-broker:id=1,after=10")
    where = ("--client-config", str(impatient), "--out", str(tmp_path / "runs"))
    result = CliRunner().invoke(urteil, ["record", *words, *where])
    assert result.exit_code == 0, result.output
    assert "sends skipped" in result.stderr
    (state,) = tmp_path.glob("runs/*/history/broker-state.txt")
    assert f"the brokers at the end: {state}" in result.stderr
    assert "broker 1: down" in state.read_text().splitlines()


def test_pipelines_of_transactions_through_a_failover_have_no_anomaly(
    call: Any,
) -> None:
    faults = ("drop-response:every=9", "kill-broker:id=1,after=30,restart=150")
    words = ("--sends", "80", "--partitions", "2", "--fault", faults[0], "--fault", faults[1])
    output = call("record", "--workload", "transactions", *words)
    assert output.exit_code == 0
    (history,) = (m["value"] for m in output.named("measured") if m["metric"] == "history")
    verdict = call("analyze", history, "--engine", "local")
    assert verdict.exit_code == 0
    assert verdict.verdicts()["input-processed-twice"] == "holds"
    decided = verdict.named("anomaly_decided")  # a slow machine may add a rebalance, which permits
    assert all(one["verdict"] != "violated" or one["permitted"] for one in decided)


@pytest.mark.parametrize(
    ("bug", "anomaly"),
    [("aborted-not-listed", "G1a"), ("offsets-despite-abort", "aborted-offset-read")],
)
def test_a_transaction_bug_of_the_broker_shows_its_anomaly(
    call: Any, bug: str, anomaly: str
) -> None:
    """The test makes up to three recordings: on a busy machine, a recording may miss the
    anomaly.
    """

    def shows(seed: int) -> bool:
        words = ("--sends", "100", "--partitions", "2", "--seed", str(seed))
        output = call("record", "--workload", "transactions", "--bug", bug, *words)
        assert output.exit_code == 0
        (history,) = (m["value"] for m in output.named("measured") if m["metric"] == "history")
        verdict = call("analyze", history, "--engine", "local")
        violated = bool(verdict.verdicts()[anomaly] == "violated")
        assert verdict.exit_code == 1 or not violated
        return violated

    assert any(shows(seed) for seed in (3, 4, 5))


@pytest.mark.parametrize(
    ("bug", "anomaly"),
    [
        ("reordered-ack-offset", "offset-order-inversion"),
        ("stale-end-offset", "stale-end-offset"),
        ("zero-offset-ack", "inconsistent-offsets"),
        ("no-dedup", "duplicate"),
        ("lost-append", "lost-write"),
    ],
)
def test_a_bug_of_the_broker_shows_its_anomaly(call: Any, bug: str, anomaly: str) -> None:
    output = call("record", "--bug", bug, "--sends", "300")
    assert output.exit_code == 0
    (history,) = (m["value"] for m in output.named("measured") if m["metric"] == "history")
    verdict = call("analyze", history, "--engine", "local", "--anomaly", anomaly)
    assert verdict.exit_code == 1
    assert verdict.verdicts() == {anomaly: "violated"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["broker", "--bug", "no-dedupe"], "'no-dedupe'; the nearest: no-dedup"),
        (["broker", "--fault", "drop-respons:every=3"], "drop-response"),
        (["broker", "--fault", "drop-response:every=no"], 'every: "no": write a whole number'),
        (["broker", "--brokers", "0"], "0 brokers"),
        (["broker", "--applied-log", "/absent/log"], "/absent/log: name a new file"),
        (["broker", "--applied-log", "."], "--applied-log .: name a new file"),
        (["broker", "--port", "65534"], "port 65534 is the first of 3"),
        (["record", "--on", "127.0.0.1:1"], "127.0.0.1:1: no broker answered"),
        (["record", "--client-config", "absent.properties"], "absent.properties"),
        (["record", "--sends", "0"], "--sends 0: must be at least 1"),
        (["record", "--bug", "no-dedup", "--on", "x:1"], "--bug applies to the"),
        (["record", "--on", "serve"], "--on serve: a system is served, apache-kafka:VERSION, k"),
        (["record", "--on", "x:1", "--fault", "kill"], "--fault: x:1 has no such ability"),
        (["record", "--traced"], "--traced: only Apache Kafka writes TRACE logs"),
        (["record", "--fault", "blakout"], "no fault 'blakout'; the nearest: blackout"),
        (["record", "--fault", "pause"], "the reference broker can only be killed or lose power"),
        (["record", "--broker-config", "a=b"], "the reference broker has no settings"),
        (["record", "--on", KAFKA, "--broker-config", "a"], "--broker-config a: write"),
        (["record", "--on", KAFKA, "--fault", "drop-response:every=3"], "use one of kill"),
        (["record", "--on", KAFKA, "--bug", "no-dedup"], "--bug applies to the"),
        (["analyze", "absent.edn"], "absent.edn: no such file"),
        (["analyze", DEMO, "--master", "spark://127.0.0.1:1"], "spark://127.0.0.1:1: no Spark m"),
        (["analyze", DEMO, "--master", "spark:/x"], "--master spark:/x: not a master of Spark"),
        (["analyze", "absent.edn", "--anomaly", "lost-wite"], "'lost-wite'; the nearest: lost"),
    ],
)  # fmt: skip
def test_a_wrong_argument_ends_with_one_line_and_exit_code_2(
    call: Any, words: list[str], message: str
) -> None:
    output = call(*words)
    assert output.exit_code == 2
    assert message in output.stderr
    assert output.stderr.count("\n") == 1
