"""The guarantees of read_committed readers are proved. A spec that lacks one of the rules fails the
proof.
"""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.read_committed_abstract.bugs import (
    IgnoresAbortedList,
    IgnoresHighWatermark,
    LateMarkers,
    ListsFromFetchOffset,
    StableAtFirstOpen,
    StableAtLastOpen,
    UncleanElection,
)
from model.read_committed_abstract.versions import Kafka43, ReadCommitted
from tests.model.conftest import Begin
from tests.model.proofs import assert_fails

WITH_AN_UNREPLICATED_MARKER = [  # the record of transaction 0 is replicated, its marker is not
    "begin 0 0",
    "append_first 0 1",
    "commit 0",
    "write_marker 0 2",
    "advance_high_watermark 1",
]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_claims_are_proved_without_bounds(seed: int) -> None:
    proof = prove(ReadCommitted(), seed=seed)
    assert proof.holds, proof.reason
    assert proof.assumptions == ()


def test_the_rule_of_kafka_fails_at_restart_alone() -> None:
    failed = prove(Kafka43()).failed
    assert [(c.action, c.claim) for c in failed] == [("restart", "memory_is_the_log")]


@pytest.mark.parametrize(
    ("wrong", "action", "claim"),
    [
        (IgnoresHighWatermark, "read", "passed_is_decided"),
        (StableAtFirstOpen, "change_leader", "stable_offset_never_goes_back"),
        (StableAtLastOpen, "append_first", "stable_offset_stops_at_open"),
        (IgnoresAbortedList, "read", "only_committed_is_delivered"),
        (ListsFromFetchOffset, "read", "only_committed_is_delivered"),
        (LateMarkers, "write_marker", "closed_as_decided"),
        (UncleanElection, "change_leader", "replicated_is_written"),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[ReadCommitted], action: str, claim: str
) -> None:
    assert_fails(wrong(), action, claim, wrong(producers=2).scope())


def test_what_is_delivered_is_proved_with_the_rule_of_kafka_too() -> None:
    proof = prove(Kafka43())
    assert proof.dropped == ("memory_is_the_log", "stable_offset_never_goes_back")
    assert {s.claim for s in proof.summaries if not s.lemma and s.verdict == "holds"} == {
        "only_committed_is_delivered",
        "nothing_committed_is_skipped",
        "stable_offset_stops_at_open",
    }


def test_a_reader_waits_until_the_marker_is_replicated(play: Begin) -> None:
    run = play(ReadCommitted()).do(*WITH_AN_UNREPLICATED_MARKER, "restart")
    assert "unreplicated" in run.refused("read 1")
    run.do("advance_high_watermark 2", "read 1", "read 2")
    assert [run.state["delivered", (o,)] for o in range(2)] == [True, False]


def test_after_a_restart_of_kafka_the_last_stable_offset_goes_back(play: Begin) -> None:
    """The steps of docs/findings/last-stable-offset-goes-back.md break the claim in Kafka 4.3."""
    run = play(Kafka43()).do(*WITH_AN_UNREPLICATED_MARKER, "restart", "read 1", "change_leader 1")
    assert run.broken() == {"stable_offset_never_goes_back"}
    run.do("write_marker 0 2", "advance_high_watermark 2")
    assert run.broken() == set()


def test_a_plain_record_waits_behind_an_open_transaction(play: Begin) -> None:
    run = play(ReadCommitted()).do(
        "begin 0 0", "append_first 0 1", "append_plain 1 2", "advance_high_watermark 2"
    )
    assert run.refused("read 1")
    run.do("abort 0", "write_marker 0 3", "advance_high_watermark 3", "read 1", "read 2", "read 3")
    assert [run.state["delivered", (o,)] for o in range(3)] == [False, True, False]
