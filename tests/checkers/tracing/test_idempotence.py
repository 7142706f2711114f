"""Each append of an idempotent producer must be a step of the spec `idempotence-abstract`."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from checkers.tracing.following import Followed, follow
from checkers.tracing.idempotence import PartitionIdempotence
from checkers.tracing.log_lines import log_lines
from checkers.tracing.reading import read
from tests.checkers.tracing.logs import (
    HANDLER,
    Line,
    advances,
    appends,
    changes,
    created,
    leads,
    names,
    trace,
)
from tests.checkers.tracing.mutants import judged, mutants

KAFKA = Path(__file__).parents[2] / "data" / "kafka_trace_producers"
OTHER = "data-plane-kafka-request-handler-7"
BEGUN: tuple[Line, ...] = (
    (0, created()),
    (1, leads(0)),
    (1, names(5, 0, 0, 2)),
    (1, appends(0, 2)),
    (1, advances(0, 3)),
    (1, names(6, 0, 0)),
    (1, appends(3, 3)),
    (1, names(5, 0, 3)),
    (1, appends(4, 4)),
)
ELECTED: tuple[Line, ...] = (
    (0, changes("leader: 1 -> 2, leaderEpoch: 0 -> 1, partitionEpoch: 0 -> 1")),
    (2, leads(1, end=4, node=2)),
)


def run(folder: Path, *lines: Line) -> Followed:
    events = trace(folder, *lines)
    return follow(PartitionIdempotence.of(events), events)


def why(folder: Path, *lines: Line) -> str:
    """Returns the reason why the spec forbids the last line of a trace; fails if there is none."""
    found = run(folder, *lines)
    assert found.forbidden is not None, "all lines were accepted"
    assert found.forbidden.number == found.events - 1
    return found.forbidden.why


def test_the_batches_of_two_producers_continue_their_sequences(tmp_path: Path) -> None:
    found = run(tmp_path, *BEGUN)
    assert found.accepted, found.forbidden
    assert found.actions == {"append_first": 2, "append_next": 3, "advance_high_watermark": 1}


def test_the_recorded_batches_of_kafka_are_accepted() -> None:
    """The trace was recorded while a producer sent records and two brokers were killed."""
    events = read(log_lines(sorted(KAFKA.glob("*.gz")))).partitions["one-1"]
    found = follow(PartitionIdempotence.of(events), events)
    assert found.accepted, found.forbidden
    assert found.actions == {
        "append_first": 1, "append_next": 773, "advance_high_watermark": 559,
    }  # fmt: skip


def test_a_producer_goes_on_at_another_leader_and_in_a_newer_epoch(tmp_path: Path) -> None:
    """A producer continues at a new leader, and then in a newer producer epoch.

    The new leader lacks the record at offset 4, so the producer first sends this record again.
    """
    again = ((2, names(5, 0, 3)), (2, appends(4, 4)))
    newer = ((2, names(5, 1, 0)), (2, appends(5, 5)))
    found = run(tmp_path, *BEGUN, *ELECTED, *again, *newer)
    assert found.accepted, found.forbidden
    assert found.actions["change_leader"] == 1
    assert found.actions["append_first"] == 3


def test_markers_and_batches_without_producer_are_records_too(tmp_path: Path) -> None:
    marker = ((1, names(5, 0, -1)), (1, appends(5, 5)))
    found = run(
        tmp_path, *BEGUN, *marker, (1, appends(6, 8)), (1, names(5, 0, 4)), (1, appends(9, 9))
    )
    assert found.accepted, found.forbidden


def test_a_leader_with_another_log_is_outside_of_the_spec(tmp_path: Path) -> None:
    """A trace is outside of the spec if a new leader has records that the last leader lacks.

    This happens only after an unclean election.
    """
    found = run(tmp_path, *BEGUN, ELECTED[0], (2, leads(1, end=9, node=2))).forbidden
    assert found is not None
    assert found.is_outside


def test_a_leader_that_was_deposed_is_not_followed(tmp_path: Path) -> None:
    late = ((1, names(5, 0, 9)), (1, appends(5, 5)))
    assert run(tmp_path, *BEGUN, *ELECTED, *late).accepted


def test_the_threads_of_a_leader_do_not_mix_their_batches(tmp_path: Path) -> None:
    lines = (
        (1, names(5, 0, 4, thread=HANDLER)),
        (1, names(6, 0, 1, thread=OTHER)),
        (1, appends(5, 5, OTHER)),
        (1, appends(6, 6, HANDLER)),
    )
    assert run(tmp_path, *BEGUN, *lines).accepted


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            ((1, names(5, 0, 3)), (1, appends(5, 5))),
            "append_next(producer=1, sequence=3, latest=4, end=6) is not allowed: it needs",
        ),
        (
            ((1, names(5, 0, 5)), (1, appends(5, 5))),
            "append_next(producer=1, sequence=5, latest=4, end=6) is not allowed: it needs",
        ),
        (
            ((1, names(8, 0, 7)), (1, appends(5, 5))),
            "producer 8 begins epoch 0 with sequence 7, not with 0",
        ),
        (
            ((1, names(5, 1, 0)), (1, appends(5, 5)), (1, names(5, 0, 0)), (1, appends(6, 6))),
            "append_first(producer=1, new_epoch=0, end=7) is not allowed: it needs forall(",
        ),
        (((1, names(5, 0, 4, 5)), (1, appends(5, 5))), "1 offsets, and 2 sequences"),
        (((1, names(5, 0, 4)), (1, appends(6, 6))), "first offset: the line has 6, the spec 5"),
        (
            (ELECTED[0], (2, leads(1, end=2, node=2))),
            "the log of the new leader lacks committed records",
        ),
    ],
    ids=["duplicate", "gap", "first sequence", "old epoch", "length", "offset", "lost record"],
)
def test_an_append_that_breaks_idempotence_is_forbidden(
    lines: tuple[Line, ...], reason: str, tmp_path: Path
) -> None:
    assert why(tmp_path, *BEGUN, *lines).startswith(reason)


def test_a_trace_that_names_no_producer_is_outside(tmp_path: Path) -> None:
    found = run(tmp_path, *BEGUN[:2], (1, appends(0, 0))).forbidden
    assert found is not None
    assert found.is_outside


def test_the_state_near_a_forbidden_line_has_each_producer(tmp_path: Path) -> None:
    found = run(tmp_path, *BEGUN, (1, names(5, 0, 9)), (1, appends(5, 5))).forbidden
    assert found is not None
    assert found.state == (
        "broker 1 leads in leader epoch 0: log end 5",
        "producer 5: epoch 0, last sequence 3 at offset 4",
        "producer 6: epoch 0, last sequence 0 at offset 3",
    )


def test_mutants_of_a_trace_are_rejected(tmp_path: Path) -> None:
    again = ((2, names(5, 0, 3)), (2, appends(4, 4)), (2, names(6, 0, 1)), (2, appends(5, 5)))
    events = trace(tmp_path, *BEGUN, *ELECTED, *again)
    kinds = {"PRODUCER", "APPEND"}
    survivors = Counter[str]()
    wrong = 0
    for one in judged(events, mutants(events), PartitionIdempotence.of):
        if one.is_equivalent or one.mutant.original.step.name not in kinds:
            continue
        wrong += 1
        if one.rejected is None:
            survivors[f"{one.mutant.kind} {one.mutant.original.step.name}"] += 1
    assert wrong > 60
    assert dict(survivors) == {  # the last batch of a producer, or one that the election lost
        "dropped PRODUCER": 3,  # the batch then counts as one without a producer id
        "swapped PRODUCER": 2,
        "dropped APPEND": 2,
    }


def test_a_long_log_is_followed_without_cost_per_record(tmp_path: Path) -> None:
    long = [(1, names(5, 0, 0, 9_999)), (1, appends(0, 9_999))]
    for k in range(10_000, 10_500):
        long += [(1, names(5, 0, k)), (1, appends(k, k))]
    events = trace(tmp_path, *BEGUN[:2], *long)
    following = PartitionIdempotence.of(events)
    assert isinstance(following, PartitionIdempotence)
    for event in events[:4]:
        assert following.take(event) is None
    start = time.process_time()
    for event in events[4:]:
        assert following.take(event) is None
    assert time.process_time() - start < 1
