"""The files of a cluster of Apache Kafka: jars, formatted storage, logging, and the watchdog."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checkers.systems.apache_kafka import jars, logging, storage, watchdog
from checkers.systems.system import SystemFailed
from model.faults import InputFault

META = "version=1\nnode.id=0\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAA\ncluster.id=c\n"


def formatted(folder: Path) -> Path:
    """Creates a folder with the files that Kafka's StorageTool writes for node 0."""
    folder.mkdir()
    (folder / storage.META).write_text(META)
    (folder / "bootstrap.checkpoint").write_bytes(b"features")
    return folder


def test_a_copy_of_formatted_storage_differs_in_the_node_and_the_directory(tmp_path: Path) -> None:
    first = formatted(tmp_path / "first")
    storage.copy_to(first, [(1, tmp_path / "one"), (2, tmp_path / "two")])

    one, two = ((tmp_path / name / storage.META).read_text() for name in ("one", "two"))
    assert "node.id=1\n" in one
    assert "node.id=2\n" in two
    assert "cluster.id=c\n" in one
    directories = {text.splitlines()[2] for text in (META, one, two)}
    assert len(directories) == 3
    assert all(len(line) == len("directory.id=") + 22 for line in directories)
    assert (tmp_path / "two" / "bootstrap.checkpoint").read_bytes() == b"features"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "INFO values:\\nException in main IllegalArgumentException: it is low\\n at kafka",
            "Exception in main IllegalArgumentException: it is low",
        ),
        ("Formatting\\nThe folder is formatted.\\n", "The folder is formatted."),
        ("", "no output"),
    ],
)
def test_the_error_of_the_tool_is_one_line(tmp_path: Path, said: str, reason: str) -> None:
    tool = ["sh", "-c", f"printf '{said}'; exit 1"]
    with pytest.raises(SystemFailed, match=f"correct the one that it names: {reason}$"):
        storage.format_first(tool, tmp_path / "server.properties", {})


def test_storage_of_an_old_version_has_no_directory_id(tmp_path: Path) -> None:
    first = formatted(tmp_path / "first")
    (first / storage.META).write_text("version=1\nnode.id=0\ncluster.id=c\n")
    storage.copy_to(first, [(3, tmp_path / "three")])
    assert (tmp_path / "three" / storage.META).read_text() == "version=1\nnode.id=3\ncluster.id=c\n"


def test_a_wiped_disk_is_still_formatted(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "disk")
    (folder / "orders-0").mkdir()
    (folder / "orders-0" / "00000000000000000000.log").write_bytes(b"records")
    (folder / "__cluster_metadata-0").mkdir()
    (folder / "replication-offset-checkpoint").write_text("0\n1\norders 0 5\n")
    storage.wipe(folder)
    kept = {"meta.properties", "bootstrap.checkpoint", "__cluster_metadata-0"}
    assert {entry.name for entry in folder.iterdir()} == kept


def test_an_unpacked_release_is_found_by_its_jar(tmp_path: Path) -> None:
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "kafka_2.13-3.9.1.jar").touch()
    found = jars.installed(tmp_path)
    assert (found.version, found.number) == ("3.9.1", (3, 9))
    assert found.classpath == f"{tmp_path}/libs/*"


def test_without_maven_the_error_names_the_other_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputFault, match="install Maven, or name an unpacked release with --kafka"):
        jars.download("4.3.0")


def test_maven_gives_the_reason_why_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maven = tmp_path / "mvn"
    maven.write_text("#!/bin/sh\necho '[INFO] scanning'; echo '[ERROR] no such version'; exit 1\n")
    maven.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(
        InputFault, match=r"cannot download Apache Kafka 9\.9\.9 \(\[ERROR\] no such"
    ):
        jars.download("9.9.9")
    assert not list((tmp_path / "cache" / "urteil" / "apache-kafka").iterdir())


def test_only_a_traced_cluster_writes_a_trace() -> None:
    assert "trace" not in logging.configuration(traced=False)
    traced = logging.configuration(traced=True)
    for logger, level in logging.TRACED.items():
        assert f".name = {logger}\n" in traced
        assert f".level = {level}\n" in traced


@pytest.mark.parametrize("traced", [False, True])
def test_every_cluster_logs_its_flushes(traced: bool) -> None:
    lines = logging.configuration(traced=traced).splitlines()
    (file,) = (line for line in lines if line.startswith("appender.flushes.fileName"))
    assert file.endswith("${sys:urteil.flush.file}")
    loggers = [line for line in lines if line.endswith(".appenderRef.flushes.ref = flushes")]
    assert len(loggers) == len(logging.FLUSHING)


def test_a_release_with_another_logger_does_not_log_its_flushes(tmp_path: Path) -> None:
    found = jars.Jars(version="3.9.1", folder=tmp_path)
    assert not found.logs_flushes
    (tmp_path / "log4j-core-2.24.3.jar").touch()
    assert found.logs_flushes


STARTS = """
import os, signal
from checkers.systems.apache_kafka.watched import start_watchdog, start_watched
with open(os.devnull, "wb") as output:
    started = start_watched(start_watchdog(), ["sleep", "600"], output)
print(started.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_ends_if_its_parent_is_killed_right_after_the_start() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STARTS], stdout=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    process = Path(f"/proc/{int(done.stdout)}/cmdline")
    while is_running(process):
        time.sleep(0.02)


def is_running(cmdline: Path) -> bool:
    try:
        return cmdline.read_bytes() != b""  # that of a process that has ended is empty
    except OSError:
        return False


@pytest.mark.parametrize("said", ["+{}\n", "+{}\n-{}\n"])
def test_the_watchdog_kills_the_running_processes_of_a_parent_that_has_ended(said: str) -> None:
    """The watchdog kills the listed processes, except those that are listed as ended.

    The process id of an ended process may belong to another process now.
    """
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        script = [sys.executable, "-I", "-S", str(watchdog.__file__)]
        lines = said.format(sleeper.pid, sleeper.pid)
        subprocess.run(script, input=lines.encode(), check=True)
        if "-" in said:
            time.sleep(0.2)
            assert sleeper.poll() is None
            sleeper.kill()
        assert sleeper.wait(10) == -9
