"""The next coordinator completes a prepared transaction, and never decides it again."""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.pipeline_abstract.failover import WithFailover
from model.pipeline_abstract.failover_bugs import AnswersEarly, DecidesAgain, ForgetsPrepared
from tests.model.conftest import Begin
from tests.model.proofs import assert_fails


def test_the_claims_are_proved_without_bounds() -> None:
    proof = prove(WithFailover())
    assert proof.holds, proof.reason
    assert proof.assumptions == ()


@pytest.mark.parametrize(
    ("wrong", "action", "claim"),
    [
        (ForgetsPrepared, "fail_over", "position_is_exact"),
        (DecidesAgain, "abort", "an_append_follows_the_log"),
        (AnswersEarly, "receive_end", "no_request_is_newer"),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[WithFailover], action: str, claim: str
) -> None:
    assert_fails(wrong(), action, claim, wrong().scope())


# ---- runs

# all requests of instance 0 with the epoch 1 have arrived; the coordinator appends PrepareCommit
REQUESTED = [
    "init_transactions 0 0 1",
    "commit_init 0",
    "assign 0 0",
    "fetch_offset 0 0",
    "process 0 0 0 1",
    "send_offset 0 0 0",
    "add_to_transaction 0",
    "append 0 1 0 0",
    "accept_offset 0 1 0",
    "request_commit 0 0",
    "commit 0 2",
]


def test_the_next_coordinator_completes_a_prepared_commit(play: Begin) -> None:
    run = play(WithFailover(epochs=4)).do(*REQUESTED, "commit_end 0", "write_output_marker 0 1")
    run.do("fail_over")
    assert run.refused("abort 0 3") == "ongoing[x]"
    run.do("write_offset_marker 0 1", "complete 0")
    assert (run["received 0 0"], run["committed_offset 0"]) == (True, 1)
    assert run.broken() == set()


def test_a_lost_record_leaves_the_transaction_ongoing(play: Begin) -> None:
    """The client sends EndTxn again, or the next coordinator aborts the transaction."""
    run = play(WithFailover(epochs=4)).do(*REQUESTED, "fail_over")
    assert "committed_at" in run.refused("receive_end 0 0")
    run.do("commit 0 3", "commit_end 0", "receive_end 0 0")
    assert run["held_epoch 0"] == 3


def test_an_instance_without_response_initializes_again(play: Begin) -> None:
    run = play(WithFailover()).do("init_transactions 0 0 1", "fail_over")
    assert run["newest_epoch 0"] == 0
    run.do("lose_init_response 0 1", "commit_init 0")
    assert (run["newest_epoch 0"], run["held_epoch 0"]) == (1, 0)
    run.do("init_transactions 0 0 2", "commit_init 0")
    assert run["held_epoch 0"] == 2


def test_nothing_is_opened_while_a_record_is_not_committed(play: Begin) -> None:
    run = play(WithFailover(epochs=4)).do(*REQUESTED[:6], "init_transactions 1 0 2")
    assert run.refused("add_to_transaction 0") == "~is_appending[x]"
    run.do("commit_init 0")
    assert "newest_epoch" in run.refused("add_to_transaction 0")


def test_an_early_response_loses_the_input(play: Begin) -> None:
    run = play(AnswersEarly(epochs=4)).do(*REQUESTED, "receive_end 0 0", "fail_over")
    assert run["position 0 0"] == 1, "the client goes on, although nothing is committed"
    run.do("abort 0 2", "commit_end 0", "write_output_marker 0 1", "write_offset_marker 0 1")
    run.do("complete 0", "send_offset 0 0 0", "add_to_transaction 0", "accept_offset 0 2 0")
    run.do("request_commit 0 0", "commit 0 3", "commit_end 0")
    assert run.broken() == {"position_is_exact"}
