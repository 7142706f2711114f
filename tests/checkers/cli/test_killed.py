"""After a command was killed, the next command removes the temporary files of the killed one.

It also reports the killed run. Later commands do not report this run again.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from checkers.cli.verify import DEMO
from checkers.report.folder import RunFolder
from checkers.report.killed_runs import killed_runs
from checkers.run_files import EVENTS, RUNNING
from checkers.scratch import PREFIX, remove_abandoned, scratch, temporary_files
from tests.checkers.cli.conftest import Call

HOLDS = """
import sys, time
from pathlib import Path
from checkers.scratch import scratch
with scratch(Path(sys.argv[1])) as folder:
    (folder / "states").write_text("many")
    print(folder, flush=True)
    time.sleep(60)
"""


def abandoned(parent: Path) -> Path:
    """Starts a process that has a scratch folder, kills it, and returns the folder."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(parent)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        remove_abandoned(parent)
        assert (folder / "states").exists(), "the process lives"
        process.send_signal(signal.SIGKILL)
    return folder


def test_the_folder_of_a_killed_process_is_removed_by_the_next_one(tmp_path: Path) -> None:
    left = abandoned(tmp_path)
    assert left.exists()
    with scratch(tmp_path) as mine:
        assert list(tmp_path.iterdir()) == [mine]
    assert not list(tmp_path.iterdir())


def test_a_folder_that_urteil_did_not_create_stays(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    remove_abandoned(tmp_path)
    assert elsewhere.exists()
    assert (tmp_path / f"{PREFIX}link").is_symlink()


def test_temporary_files_are_in_one_folder_which_ends_with_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("TMPDIR", raising=False)
    with temporary_files():
        one = Path(tempfile.mkdtemp())
        assert one.parent.parent == tmp_path
        assert os.environ["TMPDIR"] == str(one.parent)
    assert not list(tmp_path.iterdir())
    assert tempfile.gettempdir() == str(tmp_path)
    assert "TMPDIR" not in os.environ


def test_a_missing_temporary_folder_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = str(tmp_path / "missing")
    monkeypatch.setattr(tempfile, "tempdir", missing)
    with temporary_files():
        assert tempfile.gettempdir() == missing


SCRATCH = "tmp/urteil-scratch-*"
LARGE = ("--set", "max_leader_epoch=2", "--set", "log_size=4", "--set", "max_records=4")
CHECK = ("check", "replication", *LARGE, "--engine", "compiled", "--memory", "1MB")
RELEASE = ("check", "--kafka", "4.3")
PROVE = ("prove", "replication-abstract", "--no-cache")
ANALYZE = ("analyze", str(DEMO))
RECORD = ("record", "--sends", "100000")
URTEIL = (sys.executable, "-c", "from checkers.cli.main import main; main()")


def killed(folder: Path, words: tuple[str, ...], wrote: str, text: bytes = b"") -> list[Path]:
    """Starts a command, and kills it as soon as a file whose path matches `wrote` contains `text`.

    Then waits until the processes that the command started have ended by themselves, and returns
    those that ran before the kill.
    """
    with subprocess.Popen([*URTEIL, *words], cwd=folder, stdout=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while not any(file.is_dir() or text in file.read_bytes() for file in folder.glob(wrote)):
            assert process.poll() is None, "the command ended before it was killed"
            assert time.monotonic() < until
            time.sleep(0.02)
        started = with_scratch(folder)
        process.send_signal(signal.SIGKILL)
    until = time.monotonic() + 60
    while with_scratch(folder):
        assert time.monotonic() < until, "a process stays after its parent was killed"
        time.sleep(0.02)
    return started


def with_scratch(folder: Path) -> list[Path]:
    """Returns the processes whose temporary files are in the scratch folder of a command."""
    scratch_of_command = f"TMPDIR={folder / 'tmp' / PREFIX}".encode()
    return [
        file.parent
        for file in Path("/proc").glob("[0-9]*/environ")
        if scratch_of_command in read(file)
    ]


def read(environ: Path) -> bytes:
    try:
        return environ.read_bytes()
    except OSError:  # it has ended, or is another user's
        return b""


def test_the_next_start_reports_killed_runs_and_their_histories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    killed(tmp_path, CHECK, f"{SCRATCH}/urteil-states-*/run-*")
    killed(tmp_path, RECORD, "runs/*/history/history.json")
    assert list(tmp_path.glob("tmp/*"))
    first, second = (call("check", "group-offsets", "--budget", "1k-states") for _ in range(2))
    assert first.stderr.count("this run was killed; ") == 1, "the check was reported by the record"
    assert "kept: a history (urteil analyze " in first.stderr
    assert "was killed" not in second.stderr
    assert not list(tmp_path.glob("tmp/*"))
    assert not list(tmp_path.glob("runs/*/running"))


def test_a_killed_search_proof_or_analysis_leaves_its_results_and_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The analysis is killed while Spark runs: Java and Python workers end by themselves."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    for words, wrote, text, kept in (
        (PROVE, "runs/*/events.ndjson", b'"command": "prove"', "it has no verdicts"),
        (
            RELEASE,
            "runs/*/events.ndjson",
            b'"property_decided"',
            r"kept: \d+ verdicts? \(urteil rep",
        ),
        (ANALYZE, f"{SCRATCH}/urteil-spark-*/local/blockmgr-*", b"", "it has no verdicts"),
    ):
        started = killed(tmp_path, words, wrote, text)
        (found,) = killed_runs(tmp_path / "runs")
        assert re.search(f": this run was killed; {kept}", found)
    assert started, "Java ran when the analysis was killed"
    assert list(tmp_path.glob(f"{SCRATCH}/urteil-spark-*"))
    with temporary_files():
        assert len(list(tmp_path.glob("tmp/*"))) == 1
    assert not list(tmp_path.glob("tmp/*"))


def test_a_killed_run_keeps_its_verdicts(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / RUNNING).touch()
    event = b'{"v": 2, "event": "property_decided"}\n'
    (folder / EVENTS).write_bytes(b'{"v": 2, "event": "run_started"}\n' + 2 * event + event[:-5])
    (found,) = killed_runs(tmp_path)
    assert found == f"{folder}: this run was killed; kept: 2 verdicts (urteil report {folder})"
    assert not list(killed_runs(tmp_path)), "each is reported once"


def test_without_locks_no_run_is_reported_as_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(opened: int, operation: int) -> None:
        del opened, operation
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    run = RunFolder.make(tmp_path, command=["urteil"], seed=0)
    assert not list(killed_runs(tmp_path))
    run.end()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_files():
        assert tempfile.gettempdir() == str(tmp_path)


def test_a_run_in_progress_is_not_reported_as_killed(tmp_path: Path) -> None:
    run = RunFolder.make(tmp_path, command=["urteil"], seed=0)
    assert not list(killed_runs(tmp_path))
    run.end()
    assert not list(killed_runs(tmp_path))
