"""`urteil trace`: exit codes, events and the text of a forbidden step."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkers.cli import trace_on
from checkers.cli.record import Subject
from checkers.cli.run import Run
from checkers.record.options import RecordOptions
from checkers.systems.opening import CLUSTER

KAFKA = Path(__file__).parents[2] / "data" / "kafka_trace"
Call = Callable[..., Any]  # the fixture of the folder


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return Path(shutil.copytree(KAFKA, tmp_path / "logs"))


def edit(file: Path, change: Callable[[str], str | None]) -> None:
    """Rewrites a gzipped log: changes each line, or drops it if `change` returns None."""
    with gzip.open(file, "rt") as lines:
        changed = [change(line) for line in lines]
    file.write_bytes(gzip.compress("".join(line for line in changed if line is not None).encode()))


def test_the_trace_of_a_real_cluster_is_a_behaviour_of_the_spec(call: Call) -> None:
    output = call("trace", str(KAFKA))
    assert output.exit_code == 0
    assert output.verdicts() == {
        "tt-0": "holds",
        "__transaction_state-0": "holds",
        "__transaction_state-1": "holds",
        "__transaction_state-2": "holds",
        "tx1": "holds",
    }
    decided = output.named("property_decided")[0]
    assert (decided["engine"], decided["spec"]) == ("trace", "replication-abstract")
    assert decided["reason"] == "3,077 of 3,077 events taken, 0 early, 1,377 actions"
    figures = {event["metric"]: event["value"] for event in output.named("measured")}
    assert figures["lines"] == 7_270
    assert figures["lines that no row of the table fits"] == 0
    assert figures["events"] == 3_419
    assert figures["earliest by"] == 0.0


def test_the_folder_of_a_cluster_has_a_trace_in_the_folder_of_each_node(
    call: Call, tmp_path: Path
) -> None:
    for node in range(4):
        home = tmp_path / "cluster" / f"node-{node}"
        home.mkdir(parents=True)
        packed = KAFKA / f"broker-{node}.log.gz"
        (home / "trace.log").write_bytes(gzip.decompress(packed.read_bytes()))
        (home / "server.log").write_text("not a trace\n")
    output = call("trace", str(tmp_path / "cluster"), "--transactional-id", "tx1")
    assert output.exit_code == 0
    assert output.verdicts() == {"tx1": "holds"}


def test_a_truncation_that_is_missing_is_shown_with_state_and_lines(
    call: Call, logs: Path, tmp_path: Path
) -> None:
    file = logs / "broker-3.log.gz"
    edit(file, lambda line: None if "Truncating to offset 134" in line else line)
    output = call("trace", str(logs), "--partition", "tt-0", json_events=False)
    assert output.exit_code == 1
    assert "fetch offset: the line has 134, the spec 135" in output.stdout
    assert "-> broker 3 follows in leader epoch 2: log end 135" in output.stdout
    assert f"{file}:" in output.stdout
    assert "Events around it, by the clock of the nodes:" in output.stdout
    assert "replay  urteil" not in output.stdout.partition("replay")[0]
    (kept,) = (tmp_path / "runs").glob("*/trace-tt-0.txt")
    assert "is forbidden" in kept.read_text()
    # the values are kept too: the line opens in the page, with the state before it
    (walked,) = (tmp_path / "runs").glob("*/tt-0-*.trace.json")
    assert f"urteil explore {walked}" in output.stdout
    shown = call("explore", str(walked.parent), "--print", json_events=False).stdout
    assert f"no step of the spec explains {file}:" in shown
    assert "broker 3: send a fetch (offset 134, leader_epoch 2, last_epoch 1)" in shown
    assert "--scope Replica=3,LeaderEpoch=6,Offset=" in shown


def test_a_high_watermark_that_is_too_high_is_forbidden(call: Call, logs: Path) -> None:
    edit(
        logs / "broker-3.log.gz",
        lambda line: (
            line.replace("to (offset=100,", "to (offset=101,")
            if "[Partition tt-0" in line
            else line
        ),
    )
    output = call("trace", str(logs), "--partition", "tt-0")
    assert output.exit_code == 1
    (decided,) = output.named("property_decided")
    assert "advance_high_watermark(r=2, mark=101) is not allowed" in decided["reason"]
    assert decided["trace_length"] > 1_000


def test_lost_records_are_a_violation_unless_their_step_is_allowed(call: Call) -> None:
    folder = str(KAFKA.with_name("kafka_trace_losses") / "unclean-election")
    output = call("trace", folder)
    assert output.exit_code == 1
    verdicts = {"t-0": "undecided", "t-0, committed records": "violated"}
    assert output.verdicts() == verdicts  # of t-0 the last: idempotence-abstract
    decided = output.named("property_decided")[1]
    assert decided["variant"] == "with-losses"
    assert decided["reason"] == (
        "broker 2 begins leader epoch 2: 1 of 2 committed records are lost, offset 1"
    )
    (evidence,) = output.named("evidence")[:1]
    assert "unclean.leader.election.enable=true" in evidence["text"]
    allowed = call("trace", folder, "--allow", "unclean-election")
    assert allowed.exit_code == 3
    assert allowed.verdicts()["t-0, committed records"] == "holds"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name either the LOGS to follow, or a system with --on"),
        (("--on", "served"), "only Apache Kafka that Urteil starts writes TRACE logs"),
        (("--on", "localhost:9092"), "or name the LOGS of your own cluster"),
        (
            ("--on", "apache-kafka:4.3.0", "logs"),
            "name either the LOGS to follow, or a system with --on",
        ),
    ],
)
def test_a_trace_needs_logs_or_a_system_that_writes_them(
    call: Call, words: tuple[str, ...], message: str
) -> None:
    output = call("trace", *words)
    assert output.exit_code == 2
    assert message in output.stderr


def test_a_campaign_on_a_system_is_recorded_and_then_followed(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command records a test campaign on a cluster, and then validates the cluster's traces.

    Instead of recording, the test copies the traces of an earlier cluster.
    """
    campaigns = list[tuple[RecordOptions, Subject]]()

    def record(run: Run, options: RecordOptions, subject: Subject) -> None:
        campaigns.append((options, subject))
        assert run.folder is not None
        for node in range(4):
            home = run.folder.path / CLUSTER / f"node-{node}"
            home.mkdir(parents=True)
            packed = KAFKA / f"broker-{node}.log.gz"
            (home / "trace.log").write_bytes(gzip.decompress(packed.read_bytes()))

    monkeypatch.setattr(trace_on, "record", record)
    monkeypatch.setattr(trace_on, "emit_result", lambda _run, _found: None)
    words = ("--on", "apache-kafka:4.3.0", "--fault", "pause", "--workload", "transactions")
    output = call(
        "trace", *words, "--broker-config", "min.insync.replicas=1", "--partition", "tt-0"
    )
    assert output.exit_code == 0
    assert output.verdicts() == {"tt-0": "holds"}
    ((options, subject),) = campaigns
    assert subject.layout.traced
    assert subject.rounds == ("pause",)
    assert subject.layout.settings["min.insync.replicas"] == "1"
    assert options.workload == "transactions"


def test_a_partition_without_its_creation_is_undecided(call: Call, logs: Path) -> None:
    (logs / "broker-0.log.gz").unlink()  # the controller
    output = call("trace", str(logs))
    assert output.exit_code == 3
    assert output.verdicts() == {"tx1": "holds", "any partition": "undecided"}
    decided = output.named("property_decided")[-1]
    assert "creates a partition: start the trace before the topic is created" in decided["reason"]


def test_a_partition_that_is_not_in_the_logs_is_undecided_once(call: Call) -> None:
    output = call("trace", str(KAFKA), *["--partition", "orders-0"] * 2)
    assert output.exit_code == 3
    (decided,) = output.named("property_decided")
    assert decided["reason"] == "none of 7,270 lines shows its first step"


def test_a_marker_with_the_other_result_is_forbidden(call: Call, logs: Path) -> None:
    edit(logs / "broker-2.log.gz", lambda line: line.replace("result=ABORT", "result=COMMIT"))
    output = call("trace", str(logs), "--transactional-id", "tx1")
    assert output.exit_code == 1
    (decided,) = output.named("property_decided")
    assert decided["spec"] == "transactions-abstract"
    assert decided["reason"].endswith("no transaction is committed")


def test_an_empty_folder_is_undecided(call: Call, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert call("trace", str(tmp_path / "empty")).exit_code == 3


def test_a_step_that_the_spec_does_not_have_is_undecided(call: Call, logs: Path) -> None:
    edit(
        logs / "broker-0.log.gz",
        lambda line: line.replace("isr: [1, 2, 3] -> [1, 2],", "replicas: [1] -> [2],"),
    )
    output = call("trace", str(logs), "--partition", "tt-0")
    assert output.exit_code == 3
    assert "a reassignment" in output.named("property_decided")[0]["reason"]


def test_a_line_that_no_row_fits_is_counted_and_named(call: Call, logs: Path) -> None:
    edit(
        logs / "broker-3.log.gz",
        lambda line: line.replace("Progress awaiting", "Awaiting progress of"),
    )
    output = call("trace", str(logs), "--partition", "tt-0")
    assert output.exit_code == 0
    figures = {event["metric"]: event["value"] for event in output.named("measured")}
    assert figures["lines that no row of the table fits"] > 100
    assert "no row of the table fits" in output.stderr


def test_a_file_without_the_layout_is_exit_2(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    file.write_text("[2026-11-23 01:00:00] INFO started\n")
    output = call("trace", str(file))
    assert output.exit_code == 2
    assert f"{file}: no line has the layout %nano %p %c{{1}} [%t] %m%n" in output.stderr


def test_a_missing_file_is_exit_2(call: Call, tmp_path: Path) -> None:
    output = call("trace", str(tmp_path / "nowhere.log"))
    assert output.exit_code == 2
    assert "No such file or directory; name the TRACE log files of brokers" in output.stderr
