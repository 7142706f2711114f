"""Recordings of real clients on the reference broker, with and without faults, bugs and kills."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkers.client_config import ClientConfig
from checkers.histories.io.assumptions import assumptions_of
from checkers.histories.io.recorded import METADATA, metadata, operations
from checkers.record import reading, sending
from checkers.record.clients import UnreachableCluster
from checkers.record.options import RecordOptions
from checkers.record.recording import RecordResult, record
from model.faults import InputFault
from model.histories import Assigned, EndOffset, History, Poll, Send
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.catalogue import CATALOGUE
from reference_impl.node.bugs import bugs_named
from reference_impl.wire.faults.reading import parsed
from reference_impl.wire.server.applied_log import applied
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving

EVERY_SIXTH = (parsed("drop-response:every=6"),)


def recorded(
    folder: Path, serve: ServeOptions, *, sends: int = 300, **options: Any
) -> tuple[RecordResult, History]:
    log = folder / "applied.ndjson"
    with serving(replace(serve, applied_log=log)) as cluster:
        result = record(
            RecordOptions(
                folder=folder / "history",
                bootstrap_servers=cluster.bootstrap_servers,
                broker_log=log,
                sends=sends,
                **options,
            )
        )
    return result, operations(folder / "history")


def found(history: History) -> Counter[str]:
    assert not any(assumption.find(history) for assumption in ASSUMPTIONS)
    return +Counter({anomaly.id: len(anomaly.find(history)) for anomaly in CATALOGUE})


def test_a_cluster_that_drops_responses_has_no_anomaly_and_twenty_unanswered_sends(
    tmp_path: Path,
) -> None:
    result, history = recorded(tmp_path, ServeOptions(faults=EVERY_SIXTH))

    assert result.outcomes["send", "ok"] == 300
    assert result.unread == ()
    assert result.applied_but_unanswered is not None
    assert result.applied_but_unanswered >= 20
    assert applied(tmp_path / "applied.ndjson") == 300
    assert found(history) == {}

    assert result.operations == len(history) == sum(result.outcomes.values())
    sent = {micro.value for op in history for micro in op.did if isinstance(micro, Send)}
    polled = {micro.value for op in history for micro in op.did if isinstance(micro, Poll)}
    assert sent == polled
    assert len(sent) == 300
    assert {op.f for op in history} == {"send", "poll", "assign", "end_offset", "start_offset"}
    last = max(op.process for op in history if op.f == "end_offset")
    ends = [m for op in history if op.process == last for m in op.did if isinstance(m, EndOffset)]
    assert sum(end.offset for end in ends) == 300

    kept = metadata(tmp_path / "history")
    assert kept["finished"] is True
    assert kept["settings"]["topic"] == result.topic
    assert set(kept["clients"]) == {"confluent-kafka", "librdkafka"}


@pytest.mark.parametrize(
    ("bug", "shown"),
    [
        ("no-dedup", "duplicate"),
        ("stale-end-offset", "stale-end-offset"),
        ("zero-offset-ack", "inconsistent-offsets"),
        ("reordered-ack-offset", "offset-order-inversion"),
        ("lost-append", "lost-write"),
    ],
)
def test_a_seeded_bug_shows_in_the_history(
    bug: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "READ_WITHIN_S", 3.0)  # what was lost at the end never comes
    _, history = recorded(tmp_path, ServeOptions(bugs=bugs_named(bug), faults=EVERY_SIXTH))

    assert found(history)[shown] > 0


@pytest.mark.parametrize("bugs", [(), ("ack-before-replication",)])
def test_a_record_acknowledged_before_replication_is_lost_with_the_leader(
    bugs: tuple[str, ...], tmp_path: Path
) -> None:
    """A broker with the bug acknowledges too early, and loses a record when the leader is killed.

    The correct broker loses none. Links are slow, so that the leader dies before the replication.
    """
    kill = parsed("kill-broker:id=1,after=40")
    served = ServeOptions(bugs=bugs_named(*bugs), faults=(kill,), link_ms=30)
    _, history = recorded(tmp_path, served, sends=100)

    assert bool(found(history)) is bool(bugs)


def test_a_broker_that_dies_and_comes_back_leaves_a_clean_history(tmp_path: Path) -> None:
    kill = parsed("kill-broker:id=1,after=60,restart=150")
    result, history = recorded(tmp_path, ServeOptions(faults=(kill, *EVERY_SIXTH)))

    assert result.unread == ()
    assert found(history) == {}
    assert result.outcomes["send", "ok"] == 300


def test_a_killed_recorder_has_every_send_that_the_broker_applied(tmp_path: Path) -> None:
    log, folder = tmp_path / "applied.ndjson", tmp_path / "history"
    program = (
        "import sys, pathlib\n"
        "from checkers.record.options import RecordOptions\n"
        "from checkers.record.recording import record\n"
        "record(RecordOptions(folder=pathlib.Path(sys.argv[1]), bootstrap_servers=sys.argv[2],\n"
        "                     sends=1_000_000))\n"
    )
    with serving(ServeOptions(applied_log=log, faults=EVERY_SIXTH)) as cluster:
        arguments = [sys.executable, "-c", program, str(folder), cluster.bootstrap_servers]
        with subprocess.Popen(arguments) as recorder:
            while applied(log) < 200:
                assert recorder.poll() is None
                time.sleep(0.05)
            recorder.send_signal(signal.SIGKILL)
        before = applied(log)
        history = operations(folder)

    sends = [op for op in history if op.f == "send"]
    by_outcome = Counter(op.outcome for op in sends)
    assert by_outcome["ok"] + by_outcome["info"] == len(sends)
    assert len(sends) >= before >= 200
    assert by_outcome["info"] <= 6  # what was open: one for each sending process
    assert all(op.completed_ns is None for op in sends if op.outcome == "info")
    assert metadata(folder)["finished"] is False
    assert set(found(history)) <= {"unseen"}  # nobody came to read it all


def test_a_recording_of_a_cluster_that_stays_down_ends_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording ends even if the only replica of some partitions stays down.

    Records of these partitions cannot be sent or read. The metadata of the recording marks it as
    unfinished, and lists the unread logs.
    """
    monkeypatch.setattr(reading, "READ_WITHIN_S", 1.0)
    monkeypatch.setattr(reading, "QUERY_S", 0.3)
    monkeypatch.setattr(sending, "GIVE_UP_AFTER_S", 3.0)
    result, _ = recorded(
        tmp_path,
        ServeOptions(faults=(parsed("kill-broker:id=1,after=10"),)),
        sends=1_000,
        replication_factor=1,
        client_config=ClientConfig({"message.timeout.ms": "300"}),
    )
    kept = metadata(tmp_path / "history")
    assert result.outcomes["send", "info"] >= 6  # each of the threads that send waited in vain
    assert 0 < result.unsent < 990
    assert result.unread
    assert (kept["finished"], kept["unread"]) == (False, list(result.unread))
    assert not assumptions_of(tmp_path / "history").finished


def test_an_interrupted_recording_keeps_its_operations(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    program = (
        "import sys, pathlib, signal\n"
        "from checkers.record.options import RecordOptions\n"
        "from checkers.record.recording import record\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's `&` ignores it
        "try:\n"
        "    record(RecordOptions(folder=pathlib.Path(sys.argv[1]), sends=1_000_000,\n"
        "                         bootstrap_servers=sys.argv[2]))\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    with serving(ServeOptions()) as cluster:
        arguments = [sys.executable, "-c", program, str(folder), cluster.bootstrap_servers]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as recorder:
            try:
                while not (folder / METADATA).exists() or len(operations(folder)) < 100:
                    assert recorder.poll() is None
                    time.sleep(0.05)
                recorder.send_signal(signal.SIGINT)
                assert recorder.communicate(timeout=60)[0] == "interrupted\n"
            finally:
                recorder.kill()  # it has ended, unless the test fails

    history = operations(folder)
    assert recorder.returncode == 0
    assert metadata(folder)["finished"] is False
    assert not list(folder.glob("tail-*"))
    assert len(history) >= 100
    assert set(found(history)) <= {"unseen"}


def test_with_acks_1_a_lost_response_is_a_duplicate(tmp_path: Path) -> None:
    _, history = recorded(tmp_path, ServeOptions(faults=EVERY_SIXTH), acks="1")

    assert metadata(tmp_path / "history")["settings"]["acks"] == "1"
    assert found(history)["duplicate"] > 0


def test_the_fault_injector_ends_before_the_logs_are_read_to_their_ends(
    tmp_path: Path,
) -> None:
    ended: list[int] = []

    def beside(sent: threading.Event) -> None:
        assert sent.wait(60)
        time.sleep(0.1)
        ended.append(time.monotonic_ns())

    _, history = recorded(tmp_path, ServeOptions(brokers=1), sends=60, fault_injector=beside)

    starts = [op.invoked_ns for op in history if op.f == "start_offset"]
    assert starts
    assert ended[0] < min(starts)


def test_a_failing_fault_injector_ends_the_recording(tmp_path: Path) -> None:
    def beside(_sent: threading.Event) -> None:
        raise RuntimeError("no such broker")

    with pytest.raises(RuntimeError, match="no such broker"):
        recorded(tmp_path, ServeOptions(brokers=1), sends=100_000, fault_injector=beside)


def test_readers_record_their_assignment_and_isolation_level(tmp_path: Path) -> None:
    result, history = recorded(
        tmp_path, ServeOptions(brokers=1), sends=20, isolation="read_uncommitted"
    )
    keys = tuple(Assigned(f"{result.topic}-{index}") for index in range(4))

    assert {op.did for op in history if op.f == "assign"} == {keys}
    querying = {"poll", "end_offset", "start_offset"}
    assert {op.isolation for op in history if op.f in querying} == {"read_uncommitted"}
    assert {op.isolation for op in history if op.f not in querying} == {None}


# ---------------------------------------------------------------- what can't be recorded


def test_an_unreachable_address_is_one_error_and_leaves_no_folder(tmp_path: Path) -> None:
    options = RecordOptions(folder=tmp_path / "history", bootstrap_servers="127.0.0.1:1")
    with pytest.raises(UnreachableCluster, match=r"^127\.0\.0\.1:1: no broker answered within 5 s"):
        record(options)

    assert not (tmp_path / "history").exists()


def test_a_folder_that_exists_and_a_topic_that_exists_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFault, match="a history needs a new folder"):
        record(RecordOptions(folder=tmp_path, bootstrap_servers="127.0.0.1:1"))

    with serving(ServeOptions(brokers=1)) as cluster:

        def again(number: int) -> RecordOptions:
            return RecordOptions(
                folder=tmp_path / str(number),
                bootstrap_servers=cluster.bootstrap_servers,
                topic="t",
                sends=10,
            )

        record(again(1))
        with pytest.raises(InputFault, match="topic t exists"):
            record(again(2))
    assert not (tmp_path / "2").exists()


def test_a_send_that_times_out_is_info_and_its_process_ends(tmp_path: Path) -> None:
    kills = tuple(parsed(f"kill-broker:id={number},after=20") for number in (1, 2))
    impatient = ClientConfig({"message.timeout.ms": "1500"})
    with serving(ServeOptions(faults=kills)) as cluster:
        result = record(
            RecordOptions(
                folder=tmp_path / "history",
                bootstrap_servers=cluster.bootstrap_servers,
                client_config=impatient,
                sends=60,
            )
        )
    history = operations(tmp_path / "history")

    assert result.outcomes["send", "ok"] + result.outcomes.get(("send", "info"), 0) == 60
    assert result.outcomes["send", "info"] > 0
    assert found(history) == {}
    for number, operation in enumerate(history):
        if operation.f == "send" and operation.outcome == "info":
            later = [op.process for op in history[number + 1 :] if op.f == "send"]
            assert operation.process not in later
