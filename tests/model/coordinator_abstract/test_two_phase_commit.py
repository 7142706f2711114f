"""A new instance keeps the transaction of the old one, and ends it as the database decided."""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.coordinator_abstract.two_phase_bugs import (
    AbortsPrepared,
    ForgetsNewEpoch,
    IgnoresPreparedEpoch,
    MarksNewId,
    RaisesEpochOnce,
    TimesOut,
    ZombieCommitsDatabase,
)
from model.coordinator_abstract.two_phase_claims import TwoPhaseCommit
from model.language.interpreter import Interpreter
from tests.model.conftest import Play
from tests.model.proofs import assert_fails


def test_the_claims_are_proved_without_bounds() -> None:
    proof = prove(TwoPhaseCommit(), seed=0)
    assert proof.holds, proof.reason
    assert proof.assumptions == ()


@pytest.mark.parametrize(
    ("wrong", "action", "claim"),
    [
        (TimesOut, "fence", "a_record_has_a_begun_transaction"),
        (AbortsPrepared, "keep_prepared", "a_record_has_a_begun_transaction"),
        (RaisesEpochOnce, "complete_prepared", "a_decision_follows"),
        (MarksNewId, "write_marker", "pending_records_are_of_the_newest_epoch"),
        (IgnoresPreparedEpoch, "request_completion", "requests_follow_the_database"),
        (ZombieCommitsDatabase, "commit_in_database", "the_database_commits_or_refuses"),
        (ForgetsNewEpoch, "fail_over", "no_stamp_is_newer_than_the_log"),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[TwoPhaseCommit], action: str, claim: str
) -> None:
    assert_fails(wrong(), action, claim)


KEPT = ["keep_prepared 0 1 0 1", "commit_append 0"]  # instance 1 has epoch 1
COMPLETED = ["complete_prepared 0 2 0", "commit_append 0"]  # then epoch 2
MARKED = ["write_marker 0 0 0", "complete 0", "commit_append 0"]


def begin(spec: TwoPhaseCommit | None = None) -> Play:
    """Returns an execution in which transaction 0 of instance 0 has a record in partition 0.

    The transactional id takes part in two-phase commit. There are five producer epochs. The last
    initial state, in which `last_epoch` is the largest of them, is used.
    """
    spec = spec or TwoPhaseCommit(instances=3, producer_epochs=5)
    *_, state = Interpreter.of(spec).initial(spec)
    return Play(spec, state).do(
        "enable_two_phase 0",
        "init_producer 0 0 0 0",
        "commit_append 0",
        "begin 0 0",
        "add_partition 0 0",
        "commit_append 0",
        "append 0 0",
    )


def test_a_new_instance_commits_what_the_database_has_committed() -> None:
    run = begin().do("commit_in_database 0", *KEPT)
    assert [run[f"ongoing.producer_{part} 1"] for part in ("id", "epoch")] == [0, 0]
    assert "two_phase" in run.refused("fence 0 2 0")
    assert "abort_sent" in run.refused("complete_prepared 0 2 0"), "no request was sent"
    run.do("request_completion 1", *COMPLETED, *MARKED, "receive_completion 1")
    assert run["kept 0 0"]
    assert run["marker_epoch 0"] == 1
    assert run["held.producer_epoch 1"] == 2
    assert run.do("begin 1 1", "add_partition 1 0", "commit_append 0").broken() == set()


def test_the_database_refuses_the_old_instance_after_the_new_one_has_read_it() -> None:
    run = begin().do(*KEPT, "request_completion 1")
    assert "refused" in run.refused("commit_in_database 0")
    run.do(*COMPLETED, *MARKED)
    assert run["dropped 0 0"]
    assert run.broken() == set()


def test_the_old_instance_commits_in_the_database_until_the_new_one_has_read_it() -> None:
    run = begin().do(*KEPT, "commit_in_database 0", "request_commit 0")
    assert "producer_epoch" in run.refused("prepare_commit 0 2 0"), "Kafka has fenced it"
    run.do("request_completion 1", *COMPLETED)
    assert run["committed 0"]


def test_a_failed_coordinator_and_a_second_new_instance_change_nothing() -> None:
    run = begin().do("commit_in_database 0", *KEPT, "request_completion 1", "fail_over 1")
    run.do("keep_prepared 0 2 0 2", "commit_append 0")
    assert "abort_sent" in run.refused("complete_prepared 0 3 0"), "the request has the old epoch"
    run.do("request_completion 2", "complete_prepared 0 3 0", "commit_append 0")
    run.do("write_marker 0 0 1", "receive_completion 2")
    assert run["marker_epoch 0"] == 1, "as reserved for the first new instance"
    assert run["held.producer_epoch 2"] == 3
    assert "last_epoch" in run.refused("receive_completion 1")
    assert run.broken() == set()


def test_markers_have_the_id_of_the_records_when_the_epochs_run_out() -> None:
    run = begin(TwoPhaseCommit(instances=2, producer_epochs=2, producer_ids=3))
    run.do("keep_prepared 0 1 1 0", "commit_append 0", "request_completion 1")
    run.do("complete_prepared 0 1 2", "commit_append 0", *MARKED, "receive_completion 1")
    assert run["dropped 0 0"]
    assert run["held.producer_id 1"] == 2
    assert run["seen_epoch 0 0"] == 1
    assert run["seen_epoch 0 1"] == 0
    assert run.broken() == set()


def test_an_ordinary_transaction_still_has_a_timeout() -> None:
    spec = TwoPhaseCommit(instances=2)
    *_, state = Interpreter.of(spec).initial(spec)
    run = Play(spec, state).do("init_producer 0 0 0 0", "commit_append 0", "begin 0 0")
    run.do("add_partition 0 0", "commit_append 0")
    assert "two_phase" in run.refused("keep_prepared 0 1 0 1")
    assert "two_phase" in run.refused("commit_in_database 0")
    assert "assigned" in run.refused("enable_two_phase 0")
    run.do("fence 0 1 0", "commit_append 0")
    assert run["aborted 0"]
