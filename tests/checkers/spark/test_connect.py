"""An analysis on a Spark Connect server has the same verdicts as one in this process."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyspark
import pytest

from benchmarks.analyze.injection import Injection
from benchmarks.analyze.synthesis import Synthesis, synthesize
from checkers import java
from checkers.cli.following import followed
from checkers.cli.run import Run
from checkers.histories.analysis import Analysis, analyze
from checkers.histories.io import reading
from checkers.log_dirs.audit import audit
from checkers.progress import Progress
from checkers.spark import connect
from checkers.spark.log_dirs import audit_on_spark
from checkers.spark.run import analyze_on_spark, require_visible
from checkers.spark.session import session
from model.faults import InputFault

SPARK = Path(pyspark.__file__).parent
KAFKA = Path(__file__).parents[2] / "data" / "apache_kafka"
STARTS_WITHIN_S = 120.0


@dataclass(frozen=True, slots=True)
class Server:
    """A Spark Connect server: its address, and that of its web UI."""

    address: str
    ui: str


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    home = java.launcher_home(java.choose(), folder / "java")
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.port": "0",
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                SPARK / "bin" / "spark-submit",
                *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
                *("--master", "local[2]"),
                *(word for pair in conf.items() for word in ("--conf", "=".join(pair))),
            ],
            cwd=folder,
            stdout=log,
            stderr=log,
            env={
                **os.environ,
                "JAVA_HOME": str(home),
                "SPARK_HOME": str(SPARK),
                "SPARK_LOCAL_IP": "127.0.0.1",  # of its web UI
                "PYSPARK_PYTHON": sys.executable,
            },
            start_new_session=True,
        )
    try:
        port = _logged(folder / "log", r"Connect server started at: \S+:(\d+)")
        ui = _logged(folder / "log", r"'SparkUI' on port (\d+)")
        yield Server(f"sc://127.0.0.1:{port}", f"http://127.0.0.1:{ui}")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def server(running: Server) -> str:
    return running.address


def tags(ui: str) -> set[str]:
    """Returns the tags of the server's jobs, from the REST API of its web UI."""
    (application,) = fetched(f"{ui}/api/v1/applications")
    jobs = fetched(f"{ui}/api/v1/applications/{application['id']}/jobs")
    return {tag for job in jobs for tag in job["jobTags"]}


def fetched(address: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(address, timeout=60) as answer:
        listed: list[dict[str, Any]] = json.load(answer)
    return listed


def _logged(log: Path, pattern: str) -> str:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline:
        started = re.search(pattern, log.read_text())
        if started:
            return started[1]
        time.sleep(0.1)
    raise AssertionError(log.read_text())


@pytest.mark.timeout(600)
def test_a_connect_server_has_the_same_verdict(
    running: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synthesize(Synthesis(folder=tmp_path / "made", rows=8_000, injection=Injection(each=2)))
    pq.write_table(reading.whole(tmp_path / "made"), tmp_path / "h.parquet", row_group_size=1_000)
    monkeypatch.chdir(tmp_path)
    history = Path("h.parquet")  # relative to this process, not to the server
    progress: list[Progress] = []
    asked = ("offset-order-inversion", "duplicate", "lost-write")
    in_process = analyze(history, anomalies=asked)

    def on_server(rows_per_partition: int | None) -> Analysis:
        return analyze_on_spark(
            history,
            master=running.address,
            anomalies=asked,
            watch=progress.append,
            rows_per_partition=rows_per_partition,
            shuffle_partitions=2,
        )

    assert on_server(None) == in_process
    assert on_server(3_000) == in_process
    assert sum(decision.count for decision in in_process.decisions) > 5
    stages = {one.stage for one in progress if one.total}
    assert len(stages) > 2
    tagged = tags(running.ui)
    assert all(any(tag.endswith(stage) for tag in tagged) for stage in stages)
    assert max(one.total or 0 for one in progress if one.done) > 1  # of tasks


@pytest.mark.timeout(600)
def test_a_connect_server_audits_log_directories(server: str) -> None:
    folders = [KAFKA / "log_dirs_unclean" / f"broker-{number}" for number in (1, 2, 3)]
    on_server, in_process = audit_on_spark(folders, master=server), audit(folders)
    assert on_server == in_process
    assert any(decision.count for decision in in_process.decisions)


@pytest.mark.timeout(600)
def test_a_file_that_workers_lack_is_reported(server: str, tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    with (
        session(server) as spark,
        pytest.raises(InputFault, match="gone: the cluster's workers do not find this file; put"),
    ):
        require_visible(spark, [str(tmp_path), gone])


# ---------------------------------------------------------------- without a server


def refused(master: str) -> str:
    with pytest.raises(InputFault) as fault, session(master):
        pass
    assert "\n" not in str(fault.value)
    return str(fault.value)


def test_a_server_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "CONNECT_TIMEOUT_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as another:  # does not speak gRPC
        master = f"sc://127.0.0.1:{another.getsockname()[1]}"
        assert refused(master).startswith(
            f"--master {master}: no Spark Connect server answered within 1 s; check host"
        )


@pytest.mark.parametrize("master", ["sc://", "sc://localhost:x", "sc://localhost/path"])
def test_an_invalid_address_is_reported(master: str) -> None:
    assert refused(master) == f"--master {master}: not an address; write sc://HOST:PORT"


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    message = refused("sc://127.0.0.1:1")
    assert re.search(
        r"needs packages that are not installed \(.*grpc.*\); run: pip install 'urteil", message
    )


def test_follow_does_not_work_over_spark_connect(tmp_path: Path) -> None:
    run, master = Run("analyze", 0), "sc://127.0.0.1:1"
    with (
        pytest.raises(InputFault, match="--follow does not work over Spark Connect"),
        followed(run, tmp_path, "spark", master, lambda: analyze(tmp_path)),
    ):
        pass
