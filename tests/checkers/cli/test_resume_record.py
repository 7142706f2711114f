"""`urteil record --resume` goes on after a kill: it reports what is kept, and loses nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkers.histories.io.recorded import metadata, operations
from checkers.record import clients, recording
from checkers.record.options import RecordOptions, Workload
from checkers.report.folder import RunFolder
from checkers.report.killed_runs import killed_runs
from checkers.run_files import HISTORY, RUNNING
from model.histories import CommitOffset, History, Operation, Send
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.catalogue import CATALOGUE
from reference_impl.node.bugs import bugs_named
from reference_impl.wire.faults.reading import parsed
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving
from tests.checkers.cli.conftest import Call
from tests.checkers.cli.test_broker_and_record import URTEIL, broker

ADDRESS = "127.0.0.1:1"
KEPT_OPTIONS = RecordOptions(
    folder=Path(), bootstrap_servers=ADDRESS, system=ADDRESS, topic="t", sends=50, seed=7
)


def found(history: History) -> set[str]:
    assert not any(assumption.find(history) for assumption in ASSUMPTIONS)
    return {anomaly.id for anomaly in CATALOGUE if anomaly.find(history)}


def sent_values(history: History) -> list[str]:
    return [
        micro.value
        for op in history
        if op.f == "send"
        for micro in op.did
        if isinstance(micro, Send)
    ]


def interrupted(
    tmp_path: Path, servers: str, *, until: str, workload: Workload = "append-and-read"
) -> Path:
    """Records on the cluster until twenty operations of the kind `until` have ended ok. Returns the
    run folder.
    """
    run = RunFolder.make(tmp_path / "runs", command=["urteil", "record"], seed=7)
    run.end()
    folder = run.path / HISTORY

    def stops(_sent: threading.Event) -> None:
        while sum((op.f, op.outcome) == (until, "ok") for op in operations(folder)) < 20:
            time.sleep(0.01)
        raise KeyboardInterrupt

    options = replace(
        KEPT_OPTIONS,
        folder=folder,
        bootstrap_servers=servers,
        system=servers,
        sends=200,
        workload=workload,
        fault_injector=stops,
    )
    with pytest.raises(KeyboardInterrupt):
        recording.record(options)
    return run.path


def test_a_recording_killed_twice_goes_on_and_has_no_anomaly(tmp_path: Path, call: Call) -> None:
    """The first kill comes as soon as the history exists, the second in the middle of sending."""
    with broker("--brokers", "1", "--fault", "drop-response:every=11", cwd=tmp_path) as (at, _):
        words: tuple[str, ...] = ("record", "--on", at, "--sends", "300", "--seed", "7")
        for completed in (0, 60):
            with subprocess.Popen([*URTEIL, *words], cwd=tmp_path, stdout=subprocess.DEVNULL) as it:
                while not list(tmp_path.glob("runs/*/history/history.json")):
                    time.sleep(0.01)
                (tail,) = tmp_path.glob("runs/*/history/tail-00000.ndjson")
                until = tail.read_bytes().count(b'"completed"') + completed
                while tail.read_bytes().count(b'"completed"') < until:
                    assert it.poll() is None
                    time.sleep(0.01)
                it.send_signal(signal.SIGKILL)
            words = ("record", "--resume", "last")
        (folder,) = tmp_path.glob("runs/*/history")
        before = operations(folder)
        output = call(*words)
    assert output.exit_code == 0, output.stderr
    undecided = sum(op.completed_ns is None for op in before)
    assert f"kept {len(before)} operations of the run of 20" in output.stderr
    assert f"{undecided} operation" in output.stderr.partition("UTC; ")[2]
    kept = {m["metric"]: m["value"] for m in output.named("measured")}
    assert (kept["kept"], kept["without an end"]) == (len(before), undecided)
    assert kept["history"] == str(folder)

    history = operations(folder)
    assert set(before) <= set(history)
    assert found(history) == set()
    values = sent_values(history)
    assert len(values) == len({*values}) == 300
    assert (metadata(folder)["finished"], metadata(folder)["resumed"]) == (True, 2)
    output = call("record", "--resume", str(folder.parent))
    assert output.exit_code == 2
    assert "this recording is complete, nothing is left to record" in output.stderr


def test_a_bug_in_the_second_half_of_a_recording_is_found(tmp_path: Path, call: Call) -> None:
    """Between the halves, the cluster is started again with the same data and with a bug."""
    data = tmp_path / "data"
    with serving(ServeOptions(brokers=1, data_dir=data)) as cluster:
        servers = cluster.bootstrap_servers
        folder = interrupted(tmp_path, servers, until="send") / HISTORY
    before = operations(folder)
    port = int(servers.rpartition(":")[2])
    buggy = ServeOptions(
        brokers=1,
        data_dir=data,
        port=port,
        bugs=bugs_named("no-dedup"),
        faults=(parsed("drop-response:every=6"),),
    )
    with serving(buggy):
        output = call("record", "--resume", "last")
    assert output.exit_code == 0, output.stderr
    history = operations(folder)
    assert found(before) <= {"unseen"}  # nobody has read it all
    (duplicate,) = (anomaly for anomaly in CATALOGUE if anomaly.id == "duplicate")
    twice = str(duplicate.find(history))
    assert any(value in twice for value in sent_values(tuple({*history} - {*before})))
    acknowledged = tuple(op for op in before if op.outcome == "ok")
    assert not any(f"'{value}'" in twice for value in sent_values(acknowledged))


def test_a_resumed_group_goes_on_at_its_committed_offsets(tmp_path: Path, call: Call) -> None:
    with serving(ServeOptions(brokers=1)) as cluster:
        servers = cluster.bootstrap_servers
        folder = interrupted(tmp_path, servers, until="txn", workload="transactions") / HISTORY
        before = operations(folder)
        output = call("record", "--resume", "last")
    assert output.exit_code == 0, output.stderr
    history = operations(folder)
    resets = [op for op in history if op.f == "commit_offset" and CommitOffset in map(type, op.did)]
    assert len(resets) == 1, "offset 0 is committed before the group has members, and never again"
    verdict = call("analyze", str(folder), "--engine", "local")
    assert verdict.exit_code == 0, verdict.stdout
    assert verdict.verdicts()["input-processed-twice"] == "holds"

    def ids(part: tuple[Operation, ...]) -> set[str | None]:
        return {op.transactional_id for op in part if op.f == "init_producer"}

    assert ids(before)
    assert ids(before) <= ids(tuple({*history} - {*before}))


def test_a_killed_recording_is_reported_with_the_command_that_goes_on(tmp_path: Path) -> None:
    for system, goes_on in ((ADDRESS, True), ("served", False)):
        folder = kept_folder(tmp_path / system[:3], system=system)
        (folder / RUNNING).touch()
        (found,) = killed_runs(folder.parent)
        assert (f"or urteil record --resume {folder})" in found) is goes_on


# ---------------------------------------------------------------- what cannot be resumed


def kept_folder(tmp_path: Path, **settings: Any) -> Path:
    """Writes the run folder of a recording that was killed before its first operation."""
    run = RunFolder.make(tmp_path / "runs", command=["urteil", "record"], seed=7)
    run.end()
    folder = run.path / HISTORY
    folder.mkdir()
    (folder / "tail-00000.ndjson").touch()
    described = recording._described(KEPT_OPTIONS, "t", None)
    content = {
        "schema_version": 2,
        "workload": described.workload,
        "settings": {**described.settings, **settings},
        "seed": described.seed,
        "finished": False,
    }
    (folder / "history.json").write_text(json.dumps(content))
    return run.path


@pytest.mark.parametrize(
    ("words", "settings", "message"),
    [
        (["--sends", "60"], {}, "--sends 60: the recording has 50; leave --sends out"),
        (["--seed", "8"], {}, "--seed 8: the recording has 7; leave --seed out"),
        (["--on", "x:1"], {}, f"--on x:1: the recording has {ADDRESS}; leave --on out"),
        (["--pause", "1"], {}, "--pause 1.0: the recording has 0.0; leave --pause out"),
        (["--workload", "transactions"], {}, "the recording has append-and-read; leave"),
        (["--fault", "kill"], {}, "--fault: a resumed recording uses a running cluster: leave"),
        (["--bug", "no-dedup"], {}, "--bug: a resumed recording uses a running cluster"),
        ([], {"client_config_keys": ["sasl.username"]}, "set sasl.username: pass that file"),
        ([], {"system": "served"}, "served ended with the recording; start urteil broker --data"),
        ([], {"sends": "many"}, "sends is 'many'; this recording cannot be resumed: record again"),
        (["--seed", "7", "--topic", "t"], {}, f"{ADDRESS}: no broker answered"),
    ],
)  # fmt: skip
def test_a_contradiction_is_one_line_and_changes_nothing(
    words: list[str],
    settings: dict[str, Any],
    message: str,
    tmp_path: Path,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clients, "REACH_S", 0.3)
    folder = kept_folder(tmp_path, **settings)
    before = {file: file.read_bytes() for file in (folder / HISTORY).iterdir()}
    output = call("record", "--resume", "last", *words)
    assert output.exit_code == 2
    assert message in output.stderr.splitlines()[-1]
    assert {file: file.read_bytes() for file in (folder / HISTORY).iterdir()} == before
    assert [path.name for path in (tmp_path / "runs").glob("*/run.json")] == ["run.json"]
    assert [row["name"] for row in call("runs").named("listed")] == [folder.name]


def test_a_missing_run_and_a_lost_topic_are_refused(tmp_path: Path, call: Call) -> None:
    output = call("record", "--resume", "last")
    assert output.exit_code == 2
    assert "last: there are 0 runs with a history; see urteil runs" in output.stderr
    with serving(ServeOptions(brokers=1)) as cluster:
        servers = cluster.bootstrap_servers
        kept_folder(tmp_path, bootstrap_servers=servers, system=servers)
        output = call("record", "--resume", "last")
    assert output.exit_code == 2
    assert "topic t has no partitions, and the recording had 4: the cluster has" in output.stderr


def test_ctrl_c_names_the_command_that_goes_on(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    folder = kept_folder(tmp_path)
    monkeypatch.setattr(recording, "record", pressed)
    output = call("record", "--resume", "last")
    assert output.exit_code == 130
    assert f"continue: urteil record --resume {folder}\n" in output.stderr
