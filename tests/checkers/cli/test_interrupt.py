"""Ctrl-C ends a command with one exit code and partial results, and leaves no process running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checkers.cli.run import Run
from checkers.demo import __file__ as demo
from checkers.explicit.exploration import Discovery
from checkers.explicit.lassos import Judge
from model.language.actions import Liveness
from tests.checkers.cli.test_check_behaviours import LEASE

HISTORY = str(Path(demo).with_name("three-anomalies.edn"))
LARGE = ("--set", "max_leader_epoch=2", "--set", "log_size=4", "--set", "max_records=4")


@dataclass(frozen=True, slots=True)
class Ended:
    """The output of an interrupted command, and the processes that it left running."""

    exit_code: int
    events: list[dict[str, Any]]
    stderr: str
    left: list[str]


def interrupted(folder: Path, *words: str, after_s: float, wrote: str = "run.json") -> Ended:
    """Runs a command and sends Ctrl-C to all of its processes, as a terminal does.

    Ctrl-C comes `after_s` seconds after the file `wrote` has appeared in the run folder.
    """
    call = [sys.executable, "-c", "from checkers.cli.main import main; main()", *words, "--json"]
    with subprocess.Popen(
        call,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        while process.poll() is None and not list(folder.glob(f"runs/*/{wrote}")):
            time.sleep(0.05)
        time.sleep(after_s)
        os.killpg(process.pid, signal.SIGINT)
        try:
            rest, stderr = process.communicate(timeout=60)
            left = alive(process.pid)
        finally:
            with suppress(ProcessLookupError):  # no process is left, as it should be
                os.killpg(process.pid, signal.SIGKILL)
        events = [json.loads(line) for line in [first, *rest.splitlines()]]
        return Ended(process.returncode, events, stderr, left)


def alive(session: int) -> list[str]:
    shown = subprocess.run(
        ["ps", "-eo", "sid,stat,args"], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in shown.stdout.splitlines()]
    return [args for sid, stat, args in rows if sid == str(session) and stat[0] != "Z"]


@pytest.mark.parametrize(
    ("words", "after_s"),
    [
        (["check", "replication", *LARGE], 2.0),
        (["prove", "replication-abstract", "--no-cache"], 1.0),
        (["test", "replication", "--runs", "5000"], 2.0),
        (["record", "--sends", "100000"], 2.0),
        (["verify", "--only", "suite"], 2.0),
        (["analyze", HISTORY], 0.5),  # before there is a Java
        (["analyze", HISTORY], 2.0),  # while it starts
        (["analyze", HISTORY], 5.0),  # while it works
    ],
)
def test_an_interrupt_ends_a_command_with_its_last_event(
    words: list[str], after_s: float, tmp_path: Path
) -> None:
    ended = interrupted(tmp_path, *words, after_s=after_s)
    assert ended.exit_code == 130
    assert ended.events[-1].items() >= {"v": 2, "event": "run_finished", "exit_code": 130}.items()
    assert ended.stderr.splitlines()[-1].startswith("interrupted; partial results are in runs/")
    assert "Traceback" not in ended.stderr
    assert ended.left == []
    kept = (tmp_path / ended.events[0]["folder"] / "events.ndjson").read_text().splitlines()
    assert [json.loads(line) for line in kept] == ended.events


def test_an_interrupted_exploration_reports_its_progress(call: Any, tmp_path: Path) -> None:
    words = ("check", "replication", *LARGE, "--engine", "compiled", "--property", "weak_isr")
    # Compiles it, which takes long on a busy machine. A smaller budget would compile other code.
    call(*words, "--budget", "301k-states")
    for after_s in (3.0, 6.0, 12.0, 24.0):  # a busy machine starts an exploration late
        (folder := tmp_path / f"after-{after_s}").mkdir()
        ended = interrupted(folder, *words, "--budget", "60s", after_s=after_s)
        (decided,) = [e for e in ended.events if e["event"] == "property_decided"]
        assert (decided["verdict"], decided["reason"]) == ("undecided", "interrupted")
        if decided["distinct_states"]:
            return
    pytest.fail("an exploration interrupted after 24 s reports no state")


TWO_CLAIMS = f"""{LEASE.replace('@action(fair="weak")', "@action")}
    @liveness
    def has_many_holders(s, c: Client) -> Temporal:
        return always_eventually(s.holder == c)
"""
ENGINES = (["compiled"], ["compiled", "--threads", "2"], ["python"])


@pytest.mark.parametrize("engine", ENGINES, ids=" ".join)
def test_an_interrupted_check_of_liveness_keeps_the_verdicts_before(
    engine: list[str], call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide = Judge.verdict

    def press_ctrl_c(judge: Judge, claim: Liveness) -> Discovery:
        if claim.name == "has_many_holders":
            signal.raise_signal(signal.SIGINT)
        return decide(judge, claim)

    monkeypatch.setattr(Judge, "verdict", press_ctrl_c)
    output = checked(tmp_path, call, *engine)
    assert output.verdicts() == {
        "terms_grow": "violated",
        "is_released": "violated",
        "has_many_holders": "undecided",
    }
    assert output.named("property_decided")[-1]["reason"] == "interrupted"
    assert len(output.named("evidence")) == 2
    kept = (tmp_path / output.events[0]["folder"] / "events.ndjson").read_text().splitlines()
    assert [json.loads(line) for line in kept] == output.events


def test_an_interrupted_second_search_keeps_the_verdicts_of_the_first(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed = at_progress(monkeypatch, ": liveness: 1 states")
    output = checked(tmp_path, call, "compiled", "--threads", "2")
    assert pressed
    assert output.verdicts() == {
        "terms_grow": "violated",
        "is_released": "undecided",
        "has_many_holders": "undecided",
    }


def test_an_interrupted_search_for_a_real_run_ends_a_proof(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed = at_progress(monkeypatch, "transactions-abstract v1: 1 states, depth 1")
    output = call("prove", "transactions-abstract", "--variant", "v1")
    assert pressed
    assert output.exit_code == 130
    assert output.verdicts()["faithful"] == "undecided"
    assert output.stderr.splitlines()[-1].startswith("interrupted; partial results are in ")


def checked(folder: Path, call: Any, *engine: str) -> Any:
    """Runs `urteil check` on a spec of which a step breaks a property. The command must end by
    Ctrl-C.
    """
    spec = folder / "lease.py"
    spec.write_text(TWO_CLAIMS.replace("s.term < after.term)", "after.term < s.term)"))
    output = call("check", str(spec), "--engine", *engine)
    assert output.exit_code == 130
    assert output.stderr.splitlines()[-1].startswith("interrupted; partial results are in ")
    return output


def at_progress(monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    """Presses Ctrl-C when a command displays progress with this text. Returns the progress that was
    displayed at these moments.
    """
    show, pressed = Run.progress, list[str]()

    def press_ctrl_c(run: Run, progress: Any) -> None:
        if text in str(progress):
            pressed.append(str(progress))
            signal.raise_signal(signal.SIGINT)
        show(run, progress)

    monkeypatch.setattr(Run, "progress", press_ctrl_c)
    return pressed


def test_an_interrupted_analysis_leaves_every_anomaly_undecided(tmp_path: Path) -> None:
    ended = interrupted(tmp_path, "analyze", HISTORY, "--anomaly", "duplicate", after_s=2.5)
    (decided,) = [e for e in ended.events if e["event"] == "anomaly_decided"]
    assert (decided["verdict"], decided["reason"]) == ("undecided", "interrupted")


def test_an_interrupted_recording_can_be_analysed(call: Any, tmp_path: Path) -> None:
    ended = interrupted(
        tmp_path, "record", "--sends", "100000", after_s=1.0, wrote="history/history.json"
    )
    history = tmp_path / ended.events[0]["folder"] / "history"
    output = call("analyze", str(history), "--engine", "local")
    assert output.exit_code == 0
    decided = [e for e in output.named("anomaly_decided") if e["verdict"] == "violated"]
    # A write may still be unread when the readers stop; this depends on timing.
    assert {(e["anomaly"], e["permitted"], e["reason"]) for e in decided} <= {
        ("unseen", True, "the readers did not read every log to its end")
    }
