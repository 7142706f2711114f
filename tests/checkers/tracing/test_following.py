"""A trace of Kafka's log files is validated to its end, or to the first forbidden event."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.tracing.following import Followed, follow
from checkers.tracing.log_lines import log_lines
from checkers.tracing.reading import read
from checkers.tracing.replication import PartitionReplication
from tests.checkers.tracing.logs import (
    ONE_RECORD,
    Line,
    advances,
    appends,
    changes,
    copies,
    created,
    fetches,
    follows,
    leads,
    names,
    records,
    trace,
    truncates,
)

KAFKA = Path(__file__).parents[2] / "data" / "kafka_trace"


def run(folder: Path, *lines: Line, ahead_ms: int = 100) -> Followed:
    events = trace(folder, *lines)
    return follow(PartitionReplication.of(events), events, ahead_ms=ahead_ms)


def why(folder: Path, *lines: Line) -> str:
    found = run(folder, *lines)
    assert found.forbidden is not None, "all lines were accepted"
    assert found.forbidden.number == found.events - 1
    return found.forbidden.why


def test_the_recorded_trace_of_kafka_is_accepted_to_its_end() -> None:
    events = read(log_lines(sorted(KAFKA.glob("*.gz")))).partitions
    for of_partition in events.values():
        found = follow(PartitionReplication.of(of_partition), of_partition)
        assert found.accepted, found.forbidden
        assert found.early == 0
    tt = events["tt-0"]
    assert {"refuse", *follow(PartitionReplication.of(tt), tt).actions} == {
        "elect", "elect_nobody", "shrink_isr", "expand_isr", "refuse", "become_leader",
        "become_follower", "truncate", "fetch_request", "fetch_response", "append",
        "follower_high_watermark", "advance_high_watermark", "propose_member", "drop_member",
        "restart",
    }  # fmt: skip


def test_a_recorded_cut_with_two_kills_is_accepted_to_its_end() -> None:
    folder = KAFKA.with_name("kafka_trace_producers")
    events = read(log_lines(sorted(folder.glob("*.gz")))).partitions["one-1"]
    found = follow(PartitionReplication.of(events), events)
    assert found.accepted, found.forbidden
    assert found.taken == 8_393


def test_one_record_is_replicated_and_committed(tmp_path: Path) -> None:
    found = run(tmp_path, *ONE_RECORD)
    assert found.accepted
    assert found.taken == found.events == 10
    assert found.actions == {
        "fetch_request": 2, "append": 1, "fetch_response": 1, "advance_high_watermark": 1,
    }  # fmt: skip


def test_a_trace_without_events_is_not_accepted(tmp_path: Path) -> None:
    found = run(tmp_path, (0, created()))
    assert found.accepted
    assert not Followed(
        subject="t-0",
        events=0,
        taken=0,
        actions=found.actions,
        early=0,
        latest_ns=0,
        forbidden=None,
    ).accepted


# ---------------------------------------------------------------- forbidden steps


def test_a_high_watermark_needs_the_fetch_of_every_isr_member(tmp_path: Path) -> None:
    reason = why(tmp_path, *ONE_RECORD[:7], (1, advances(0, 1)))
    assert reason.startswith("advance_high_watermark(r=0, mark=1) is not allowed: it needs forall(")


def test_a_change_that_replaces_something_else_is_forbidden(tmp_path: Path) -> None:
    reason = why(tmp_path, (0, created()), (0, changes("isr: [2] -> [1], partitionEpoch: 0 -> 1")))
    assert reason == "the change replaces isr [2], the registration has [1, 2]"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ((2, copies(1, 1)), "first offset: the line has 1, the spec 0"),
        ((1, appends(1, 1)), "first offset: the line has 1, the spec 0"),
        ((2, appends(0, 0)), "append(r=1, message=1, end=1) is not allowed: it needs"),
        ((2, truncates(0)), "truncate(r=1, end=0) is not allowed: it needs end < replica.end_of"),
        ((2, fetches(1)), "fetch offset: the line has 1, the spec 0"),
        ((2, fetches(0, epoch=1)), "leader epoch: the line has 1, the spec 0"),
        ((1, records(2, 1)), "the leader records that broker 2 fetched from offset 1; in leader"),
        ((1, advances(1, 2)), "high watermark before: the line has 1, the spec 0"),
        ((1, leads(1)), "the controller has not registered partition epoch 1"),
        ((3, leads(0, node=3)), "broker 3 is no replica of the partition"),
        ((2, leads(0, node=2)), "partition epoch 0 was registered with leader 1, not 2"),
        ((1, leads(0, isr="1")), "partition epoch 0 was registered with isr [1, 2], not [1]"),
    ],
    ids=lambda text: text[:40] if isinstance(text, str) else "",
)
def test_a_line_that_contradicts_the_state_is_forbidden(
    line: Line, reason: str, tmp_path: Path
) -> None:
    assert why(tmp_path, *ONE_RECORD[:3], line).startswith(reason)


def test_the_state_and_the_lines_around_the_forbidden_event_are_kept(tmp_path: Path) -> None:
    found = run(tmp_path, *ONE_RECORD[:6], (1, advances(0, 1)), (2, copies(0, 0))).forbidden
    assert found is not None
    assert found.state == (
        "controller: partition epoch 0, leader epoch 0, leader 1, ISR [1, 2], ELR []",
        "-> broker 1 leads in leader epoch 0: log end 1, high watermark 0",
        "     waits for [1, 2], fetched {1: 1, 2: 0}",
        "   broker 2 follows in leader epoch 0: log end 0, high watermark 0",
    )
    assert found.event.line.place.endswith("node-1.log:5")
    assert [event.step.name for event in found.around] == [
        "CREATE", "LEAD", "FOLLOW", "FETCH", "RECORD", "APPEND", "ADVANCE", "COPY",
    ]  # fmt: skip


def test_a_former_leader_without_records_names_its_own_epoch_in_a_fetch(tmp_path: Path) -> None:
    """A replica that led without an append fetches with the leader epoch in which it led.

    Kafka's leader-epoch cache contains this epoch, although no record has it.
    """
    change = "leader: 1 -> 2, leaderEpoch: 0 -> 1, partitionEpoch: 0 -> 1"
    lines = (
        *ONE_RECORD[:3],
        (0, changes(change)),
        (2, leads(1, node=2)),
        (1, follows(1, node=1, leader=2)),
    )
    fetch = fetches(0, epoch=1, last_epoch=0, node=1)
    assert run(tmp_path, *lines, (1, fetch), (2, records(1, 0, node=2))).accepted
    reason = "last fetched epoch: the line has 0, the spec None"
    assert why(tmp_path, *ONE_RECORD[:3], (2, fetches(0, last_epoch=0))) == reason


# ---------------------------------------------------------------- outside of the spec


def test_an_event_that_the_spec_does_not_have_is_outside_and_not_forbidden(tmp_path: Path) -> None:
    reassigned = "replicas: [1, 2] -> [1, 2, 3], addingReplicas: [] -> [3], partitionEpoch: 0 -> 1"
    found = run(tmp_path, (0, created()), (0, changes(reassigned))).forbidden
    assert found is not None
    assert found.is_outside
    assert found.why == "the replicas of the partition change: a reassignment"


def test_a_leader_that_is_elected_again_keeps_its_fetches_outside_of_the_spec(
    tmp_path: Path,
) -> None:
    """A trace is outside of the spec if a leader counts fetches of its previous leader epoch.

    A leader of Kafka 3.5.2 may do so after the ISR shrinks, which begins a new leader epoch.
    """
    found = run(
        tmp_path,
        *ONE_RECORD[:8],
        (0, changes("leaderEpoch: 0 -> 1, partitionEpoch: 0 -> 1")),
        (1, leads(1, end=1)),
        (1, advances(0, 1)),
    ).forbidden
    assert found is not None
    assert (found.number, found.is_outside) == (10, True)
    assert found.why.startswith("the leader was elected again")


# ---------------------------------------------------------------- late lines


def late_append(by: int) -> tuple[Line, ...]:
    """Returns a trace in which the leader logs an append after the follower has copied the record.

    The line of the append is late by `by` lines.
    """
    idle = ((1, records(2, 0)),) * (by - 1)
    other_thread = (1, appends(0, 0, "data-plane-kafka-request-handler-7"))
    return (*ONE_RECORD[:5], (2, copies(0, 0)), *idle, other_thread, *ONE_RECORD[7:])


def test_a_line_that_came_late_is_taken_early_within_the_bound(tmp_path: Path) -> None:
    found = run(tmp_path, *late_append(by=8), ahead_ms=10)
    assert found.accepted
    assert (found.early, found.latest_ns) == (1, 8_000_000)


def test_the_producer_of_a_late_append_is_named_late_too(tmp_path: Path) -> None:
    """If the line of an append is late, the line that names its producer is late too.

    After an append, one thread of Kafka logs first the producer and then the append.
    """
    *before, appended = late_append(by=8)[: -len(ONE_RECORD[7:])]
    named = (1, names(0, 0, 0, thread="data-plane-kafka-request-handler-7"))
    found = run(tmp_path, *before, named, appended, *ONE_RECORD[7:], ahead_ms=12)
    assert found.accepted
    assert found.early == 2


def test_a_line_that_came_later_than_the_bound_is_not_found(tmp_path: Path) -> None:
    found = run(tmp_path, *late_append(by=8), ahead_ms=5)
    assert found.forbidden is not None
    assert found.forbidden.why.startswith("fetch_response(r=1, latest=0, end=1) is not allowed")
    assert found.early == 0


def test_lines_of_one_thread_are_never_exchanged(tmp_path: Path) -> None:
    wrong = (1, advances(0, 1))
    lines = (*ONE_RECORD[:5], (2, copies(0, 0)), wrong, (1, appends(0, 0)), *ONE_RECORD[7:])
    found = run(tmp_path, *lines)
    assert found.forbidden is not None
    assert found.forbidden.number == 5


def test_a_line_that_kafka_logs_first_is_not_taken_early(tmp_path: Path) -> None:
    """A trace is rejected if the leader logs a fetch before the follower does.

    The follower writes its line before it sends the fetch, so this line is never late. Validation
    may take a line before its place in the trace only if Kafka may write this line late.
    """
    found = run(tmp_path, *ONE_RECORD[:3], (1, records(2, 0)), (2, fetches(0)))
    assert found.forbidden is not None
    assert found.forbidden.number == 3
