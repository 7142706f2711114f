"""Transactions are proved for coordinators that crash. Without one of the rules, the proof
fails.
"""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.coordinator_abstract.bugs import (
    AnswersEarly,
    DecidesAgain,
    ExpiresOpen,
    FenceKeepsId,
    FencesNobody,
    IgnoresEpoch,
    KeepsEpoch,
    LaxMarkers,
    RefusesRepeatedMarkers,
    SkipsMarker,
    WrapsEpochs,
    WritesAfterFailover,
)
from model.coordinator_abstract.state import CoordinatorEpoch, ProducerId, TopicPartition
from model.coordinator_abstract.versions import AbstractCoordinator
from model.language import Bool, true
from model.language.interpreter import Interpreter
from tests.model.conftest import Play
from tests.model.proofs import assert_fails


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_claims_are_proved_without_bounds(seed: int) -> None:
    proof = prove(AbstractCoordinator(), seed=seed)
    assert proof.holds, proof.reason
    assert proof.assumptions == ()


class IgnoresCoordinatorEpoch(AbstractCoordinator):
    """A mutant whose partitions accept a failed coordinator's marker after a marker of the next
    coordinator.
    """

    def accepts_coordinator(s, t: TopicPartition, p: ProducerId, epoch: CoordinatorEpoch) -> Bool:
        return true


def test_the_claims_do_not_need_the_epoch_of_the_coordinator() -> None:
    """In transaction version 2 the producer epoch in a marker suffices."""
    assert prove(IgnoresCoordinatorEpoch()).holds


@pytest.mark.parametrize(
    ("wrong", "action", "claim"),
    [
        (LaxMarkers, "write_marker", "faithful"),
        (KeepsEpoch, "fence", "a_decision_follows"),
        (KeepsEpoch, "begin", "a_stamp_has_one_transaction"),
        (SkipsMarker, "complete", "a_completion_follows"),
        (RefusesRepeatedMarkers, "write_marker", "markers_are_accepted"),
        (FenceKeepsId, "fence", "the_log_has_no_last_epoch"),
        (WrapsEpochs, "prepare_commit", "a_decision_follows"),
        (DecidesAgain, "fence", "a_decision_follows"),
        (AnswersEarly, "receive_end", "an_acknowledged_commit_is_decided"),
        (WritesAfterFailover, "commit_late_append", "a_decision_survives"),
        (ExpiresOpen, "expire", "an_empty_record_follows"),
        (IgnoresEpoch, "prepare_commit", "a_record_has_a_begun_transaction"),
        (FencesNobody, "init_producer", "an_empty_record_follows"),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[AbstractCoordinator], action: str, claim: str
) -> None:
    assert_fails(wrong(), action, claim)


# Instance 0 has producer id 0 and epoch 0, and transaction 0 has partition 0.
WITH_A_RECORD = [
    "init_producer 0 0 0 0",
    "commit_append 0",
    "begin 0 0",
    "add_partition 0 0",
    "commit_append 0",
    "append 0 0",
]
COMMITTED = ["request_commit 0", "prepare_commit 0 1 0", "commit_append 0"]  # with epoch 1


def begin(spec: AbstractCoordinator) -> Play:
    """Returns an execution. It begins in the last initial state: there, `last_epoch` is the largest
    producer epoch.
    """
    *_, state = Interpreter.of(spec).initial(spec)
    return Play(spec, state)


def test_a_lost_decision_is_made_again_by_the_next_coordinator() -> None:
    run = begin(AbstractCoordinator()).do(
        *WITH_A_RECORD, "request_commit 0", "prepare_commit 0 1 0", "fail_over 1"
    )
    assert "is_prepared" in run.refused("receive_end 0")
    assert "committed" in run.refused("write_marker 0 0 0")
    run.do("prepare_commit 0 1 0", "commit_append 0", "receive_end 0", "write_marker 0 0 1")
    assert run["kept 0 0"]


def test_the_next_coordinator_resumes_what_is_prepared_and_answers_a_repeated_request() -> None:
    run = begin(AbstractCoordinator()).do(*WITH_A_RECORD, *COMMITTED, "fail_over 1")
    assert "is_ongoing" in run.refused("fence 0 2 0")
    assert "marked" in run.refused("complete 0")
    run.do("write_marker 0 0 1", "complete 0", "commit_append 0", "receive_end 0")
    assert run["kept 0 0"]
    assert run["held.producer_epoch 0"] == 1


def test_a_marker_of_the_failed_coordinator_may_arrive_before_that_of_the_next_one() -> None:
    run = begin(AbstractCoordinator()).do(*WITH_A_RECORD, *COMMITTED, "fail_over 1")
    run.do("write_marker 0 0 0", "write_marker 0 0 1")
    assert "seen_coordinator" in run.refused("write_marker 0 0 0")
    assert run.broken() == set()


def test_a_repeated_marker_does_not_end_the_next_transaction() -> None:
    run = begin(AbstractCoordinator()).do(
        *WITH_A_RECORD,
        *COMMITTED,
        "receive_end 0",
        "write_marker 0 0 0",
        "complete 0",
        "commit_append 0",
        "begin 1 0",
        "add_partition 1 0",
        "commit_append 0",
        "append 1 0",
    )
    assert "pending" in run.refused("write_marker 0 0 0")
    assert "seen_epoch" in run.refused("append 0 0"), "the record is late"


def test_after_the_last_epoch_the_client_gets_another_producer_id() -> None:
    run = begin(AbstractCoordinator()).do(
        *WITH_A_RECORD, "request_commit 0", "prepare_commit 0 2 1", "commit_append 0"
    )
    run.do("receive_end 0", "write_marker 0 0 0", "complete 0", "commit_append 0", "begin 1 0")
    assert [run[f"stamp.producer_{part} 1"] for part in ("id", "epoch")] == [1, 0]
    run.do("add_partition 1 0", "commit_append 0", "append 1 0")
    assert "seen_epoch" in run.refused("append 0 0"), "the old producer id is fenced"
    assert run.broken() == set()


def test_an_instance_that_was_replaced_is_fenced() -> None:
    run = begin(AbstractCoordinator(instances=2)).do(
        *WITH_A_RECORD[:3], "init_producer 0 1 0 1", "commit_append 0", "request_commit 0"
    )
    assert "producer_epoch" in run.refused("add_partition 0 0")
    assert "producer_epoch" in run.refused("prepare_commit 0 2 0")
    run.do("begin 1 1", "add_partition 1 0", "commit_append 0")
    assert "producer_epoch" in run.refused("prepare_commit 0 2 0"), "the request is late"
