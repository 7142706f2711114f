"""An analysis survives the death of one of the two workers of a standalone Spark cluster.

Master and workers come with pyspark; each is a Java process on this machine. Each worker has a
mount namespace in which the folder of the history and the driver's folder for temporary files are
empty. This needs root.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest

from benchmarks.analyze.injection import Injection
from benchmarks.analyze.synthesis import Synthesis, synthesize
from checkers import java
from checkers.histories.analysis import analyze
from checkers.histories.io import reading
from checkers.progress import Progress
from checkers.spark.run import analyze_on_spark
from checkers.spark.session import session

SPARK = Path(pyspark.__file__).parent
STARTS_WITHIN_S = 180.0  # on a busy machine


@dataclass(slots=True)
class Cluster:
    """A standalone Spark master and its workers; each runs in its own process group."""

    folder: Path
    home: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, what: str, *words: str, hidden: Sequence[Path] = ()) -> str:
        log = self.folder / f"{name}.log"
        with log.open("wb") as out:
            self.running[name] = subprocess.Popen(
                [
                    *(without(hidden) if hidden else ()),  # replaces itself by the command
                    str(SPARK / "bin" / "spark-class"),
                    f"org.apache.spark.deploy.{what}",
                    *words,
                ],
                stdout=out,
                stderr=out,
                env={**os.environ, "JAVA_HOME": str(self.home), "SPARK_HOME": str(SPARK)},
                start_new_session=True,
            )
        deadline = time.monotonic() + STARTS_WITHIN_S
        while time.monotonic() < deadline:
            up = re.search(r"spark://\S+:\d+|Successfully registered", log.read_text())
            if up and (what.startswith("master") or up[0].startswith("Success")):
                return up[0]
            time.sleep(0.1)
        raise AssertionError(log.read_text())

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def files(self, name: str, folder: Path) -> list[str]:
        """Returns the names of the files that a process sees in a folder."""
        return sorted(os.listdir(f"/proc/{self.running[name].pid}/root{folder}"))


def without(folders: Sequence[Path]) -> tuple[str, ...]:
    """Returns words to put before a command, so that `folders` are empty for this command: an empty
    file system is mounted over each.
    """
    mounts = [f"mount -t tmpfs none {shlex.quote(str(folder))}" for folder in folders]
    return ("unshare", "--mount", "sh", "-c", " && ".join([*mounts, 'exec "$@"']), "sh")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path, java.launcher_home(java.choose(), tmp_path / "java"))
    yield made
    for name in [*made.running]:
        made.kill(name)


@pytest.mark.timeout(600)  # six Javas start
def test_a_worker_that_dies_changes_no_verdict(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "seen by the driver" / "history.parquet"
    temporary = tmp_path / "temporary files of the driver"
    hidden = (history.parent, temporary)
    for folder in hidden:
        folder.mkdir()
    tried = subprocess.run([*without(hidden), "true"], check=False, capture_output=True, text=True)
    if tried.returncode:
        refused = f"no mount namespace, so workers see the driver's files: {tried.stderr.strip()}"
        assert os.geteuid() or not os.environ.get("CI"), refused
        pytest.skip(refused)
    here = ("--host", "127.0.0.1", "--webui-port", "0")
    master = cluster.start("master", "master.Master", *here, "--port", "0")
    for name in ("first", "second"):
        share = ("--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / name))
        cluster.start(name, "worker.Worker", *here, *share, master, hidden=hidden)
    synthesize(Synthesis(folder=tmp_path / "made", rows=20_000, injection=Injection(each=2)))
    pq.write_table(reading.whole(tmp_path / "made"), history, row_group_size=2_500)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("TMPDIR", str(temporary))  # of the driver: the workers have started
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    stages: list[str] = []
    workers: list[int] = []
    seen_by_driver: list[str] = []
    seen_by_workers: list[str] = []

    def watch(progress: Progress) -> None:
        if progress.total and progress.done and not stages:
            workers.append(executors())
            for folder in hidden:
                seen_by_driver.extend(sorted(os.listdir(folder)))
                seen_by_workers.extend(cluster.files("first", folder))
            cluster.kill("first")
        if workers:
            stages.append(progress.stage)

    with session(master) as spark:

        def executors() -> int:
            return int(spark._jsc.sc().getExecutorMemoryStatus().size()) - 1  # not the driver

        found = analyze_on_spark(
            history, rows_per_partition=2_500, shuffle_partitions=4, watch=watch
        )
        workers.append(executors())

    assert found == analyze(history)
    assert sum(decision.count for decision in found.decisions) > 20
    assert workers == [2, 1]
    assert history.name in seen_by_driver
    assert any(name.startswith("urteil-") for name in seen_by_driver)  # its temporary files
    assert seen_by_workers == []
    assert len(set(stages)) > 2  # most stages ran after the worker died
