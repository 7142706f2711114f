"""The lines of Kafka's log files are read as events, ordered by the time in each line.

A table has one row for each kind of line: a pattern, and the step that such a line shows.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from checkers.tracing.log_lines import LogLine, log_lines
from checkers.tracing.reading import TABLE, Reading, events_of, read
from checkers.tracing.replication_lines import Step
from model.faults import InputFault
from tests.checkers.tracing.logs import (
    advances,
    appends,
    changes,
    created,
    fetches,
    leads,
    names,
    reading,
    trace,
)

KAFKA = Path(__file__).parents[2] / "data" / "kafka_trace"


def test_every_line_of_the_recorded_trace_is_an_event_or_nothing() -> None:
    found = read(log_lines(sorted(KAFKA.glob("*.gz"))))
    assert found.lines == 7_270
    assert found.unknown == []
    assert {p: len(events) for p, events in found.partitions.items()} == {
        "tt-0": 3_077,
        "__transaction_state-0": 195,
        "__transaction_state-1": 75,
        "__transaction_state-2": 54,
    }
    steps = {event.step for event in found.partitions["tt-0"]}
    assert {*Step} - steps == {
        Step.REFUSE, Step.START_AT, Step.FAIL, Step.PRODUCER, Step.FLUSH,
    }  # fmt: skip


def test_every_row_with_a_step_has_a_pattern_that_names_its_partition() -> None:
    for row in TABLE:
        assert (row.step is None) == ("subject" not in row.pattern.groupindex), row


def test_events_of_all_nodes_are_in_the_order_of_the_clock(tmp_path: Path) -> None:
    events = trace(tmp_path, (0, created()), (2, fetches(0)), (1, leads(0)), (2, fetches(0)))
    assert [(e.line.node, e.step.name) for e in events] == [
        (0, "CREATE"),
        (2, "FETCH"),
        (1, "LEAD"),
        (2, "FETCH"),
    ]


def test_the_fields_of_an_event_are_the_named_groups(tmp_path: Path) -> None:
    change = "isr: [1, 2] -> [2], leader: 1 -> 2, leaderEpoch: 0 -> 1, elr: [] -> [1]"
    _, leading, changed = trace(tmp_path, (0, created()), (1, leads(0)), (0, changes(change)))
    assert str(leading) == (
        "broker 1: start to lead (leader_epoch 0, offset 0, partition_epoch 0, mark 0, isr [1, 2])"
    )
    assert changed.fields == {
        "isr before": {1, 2}, "isr": {2}, "leader before": 1, "leader": 2,
        "leaderEpoch before": 0, "leaderEpoch": 1, "elr before": frozenset(), "elr": {1},
    }  # fmt: skip


def test_a_fetch_of_several_partitions_is_an_event_of_each() -> None:
    message = (
        "[ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0] Sending fetch request (fetchData={"
        "a.b-0=PartitionData(topicId=A, fetchOffset=3, logStartOffset=0, maxBytes=1, "
        "currentLeaderEpoch=Optional[1], lastFetchedEpoch=Optional[0]), "
        "c-11=PartitionData(topicId=B, fetchOffset=0, logStartOffset=0, maxBytes=1, "
        "currentLeaderEpoch=Optional[2], lastFetchedEpoch=Optional.empty)}, removed=)"
    )
    line = LogLine(
        at_ns=1,
        node=2,
        logger="ReplicaFetcherThread",
        thread="x",
        message=message,
        file="f",
        number=1,
    )
    events = events_of(line)
    assert events is not None
    assert [(e.subject, dict(e.fields)) for e in events] == [
        ("a.b-0", {"offset": 3, "leader_epoch": 1, "last_epoch": 0}),
        ("c-11", {"offset": 0, "leader_epoch": 2}),
    ]


def test_a_line_that_no_row_fits_is_unknown_if_it_names_a_partition(tmp_path: Path) -> None:
    new = "INFO Partition [x] [Partition t-0 broker=1] Dreams of partition t-0"
    other = "INFO Partition [x] [Partition t-00 broker=1] Dreams of partition t-00"
    found = reading(tmp_path, (0, created()), (1, new), (1, other))
    assert [line.message for line in found.unknown] == [new.partition("] ")[2]]


def test_a_partition_that_was_created_before_the_trace_has_no_events(tmp_path: Path) -> None:
    assert reading(tmp_path, (1, leads(0)), (1, advances(0, 1))).partitions == {}


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        (
            "[UnifiedLog partition=t-0, dir=d] Appended message set with last offset: 3, first "
            "offset: Optional[(offset=2segment=[0:0])], next offset: 4, and messages: M",
            {"last": 3, "first": 2},
        ),
        (
            "[QuorumController id=0] Created partition t-0 with topic ID A and "
            "PartitionRegistration(replicas=[3, 1], isr=[3, 1], removingReplicas=[], "
            "addingReplicas=[], leader=3, leaderRecoveryState=RECOVERED, leaderEpoch=0, "
            "partitionEpoch=0).",
            {"replicas": {1, 3}, "isr": {1, 3}, "leader": 3, "leader_epoch": 0,
             "partition_epoch": 0},
        ),
        (
            "[Broker id=1] Skipped the become-leader state change for t-0 with topic id Some(A) and"
            " partition state LeaderAndIsrPartitionState(leader=1, leaderEpoch=1, isr=[1, 3], "
            "partitionEpoch=2, replicas=[1, 3]) since it is already the leader with leader epoch 1",
            {"isr": {1, 3}, "leader_epoch": 1, "partition_epoch": 2},
        ),
    ],
)  # fmt: skip
def test_lines_of_kafka_3_5_are_the_same_events(message: str, fields: dict[str, object]) -> None:
    logger = {"U": "UnifiedLog", "Q": "ReplicationControlManager", "B": "logger"}[message[1]]
    line = LogLine(at_ns=1, node=1, logger=logger, thread="x", message=message, file="f", number=1)
    found = events_of(line)
    assert found is not None
    (event,) = found
    assert dict(event.fields) == fields


def test_idempotence_leaves_out_the_offset_commits_of_groups(tmp_path: Path) -> None:
    """Partitions with the offset commits of groups are left out when producers are validated.

    The group coordinator numbers each batch of its transactional offset commits from 0.
    """
    found = Reading(
        partitions={
            name: trace(tmp_path, (0, created()), (1, names(5, 0, 0)))
            for name in ("t-0", "__consumer_offsets-0")
        }
    )
    assert [*found.with_producers] == ["t-0"]


def test_gzip_and_plain_files_are_read_and_stack_traces_are_skipped(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.log", tmp_path / "b.log.gz"
    text = f"7 {leads(0)}\njava.io.IOException: gone\n\tat kafka.Kafka\n8 {appends(0, 0)}\n"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    lines = [*log_lines([plain, packed])]
    assert [(line.number, line.node, line.logger) for line in lines] == 2 * [
        (1, 1, "logger"),
        (4, 1, "UnifiedLog"),
    ]
    assert lines[3].place == f"{packed}:4"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-11-23 INFO started\n", "no line has the layout %nano %p %c{1} [%t] %m%n: set it"),
        ("1 INFO Nobody [main] hello\n", "no line names the node that wrote it: set the loggers"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_next_move(
    text: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "server.log"
    file.write_text(text)
    with pytest.raises(InputFault, match=re.escape(f"{file}: {message}")):
        list(log_lines([file]))


def test_an_empty_file_has_no_lines_and_a_missing_one_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "empty.log").write_text("")
    assert [*log_lines([tmp_path / "empty.log"])] == []
    with pytest.raises(InputFault, match="No such file or directory; name the TRACE log files"):
        list(log_lines([tmp_path / "missing.log"]))
    (tmp_path / "torn.log.gz").write_bytes(gzip.compress(b"x" * 1000)[:20])
    with pytest.raises(InputFault, match=r"torn\.log\.gz"):
        list(log_lines([tmp_path / "torn.log.gz"]))
