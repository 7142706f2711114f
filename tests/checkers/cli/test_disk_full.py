"""A full disk ends a command with one line and exit code 2, and is not reported as our bug."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from checkers.disk_full import disk_full
from checkers.events import Event, PropertyDecided, RunFinished, RunStarted
from checkers.report.folder import RunFolder

LARGE = ("--set", "max_leader_epoch=2", "--set", "log_size=4", "--set", "max_records=4")
CHECK = ("check", "replication", *LARGE, "--engine", "compiled", "--memory", "1MB")
URTEIL = (sys.executable, "-c", "from checkers.cli.main import main; main()")


class Usage(NamedTuple):
    free: int


def full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


def test_a_file_that_cannot_grow_ends_the_command_with_one_line(tmp_path: Path) -> None:
    limit = 100_000
    # The compiler runs first, without a limit. Else an empty cache would be the failure.
    # A smaller budget would compile other code (`checkers.explicit.compiled.library.SMALL_SEARCH`).
    subprocess.run([*URTEIL, *CHECK, "--budget", "301k-states"], cwd=tmp_path, capture_output=True)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    ended = subprocess.run(
        [*URTEIL, *CHECK, "--json"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        preexec_fn=limited,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    why = "urteil check: a file: File too large; free space, or name other folders: --out"
    assert why in ended.stderr
    last = json.loads(ended.stdout.splitlines()[-1])
    assert (last["event"], last["exit_code"]) == ("run_finished", 2)
    assert not list(tmp_path.glob("urteil-scratch-*"))


@pytest.mark.parametrize("event", [RunStarted, PropertyDecided, RunFinished])
def test_a_disk_that_fills_up_at_any_event_is_not_reported_as_a_bug(
    event: type[Event], call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = RunFolder.__call__

    def write(folder: RunFolder, some: Any) -> None:
        if isinstance(some, event):
            raise full()
        writes(folder, some)

    monkeypatch.setattr(RunFolder, "__call__", write)
    output = call("check", "group-offsets", "--budget", "1k-states")
    assert output.exit_code == 2
    assert "No space left on device; free space" in output.stderr


def test_the_error_names_the_file_or_the_folders_without_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = OSError(errno.ENOSPC, "No space left on device", "runs/one/events.ndjson")
    assert str(disk_full(named, [])).startswith("runs/one/events.ndjson: No space left")
    free = {tmp_path: 0, Path("/"): 1 << 30}
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(free[folder]))
    assert str(disk_full(full(), free)).startswith(f"{tmp_path}: No space left")


def test_an_error_caused_by_a_full_disk_counts_and_another_one_does_not() -> None:
    caused = RuntimeError("a task failed")
    caused.__cause__ = full()
    assert disk_full(caused, []) is not None
    assert disk_full(OSError(errno.EIO, "Input/output error"), []) is None
    assert disk_full(ValueError("no disk"), []) is None
