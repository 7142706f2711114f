"""`urteil check --resume` goes on with a search that was killed or interrupted, or whose budget was
spent.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkers.cli import checkpointing
from checkers.explicit.checkpoint import Checkpoint, Segment
from checkers.explicit.compiled import library
from checkers.run_files import CHECKPOINT, CHECKPOINT_LIST, RUNNING
from checkers.scratch import locked
from tests.checkers.cli.conftest import Call
from tests.checkers.cli.test_interrupt import at_progress

URTEIL = (sys.executable, "-c", "from checkers.cli.main import main; main()")
SCOPE = ("--set", "log_size=4", "--set", "max_records=4")
CLAIMS = ("--property", "*isr*", "--property", "*leader*")
CHECK = ("check", "replication", "--variant", "kip-101", *SCOPE, *CLAIMS)
OFTEN = ("--checkpoint", "0.001")
SMALL = ("check", "replication", "--variant", "kip-101", "--property", "*isr*")
OF_A_RUN = re.compile(r"\d+\.\d+ s|runs/[-\dT]+-[0-9a-f]{4}|.*urteil check.*")  # times, folders


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*URTEIL, *words, "--json"], cwd=folder, capture_output=True, text=True, check=False
    )


def stopped(folder: Path, by: signal.Signals, states: int, *words: str) -> tuple[int, str]:
    """Starts a command, and ends it by a signal when its checkpoint has more than `states` states.

    Returns its exit code, and the text on stderr.
    """
    before = set(folder.glob("runs/*"))
    with subprocess.Popen(
        [*URTEIL, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        while not any(enough > states for enough in kept_states(folder, before)):
            assert process.poll() is None, "the command ended before the signal"
            time.sleep(0.005)
        process.send_signal(by)
        _, stderr = process.communicate(timeout=60)
    return process.returncode, stderr


def kept_states(folder: Path, before: set[Path]) -> Iterator[int]:
    for file in folder.glob(f"runs/*/{CHECKPOINT}/{CHECKPOINT_LIST}"):
        if file.parent.parent not in before:
            yield json.loads(file.read_text())["checkpoint"]["facts"]["states"]


def results(text: str, folder: Path) -> list[Any]:
    """Returns what a check decided, with its counterexamples, without times and run folders."""
    events = [json.loads(line) for line in text.splitlines()]
    name = events[0]["folder"]
    files = {
        file.name: OF_A_RUN.sub("*", file.read_text())
        for file in (folder / name).iterdir()
        if file.suffix in (".txt", ".svg") or file.name.endswith(".itf.json")
    }
    decided = [
        {**event, "seconds": 0, "text": OF_A_RUN.sub("*", event.get("text", ""))}
        for event in events[1:]
        if event.get("metric") != "kept"
    ]
    return [files, *decided]


def test_a_search_that_was_killed_again_and_again_has_the_result_of_one_that_was_not(
    tmp_path: Path,
) -> None:
    whole = run(tmp_path, *CHECK)
    assert whole.returncode == 1
    code, _ = stopped(tmp_path, signal.SIGKILL, 0, *CHECK, *OFTEN)
    assert code == -signal.SIGKILL
    code, stderr = stopped(tmp_path, signal.SIGKILL, 100_000, *CHECK, "--resume", "last")
    assert code == -signal.SIGKILL
    command = "urteil check replication --variant kip-101 "
    assert f"this run was killed; kept: a checkpoint ({command}" in stderr
    resumed = ("--resume", "last", "--threads", "2")
    code, stderr = stopped(tmp_path, signal.SIGTERM, 200_000, *CHECK, *resumed)
    assert code == 130
    assert f"; go on with {command}" in stderr
    ended = run(tmp_path, *CHECK, "--resume", "last", "--memory", "20MB", "--checkpoint", "1")
    kept = json.loads(ended.stdout.splitlines()[1])
    assert (kept["metric"], kept["unit"]) == ("kept", "states")
    assert kept["value"] > 200_000
    sentence = (
        rf"kept {kept['value']:,} states to depth \d+ of the run of [-\d]{{10}} [:\d]{{5}} UTC"
    )
    assert re.match(f"{sentence}; 3 claims still hold, 1 was violated\n", ended.stderr)
    assert ended.returncode == 1
    assert results(ended.stdout, tmp_path) == results(whole.stdout, tmp_path)
    folder = tmp_path / json.loads(ended.stdout.splitlines()[0])["folder"]
    assert not (folder / CHECKPOINT).exists(), "nothing is left to decide"


def test_a_spent_budget_is_no_loss(call: Call, tmp_path: Path) -> None:
    spent = call(*SMALL, "--checkpoint", "10", "--budget", "10k-states")
    started = spent.events[0]["folder"]
    first = call(*SMALL, "--resume", started, "--budget", "30k-states")
    assert first.verdicts() == {"weak_isr": "undecided", "strong_isr": "violated"}
    assert first.named("measured")[0]["value"] > 10_000
    assert f"--resume {first.events[0]['folder']}, and a --budget if it is spent" in first.stderr
    whole, ended = call(*SMALL, "--engine", "compiled"), call(*SMALL, "--resume", "last")
    assert results(ended.stdout, tmp_path) == results(whole.stdout, tmp_path)


def test_ctrl_c_writes_a_checkpoint_and_a_search_without_the_option_writes_none(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed = at_progress(monkeypatch, " states, depth 9")
    for options in ((), ("--checkpoint", "10")):
        output = call(*SMALL, "--engine", "compiled", *options)
        assert output.exit_code == 130
        folder = tmp_path / output.events[0]["folder"]
        assert (folder / CHECKPOINT).exists() == bool(options)
    assert len(pressed) == 2
    kept = Checkpoint.read(folder / CHECKPOINT)
    assert kept.facts["states"] == output.named("property_decided")[0]["distinct_states"]
    listed = call("runs").named("listed")
    assert ["can be resumed" in one["statement"] for one in listed] == [False, True]


def test_a_full_disk_does_not_end_the_search(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed = at_progress(monkeypatch, " states, depth 9")
    call(*SMALL, "--checkpoint", "10")
    assert pressed
    monkeypatch.undo()
    earlier = max(tmp_path.glob("runs/*/checkpoint"))
    states = Checkpoint.read(earlier).facts["states"]

    def write(file: Path, *_: object) -> None:
        file.write_bytes(b"the first part")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Segment, "write", write)
    output = call(*SMALL, "--resume", "last", "--checkpoint", "0.0001")
    assert "no checkpoint was written to " in output.stderr
    assert "No space left on device; the one of 20" in output.stderr
    assert output.verdicts() == {"weak_isr": "holds", "strong_isr": "violated"}
    assert Checkpoint.read(earlier).facts["states"] == states


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--checkpoint", "1", "--engine", "numpy"), "only the engine compiled has checkpoints"),
        (("--resume", "last", "--engine", "python"), "only the engine compiled has checkpoints"),
        (("--checkpoint", "1", "--engine", "spark"), "only the engine compiled has checkpoints"),
        (("--checkpoint", "1", "--symmetry"), "a search with symmetry has no checkpoints"),
        (("--checkpoint", "1", "--simulate"), "random walks have no checkpoints; leave out one"),
        (("--checkpoint", "1", "--kafka", "4.3"), "with several searches has no checkpoints"),
        (("--resume", "last"), "last: there are 0 runs with a checkpoint; see urteil runs, or "),
        (("--resume", "c3f1"), "check: no run 'c3f1'"),
    ],
)
def test_what_cannot_be_resumed_is_refused(words: tuple[str, ...], why: str, call: Call) -> None:
    output = call("check", "replication", *words)
    assert output.exit_code == 2
    assert why in output.stderr
    assert output.stderr.count("\n") == 1


def test_another_search_is_refused_with_the_command_of_the_first(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = (*SMALL, "--checkpoint", "10", "--budget", "10k-states")
    monkeypatch.setattr("sys.argv", ["urteil", *first])
    call(*first)
    for words, why in (
        (("check", "group-offsets"), "the spec of its search: replication, of this one: group-off"),
        (SMALL[:2], "the variant of its search: kip-101, of this one: fetch-divergence; "),
        ((*SMALL, "--set", "replicas=2"), "as_published=false, of this one: replicas=2, log_size"),
        (SMALL[:4], "the claims of its search: weak_isr, strong_isr, of this one: weak_isr, stro"),
        ((*SMALL, "--coverage"), "the coverage of its search: false, of this one: true; "),
        ((*SMALL, "--fingerprints"), "the fingerprints of its search: false, of this one: true; "),
    ):
        output = call(*words, "--resume", "last")
        assert output.exit_code == 2
        assert why in output.stderr
        assert "; repeat its command, urteil check replication --variant kip-101" in output.stderr
        assert len(list(tmp_path.glob("runs/*/run.json"))) == 1, "the refused run has no folder"


def test_other_code_or_another_release_is_refused(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(*SMALL, "--checkpoint", "10", "--budget", "10k-states")
    with monkeypatch.context() as patch:
        patch.setattr(checkpointing, "version", lambda _: "9.9")
        assert "this is 9.9; use " in call(*SMALL, "--resume", "last").stderr
    monkeypatch.setattr(library, "WRITTEN", (*library.WRITTEN, "__init__.py"))
    output = call(*SMALL, "--resume", "last")
    assert output.exit_code == 2
    assert "the spec or the C code of Urteil has changed since; explore again" in output.stderr


def test_a_run_that_has_not_ended_is_refused(call: Call, tmp_path: Path) -> None:
    call(*SMALL, "--checkpoint", "10", "--budget", "10k-states")
    (folder,) = tmp_path.glob("runs/*T*")
    (folder / RUNNING).touch()
    opened = locked(folder / RUNNING)
    assert opened is not None
    assert "still runs; end it first, by Ctrl-C" in call(*SMALL, "--resume", str(folder)).stderr
    os.close(opened)
    assert call(*SMALL, "--resume", str(folder)).exit_code == 1


def test_a_damaged_checkpoint_is_refused(call: Call, tmp_path: Path) -> None:
    call(*SMALL, "--checkpoint", "10", "--budget", "10k-states")
    (file,) = tmp_path.glob("runs/*/checkpoint/*.bin")
    file.write_bytes(file.read_bytes()[:-1])
    output = call(*SMALL, "--resume", "last")
    assert output.exit_code == 2
    assert re.search(r"bin: [\d,]+ bytes instead of [\d,]+; explore again without", output.stderr)
