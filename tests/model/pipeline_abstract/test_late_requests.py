"""With late requests, the effect of each input exactly once is proved; each rule is needed."""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.pipeline_abstract.late_bugs import (
    AcceptsLateCommits,
    AcceptsLateOffsets,
    AcceptsOldGenerations,
    CommitsUnacknowledged,
    KeepsEpoch,
    LaxMarkers,
    SkipsVerification,
)
from model.pipeline_abstract.late_requests import WithLateRequests
from tests.model.conftest import Begin
from tests.model.proofs import assert_fails


def test_the_claims_are_proved_without_bounds() -> None:
    proof = prove(WithLateRequests())
    assert proof.holds, proof.reason
    assert proof.assumptions == ()


@pytest.mark.parametrize(
    ("wrong", "action", "claim"),
    [
        (KeepsEpoch, "write_output_marker", "markers_are_seen"),
        (SkipsVerification, "append", "content_is_of_the_latest_transaction"),
        (AcceptsLateOffsets, "accept_offset", "content_is_of_the_latest_transaction"),
        (AcceptsLateCommits, "commit", "ends_raise_the_epoch"),
        (AcceptsOldGenerations, "accept_offset", "only_the_reader_sends_offsets"),
        (CommitsUnacknowledged, "request_commit", "commits_are_acknowledged"),
        (LaxMarkers, "write_output_marker", "position_is_exact"),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[WithLateRequests], action: str, claim: str
) -> None:
    assert_fails(wrong(), action, claim, wrong().scope())


# ---- runs

# the condition of an append that the transaction of its epoch has begun
IN_TRANSACTION = "(ongoing[x] | committed[x] | aborted[x]) & (transaction_epoch[x] == e)"

# instance 0 has the epoch 1 of id 0, and has sent the record of input 0; nothing has arrived
SENT = ["init_transactions 0 0 1", "assign 0 0", "fetch_offset 0 0", "process 0 0 0 1"]
ADDED = ["send_offset 0 0 0", "add_to_transaction 0"]
ARRIVED = ["append 0 1 0 0", "accept_offset 0 1 0"]
COMMITTED = ["request_commit 0 0", "commit 0 2"]
ENDED = ["write_output_marker 0 1", "write_offset_marker 0 1", "complete 0"]


def test_a_commit_waits_until_all_requests_are_acknowledged(play: Begin) -> None:
    run = play(WithLateRequests()).do(*SENT, *ADDED, "append 0 1 0 0")
    assert "accepted" in run.refused("request_commit 0 0")
    run.do("accept_offset 0 1 0", *COMMITTED, *ENDED)
    assert (run["received 0 0"], run["committed_offset 0"]) == (True, 1)
    assert run.broken() == set()


def test_a_late_record_is_refused_after_the_marker(play: Begin) -> None:
    run = play(WithLateRequests()).do(*SENT, *ADDED, "accept_offset 0 1 0", "abort 0 2")
    run.do("write_output_marker 0 1")
    assert run.refused("append 0 1 0 0") == "output_epoch[x] <= e"
    run.do("write_offset_marker 0 1", "complete 0")
    assert "transaction_epoch" in run.refused("append 0 1 0 0")


def test_an_aborted_transaction_takes_late_requests_until_its_marker(play: Begin) -> None:
    run = play(WithLateRequests()).do(*SENT, *ADDED, "abort 0 2", *ARRIVED)
    run.do(*ENDED)
    assert (run["received 0 0"], run["committed_offset 0"]) == (False, 0)
    assert run.broken() == set()


def test_a_fenced_instance_cannot_open_a_transaction(play: Begin) -> None:
    run = play(WithLateRequests()).do(*SENT, "lose_init_response 0 2")
    assert "newest_epoch" in run.refused("add_to_transaction 0")
    assert run.refused("append 0 1 0 0") == IN_TRANSACTION


def test_a_lost_response_is_requested_again(play: Begin) -> None:
    run = play(WithLateRequests(epochs=4)).do(*SENT, "lose_init_response 0 2")
    run.do("init_transactions 0 0 3", "fetch_offset 0 0")
    assert (run["held_epoch 0"], run["position 0 0"]) == (3, 0)


def test_the_response_to_a_commit_has_the_next_epoch(play: Begin) -> None:
    run = play(WithLateRequests(offsets=3, epochs=4)).do(*SENT, *ADDED, *ARRIVED, *COMMITTED)
    run.do("receive_end 0 0", "process 0 0 0 2")
    assert run.refused("append 0 2 0 1") == IN_TRANSACTION, "no marker yet"
    run.do(*ENDED, "send_offset 0 0 0", "add_to_transaction 0", "append 0 2 0 1")
    run.do("accept_offset 0 2 0", "request_commit 0 0", "commit 0 3")
    run.do("write_output_marker 0 2", "write_offset_marker 0 2", "complete 0")
    assert run["committed_offset 0"] == 2
    assert run.refused("write_output_marker 0 1") == "output_epoch[x] < marker_epoch[x][e]"
    assert run.broken() == set()


def test_an_instance_fetches_again_after_an_abort(play: Begin) -> None:
    run = play(WithLateRequests(epochs=4)).do(*SENT, "add_to_transaction 0", "request_abort 0 0")
    run.do("abort 0 2", "receive_end 0 0")
    assert not run["reads 0 0"]
    run.do(*ENDED, "fetch_offset 0 0", "process 0 0 0 1")
    assert run["sent 0 2 0 0"]
    assert run.refused("append 0 1 0 0") == IN_TRANSACTION


def test_an_offset_of_an_old_generation_is_refused(play: Begin) -> None:
    run = play(WithLateRequests()).do(*SENT, *ADDED, "append 0 1 0 0", "rebalance 1", "assign 0 1")
    assert run.refused("accept_offset 0 1 0") == "sent_generation[x][e][p] == generation"
