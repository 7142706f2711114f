"""An analysis on a Spark Connect server has the same verdicts as one in this process."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    home = java.launcher_home(java.choose(), folder / "java")
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
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
                "PYSPARK_PYTHON": sys.executable,
            },
            start_new_session=True,
        )
    try:
        yield f"sc://127.0.0.1:{_port(folder / 'log')}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _port(log: Path) -> str:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline:
        started = re.search(r"Connect server started at: \S+:(\d+)", log.read_text())
        if started:
            return started[1]
        time.sleep(0.1)
    raise AssertionError(log.read_text())


@pytest.mark.timeout(600)
def test_a_connect_server_has_the_same_verdict(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
            master=server,
            anomalies=asked,
            watch=progress.append,
            rows_per_partition=rows_per_partition,
            shuffle_partitions=2,
        )

    assert on_server(None) == in_process
    assert on_server(3_000) == in_process
    assert sum(decision.count for decision in in_process.decisions) > 5
    stages = [one.stage for one in progress if one.stage.startswith("spark: ")]
    assert len(set(stages)) > 2
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
