"""In transaction version 1, verification prevents hanging records, and nothing else (KIP-890 part
1).
"""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.coordinator_abstract.verification_bugs import (
    AppendsWithoutGuard,
    BelievesLateRecords,
    BelievesLateRequests,
    ConfirmsAfterFailover,
    MarkerKeepsGuard,
    VerifiesNothing,
    VouchesForPrepared,
)
from model.coordinator_abstract.verification_claims import Verification
from model.language.interpreter import Interpreter
from tests.model.conftest import Play
from tests.model.proofs import assert_fails


def test_the_claims_are_proved_without_bounds() -> None:
    proof = prove(Verification(), seed=0)
    assert proof.holds, proof.reason
    assert proof.assumptions == ()


@pytest.mark.parametrize(
    ("wrong", "action", "claim"),
    [
        (VerifiesNothing, "append", "no_hanging_transaction"),
        (AppendsWithoutGuard, "append", "no_hanging_transaction"),
        (MarkerKeepsGuard, "write_marker", "a_verified_request_is_covered"),
        (VouchesForPrepared, "confirm", "a_verified_request_is_covered"),
        (ConfirmsAfterFailover, "confirm", "a_verified_request_is_covered"),
        (BelievesLateRecords, "append", "pending_records_are_of_the_newest_epoch"),
        (BelievesLateRequests, "prepare_commit", "a_record_has_a_begun_transaction"),
    ],
)
def test_a_missing_rule_or_condition_fails_the_proof_at_its_action(
    wrong: type[Verification], action: str, claim: str
) -> None:
    assert_fails(wrong(), action, claim)


VERIFIED = ["start_verification 0 0", "confirm 0 0"]
ABORTED = ["request_abort 0", "prepare_abort 0 0 0", "commit_append 0"]
ENDED = ["write_marker 0 0 0", "complete 0", "commit_append 0", "receive_end 0"]
NEXT = ["begin 1 0", "add_partition 1 0", "commit_append 0"]


def begin(spec: Verification) -> Play:
    """Returns an execution in which transaction 0 of instance 0 has partition 0, and no record.

    It begins in the last initial state: there, `last_epoch` is the largest producer epoch.
    """
    *_, state = Interpreter.of(spec).initial(spec)
    return Play(spec, state).do(
        "init_producer 0 0 0 0", "commit_append 0", "begin 0 0", "add_partition 0 0"
    )


def test_a_record_is_appended_only_after_its_verification() -> None:
    run = begin(Verification()).do("start_verification 0 0")
    assert "partitions" in run.refused("confirm 0 0"), "the partition is not added yet"
    run.do("commit_append 0")
    assert "vouched" in run.refused("append 0 0")
    run.do("confirm 0 0", "append 0 0")
    assert "pending" in run.refused("start_verification 0 0"), "it needs no verification now"
    run.do("append 0 0")
    assert run.broken() == set()


def test_a_marker_between_the_confirmation_and_the_append_fences_the_record() -> None:
    run = begin(Verification()).do("commit_append 0", *VERIFIED, *ABORTED)
    assert "is_ongoing" in run.refused("confirm 0 0"), "the end is prepared"
    run.do("write_marker 0 0 0")
    assert "guarded" in run.refused("append 0 0")
    run.do("start_verification 0 0")
    assert "is_ongoing" in run.refused("confirm 0 0")


def test_a_new_leader_has_no_guards() -> None:
    run = begin(Verification()).do("commit_append 0", *VERIFIED, "change_leader 0")
    assert "guarded" in run.refused("append 0 0")
    run.do(*VERIFIED, "append 0 0")
    assert run.broken() == set()


@pytest.mark.parametrize("wrong", [AppendsWithoutGuard, MarkerKeepsGuard])
def test_without_the_guard_a_record_hangs(wrong: type[Verification]) -> None:
    run = begin(wrong()).do("commit_append 0", *VERIFIED, *ABORTED, "write_marker 0 0 0")
    assert run.do("append 0 0").broken() == {"no_hanging_transaction"}


def test_a_replaced_coordinator_confirms_a_record_that_hangs() -> None:
    """The transaction was aborted by the new coordinator, and the partition has its marker."""
    aborted = ["commit_append 0", "fail_over 1", *ABORTED, "write_marker 0 0 1"]
    run = begin(Verification()).do(*aborted, "start_verification 0 0")
    assert "is_ongoing" in run.refused("confirm 0 0")
    run = begin(ConfirmsAfterFailover()).do(*aborted, *VERIFIED, "append 0 0")
    assert run.broken() == {"no_hanging_transaction"}


def test_a_late_marker_that_ends_no_record_leaves_the_order() -> None:
    run = begin(Verification()).do("commit_append 0", *ABORTED, *ENDED, *NEXT)
    assert not run.do("write_marker 0 0 0")["disordered"]
    run.do("start_verification 1 0", "confirm 1 0", "append 1 0", "write_marker 0 0 0")
    assert run["disordered"]


def test_a_late_record_is_committed_with_the_next_transaction() -> None:
    """Two transactions of a client have the same producer id and epoch. Verification compares only
    these, so it accepts a record of the first transaction in the second one.
    """
    run = begin(BelievesLateRecords()).do("commit_append 0", *ABORTED, *ENDED, *NEXT)
    run.do(*VERIFIED, "append 0 0", "request_commit 1", "prepare_commit 1 0 0", "commit_append 0")
    run.do("write_marker 1 0 0")
    assert run["aborted 0"]
    assert run["kept 0 0"]
    assert run.broken() == {"faithful"}


def test_a_fence_refuses_the_record_of_the_old_epoch() -> None:
    run = begin(Verification()).do("commit_append 0", *VERIFIED, "append 0 0", "fence 0 1 0")
    run.do("commit_append 0", "write_marker 0 0 0", "complete 0", "commit_append 0")
    assert "seen_epoch" in run.refused("append 0 0")
    run.do("request_commit 0")
    assert "producer_epoch" in run.refused("receive_end 0"), "the client is fenced"
