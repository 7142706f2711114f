"""Trace validation accepts permitted losses of committed records and names the lost offsets.

For example, an unclean election may lose committed records. A loss that nothing permits is
forbidden.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from checkers.tracing.following import Followed, follow
from checkers.tracing.idempotence import PartitionIdempotence
from checkers.tracing.log_lines import log_lines
from checkers.tracing.logged_events import Event
from checkers.tracing.losses import Kind
from checkers.tracing.outcomes import Refused
from checkers.tracing.reading import read
from checkers.tracing.replication import PartitionReplication
from checkers.tracing.replication_lines import names_producer
from tests.checkers.tracing.logs import (
    ONE_RECORD,
    Line,
    advances,
    appends,
    changes,
    flushes,
    follows,
    leads,
    loads,
    trace,
    truncates,
)
from tests.checkers.tracing.mutants import judged, mutants

RECORDED = Path(__file__).parents[2] / "data" / "kafka_trace_losses"
ALONE: tuple[Line, ...] = (  # broker 1 commits two records that broker 2 lacks
    (0, changes("isr: [1, 2] -> [1], partitionEpoch: 0 -> 1")),
    (1, appends(1, 2)),
    (1, advances(1, 3)),
)
UNCLEAN: tuple[Line, ...] = (
    (0, changes("isr: [1] -> [2], leader: 1 -> 2, leaderEpoch: 0 -> 1, partitionEpoch: 1 -> 2")),
    (2, leads(1, end=1, isr="2", node=2, partition_epoch=2)),
)


def followed(events: Sequence[Event]) -> tuple[Followed, PartitionReplication]:
    begun = PartitionReplication.of(events)
    assert not isinstance(begun, Refused)
    return follow(begun, events), begun


def losses(folder: Path, *lines: Line) -> list[str]:
    """Returns a text for each loss of committed records in a trace; fails at a forbidden step."""
    found, begun = followed(trace(folder, *lines))
    assert found.accepted, found.forbidden
    return [*map(str, begun.losses)]


def why(folder: Path, *lines: Line) -> str:
    found, _ = followed(trace(folder, *lines))
    assert found.forbidden is not None, "all lines were accepted"
    assert found.forbidden.number == found.events - 1
    return found.forbidden.why


@pytest.mark.parametrize(
    ("name", "kinds", "loss"),
    [
        (
            "unclean-election",
            [Kind.UNCLEAN],
            "broker 2 begins leader epoch 2: 1 of 2 committed records are lost, offset 1",
        ),
        (
            "last-known-leader",
            [Kind.LOST_END, Kind.LAST_KNOWN],
            "broker 2 begins leader epoch 3: 10 of 10 committed records are lost, offsets 0 to 9",
        ),
        (
            "last-replica-standing",
            [Kind.LOST_END],
            "broker 1 begins leader epoch 2: 10 of 10 committed records are lost, offsets 0 to 9",
        ),
        (
            "power-loss",
            [Kind.LOST_END],
            "broker 1 begins leader epoch 2: 4 of 10 committed records are lost, offsets 6 to 9",
        ),
    ],
)
def test_a_recorded_loss_of_kafka_is_followed_to_its_end(
    name: str, kinds: list[Kind], loss: str
) -> None:
    events = read(log_lines(sorted((RECORDED / name).glob("*.gz")))).partitions["t-0"]
    found, begun = followed(events)
    assert found.accepted, found.forbidden
    assert [step.kind for step in begun.facts.lossy] == kinds
    (lost,) = begun.losses
    assert str(lost) == loss
    assert lost.is_allowed(kinds)
    assert not lost.is_allowed(kinds[1:])


def test_an_unclean_election_loses_the_records_that_the_new_leader_lacks(tmp_path: Path) -> None:
    assert losses(tmp_path, *ONE_RECORD, *ALONE, *UNCLEAN) == [
        "broker 2 begins leader epoch 1: 2 of 3 committed records are lost, offsets 1 to 2"
    ]


def test_an_unclean_election_of_a_replica_with_every_record_loses_nothing(tmp_path: Path) -> None:
    found, begun = followed(trace(tmp_path, *ONE_RECORD, ALONE[0], *UNCLEAN))
    assert found.accepted, found.forbidden
    assert [step.kind for step in begun.facts.lossy] == [Kind.UNCLEAN]
    assert begun.losses == ()


def test_the_records_of_a_replaced_leader_are_lost_as_it_commits_them(tmp_path: Path) -> None:
    """Records that a replaced leader commits after an unclean election are lost at once.

    The replaced leader has not heard of the election, so it continues to commit records.
    """
    assert losses(
        tmp_path, *ONE_RECORD, *ALONE, *UNCLEAN, (1, appends(3, 3)), (1, advances(3, 4))
    ) == [
        "broker 1 commits in leader epoch 0, after leader epoch 1: 3 of 4 committed records are"
        " lost, offsets 1 to 3",
        "broker 2 begins leader epoch 1: 2 of 3 committed records are lost, offsets 1 to 2",
    ]


def test_a_follower_truncates_committed_records_that_were_lost(tmp_path: Path) -> None:
    deposed = (1, follows(1, end=3, mark=3, node=1, leader=2, partition_epoch=2))
    cut = (1, truncates(1))
    assert losses(tmp_path, *ONE_RECORD, *ALONE, *UNCLEAN, deposed, cut)
    assert why(tmp_path, *ONE_RECORD, *ALONE, *UNCLEAN, deposed, (1, truncates(0))).startswith(
        "truncate(r=0, end=0) is not allowed"
    )


# ---------------------------------------------------------------- what no disk may lose

LEAVES = changes("isr: [1, 2] -> [2], leader: 1 -> 2, leaderEpoch: 0 -> 1, partitionEpoch: 0 -> 1")


def test_a_replica_outside_the_isr_may_lose_its_log(tmp_path: Path) -> None:
    back = (1, follows(1, node=1, leader=2))
    assert losses(tmp_path, *ONE_RECORD, (0, LEAVES), (1, loads(0, node=1)), back) == []


def test_a_member_of_the_isr_may_not_lose_its_log(tmp_path: Path) -> None:
    kept = changes("leader: 1 -> 2, leaderEpoch: 0 -> 1, partitionEpoch: 0 -> 1")
    back = (1, follows(1, node=1, leader=2))
    assert why(tmp_path, *ONE_RECORD, (0, kept), (1, loads(0, node=1)), back).startswith(
        "lose_power(r=0, end=0) is not allowed: it needs"
    )


def test_a_power_loss_keeps_flushed_records(tmp_path: Path) -> None:
    """A power loss cannot remove flushed records, so such a trace is forbidden. A log that is gone
    as a whole is allowed: its disk was lost.
    """
    lines = (*ONE_RECORD, *ALONE, (1, flushes(2)))
    lines += ((0, changes("leader: 1 -> -1, leaderEpoch: 0 -> 1, partitionEpoch: 1 -> 2")),)
    lines += ((1, loads(1, node=1)),)

    def back(end: int) -> Line:
        return 1, follows(1, end=end, mark=min(end, 1), node=1, leader=-1, partition_epoch=2)

    assert losses(tmp_path, *lines, back(2)) == []  # none is lost before a leader begins
    assert why(tmp_path, *lines, back(1)).startswith("lose_power(r=0, end=1) is not allowed")
    assert losses(tmp_path, *lines, back(0)) == []


def test_a_log_that_is_shorter_without_a_restart_is_forbidden(tmp_path: Path) -> None:
    assert why(tmp_path, *ONE_RECORD, (0, LEAVES), (1, follows(1, node=1, leader=2))) == (
        "log end: the line has 0, the spec 1: it lacks 1 of 1 committed records, from offset 0 on"
    )


def test_idempotence_is_undecided_after_a_loss() -> None:
    folder = RECORDED / "unclean-election"
    events = read(log_lines(sorted(folder.glob("*.gz")))).partitions["t-0"]
    found = follow(PartitionIdempotence.of(events), events)
    assert found.forbidden is not None
    assert found.forbidden.is_outside
    assert found.forbidden.why == "the log of the new leader lacks committed records"


def test_mutants_of_a_recorded_loss_are_rejected() -> None:
    """Validation rejects at least 97 of 100 mutants of a recorded trace with lost records.

    The trace has 180 events. Most mutants that are accepted change its first or last events.
    """
    events = [
        event
        for event in read(
            log_lines(sorted((RECORDED / "last-known-leader").glob("*.gz")))
        ).partitions["t-0"]
        if not names_producer(event)
    ]
    made, survivors = 0, Counter[str]()
    for one in judged(events, mutants(events), PartitionReplication.of):
        made += not one.is_equivalent
        if not one.is_equivalent and one.rejected is None:
            survivors[f"{one.mutant.kind} {one.mutant.original.step.name}"] += 1
    assert made > 800
    assert survivors.total() <= 0.03 * made
    assert not {"CHANGE", "TRUNCATE", "PROPOSE", "COPY", "RECEIVE", "RECORD"} & {
        name.split()[-1] for name in survivors
    }
