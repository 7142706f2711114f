"""`urteil analyze --follow` prints changed verdicts while a history grows, then the final verdicts.

A second process analyzes the history while the test writes it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from checkers.histories.analysis import analyze
from checkers.record.store import Described, HistoryWriter
from model.histories import Poll, Send

DESCRIBED: Final = Described(workload="test", clients={}, settings={}, seed=0)
URTEIL: Final = [sys.executable, "-c", "from checkers.cli.main import main; main()"]


def sent_and_read(history: HistoryWriter, numbers: range) -> None:
    for number in numbers:
        sent = Send("k-0", f"v{number}", number)
        history.complete(history.invoke(0, "send", (Send("k-0", f"v{number}"),)), "ok", (sent,))
        polled = Poll("k-0", number, f"v{number}")
        history.complete(history.invoke(1, "poll"), "ok", (polled,))


def another_value(history: HistoryWriter, offset: int) -> None:
    history.complete(history.invoke(2, "poll"), "ok", (Poll("k-0", offset, "another"),))


@contextmanager
def following(history: Path) -> Iterator[tuple[subprocess.Popen[str], Iterator[dict[str, Any]]]]:
    with subprocess.Popen(
        [*URTEIL, "analyze", str(history), "--follow", "--json"],
        cwd=history.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        limit = threading.Timer(240, process.kill)
        limit.start()
        try:
            yield process, map(json.loads, process.stdout)
        finally:
            limit.cancel()
            process.kill()


def evidence(process: subprocess.Popen[str], events: Iterator[dict[str, Any]]) -> str:
    for event in events:
        if event["event"] == "evidence":
            return str(event["text"])
    assert process.stderr is not None
    raise AssertionError(f"it ended with {process.wait()}: {process.stderr.read()}")


def counts(events: Iterator[dict[str, Any]]) -> dict[str, int]:
    return {e["anomaly"]: e["count"] for e in events if e["event"] == "anomaly_decided"}


@pytest.mark.timeout(300)
def test_a_verdict_is_kept_until_the_recording_is_finished(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with ExitStack() as recording:
        history = recording.enter_context(HistoryWriter(folder, DESCRIBED, rows_per_part=50))
        sent_and_read(history, range(60))
        with following(folder) as (process, events):
            assert "✗" not in evidence(process, events)
            another_value(history, 7)
            sent_and_read(history, range(60, 120))  # parts enough for the stream
            assert "✗ inconsistent-offsets" in evidence(process, events)
            recording.close()
            rest = list(events)
            assert process.wait() == 1
            assert process.stderr is not None
            assert "Traceback" not in process.stderr.read()
    plain = {decision.anomaly.id: decision.count for decision in analyze(folder).decisions}
    assert counts(iter(rest)) == plain
    assert plain["inconsistent-offsets"] == 1


@pytest.mark.timeout(300)
def test_an_interrupt_ends_following_with_a_last_analysis(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with HistoryWriter(folder, DESCRIBED, rows_per_part=50) as history:
        sent_and_read(history, range(60))
        history.invoke(3, "send", (Send("k-0", "open"),))
        with following(folder) as (process, events):
            assert "✗" not in evidence(process, events)
            another_value(history, 7)
            os.killpg(process.pid, signal.SIGINT)
            rest = list(events)
            assert process.wait() == 1
            assert process.stderr is not None
            printed = process.stderr.read()
            assert "a last analysis of what was recorded so far" in printed
            assert "Traceback" not in printed
        plain = {decision.anomaly.id: decision.count for decision in analyze(folder).decisions}
        assert counts(iter(rest)) == plain
        assert plain["inconsistent-offsets"] == 1


def test_only_a_recording_is_followed_and_only_by_spark(tmp_path: Path) -> None:
    (tmp_path / "history.edn").write_text("")
    for words, why in (
        (["history.edn"], "name the one that `urteil record` writes"),
        ([".", "--engine", "local"], "--follow works with Spark only"),
        (["."], "the folder has no history.json"),
    ):
        done = subprocess.run(
            [*URTEIL, "analyze", *words, "--follow"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert why in done.stderr
