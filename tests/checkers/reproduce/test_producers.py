"""The Java producer and the transactional producer that reproductions use.

The test of the Java producer starts no Java program. It starts a Python program that prints lines
in the format of the Java program.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from checkers.histories.analysis import analyze
from checkers.reproduce.actions import abort, begin, begin_commit, java_send, nothing, read
from checkers.reproduce.checks import committed, done, is_ended, partition, was_read
from checkers.reproduce.java_producer import JavaProducer, JavaSends
from checkers.reproduce.stage import Stage
from model.histories import Outcome, Send
from tests.checkers.reproduce.test_stage import create, take

ECHO = """
import sys
for number, line in enumerate(sys.stdin):
    value = line.strip()
    answer = "info\\tTimeoutException" if value == "lost" else f"ok\\t{number}"
    print(f"{value}\\t{answer}", flush=True)
"""


def test_each_record_ends_once_with_its_offset_or_its_error() -> None:
    ended: list[tuple[str, Outcome, int | None, str | None]] = []
    process = subprocess.Popen(
        [sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    producer = JavaProducer(process, lambda *end: ended.append(end))
    for value in ("a", "lost", "b"):
        producer.send(value)
    until = time.monotonic() + 10
    while len(ended) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    producer.close()

    assert ended == [
        ("a", "ok", 0, None),
        ("lost", "info", None, "TimeoutException"),
        ("b", "ok", 2, None),
    ]


def test_a_record_has_the_present_time_or_an_older_timestamp(stage: Stage) -> None:
    sent: list[tuple[str, int | None]] = []
    producer: Any = SimpleNamespace(
        send=lambda value, timestamp_ms: sent.append((value, timestamp_ms)), close=lambda: None
    )
    stage.java = producer
    before_ms = time.time_ns() // 1_000_000
    java_send("a")(stage)
    java_send("b", hours_old=48)(stage)

    (a, present), (b, old) = sent
    assert (a, present, b) == ("a", None, "b")
    assert old is not None
    assert 0 <= old + 48 * 3_600_000 - before_ms < 10_000


def test_the_java_program_gets_the_timestamp_after_the_value() -> None:
    code = "import sys; print(repr(sys.stdin.readline()), file=sys.stderr); sys.stdin.readline()"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    producer = JavaProducer(process, lambda *_: None)
    producer.send("a", 1_700_000_000_000)
    assert process.stderr is not None
    line = process.stderr.readline()
    producer.close()
    process.stderr.close()

    assert line == ("'a\\t1700000000000\\n'\n")


def test_records_that_are_sent_together_are_one_operation(stage: Stage, tmp_path: Path) -> None:
    """Records that are sent together are one operation, so a broker that reorders them is found.

    The operation has the records in the order in which they were sent.
    """
    history = stage.shared.history
    sends = JavaSends.begun(Send("t-0", "a"), stage.shared)
    sends.add(Send("t-0", "b"), history)
    sends.end("b", "ok", 0, None, history)
    sends.end("a", "ok", 1, None, history)

    found = analyze(tmp_path / "history")
    reordered = next(d for d in found.decisions if d.anomaly.id == "int-nonmonotonic-send")
    assert (history.operations, reordered.verdict) == (1, "violated")


def test_a_transaction_ends_as_its_application_knows_it(stage: Stage, tmp_path: Path) -> None:
    take(stage, create(2), partition(leader=1))
    assert take(stage, begin("a"), done).reached
    assert take(stage, begin_commit, committed, within_s=20).text == "committed"
    assert take(stage, begin("b"), done).reached
    assert not take(stage, nothing, committed, within_s=0).reached
    assert take(stage, abort, is_ended, within_s=20).text == "aborted"
    assert take(stage, read, was_read).reached

    found = analyze(tmp_path / "history")
    assert found.verdict == "holds"
