"""A producer continues after an error, and a lost response is repeated (KIP-360)."""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.coordinator_abstract.bugs import (
    NewInstanceKeepsLast,
    RaisesForZombies,
    RepeatsForZombies,
)
from model.coordinator_abstract.continuation import Continuation
from model.language.interpreter import Interpreter
from tests.model.conftest import Play
from tests.model.proofs import assert_fails


def test_the_claims_are_proved_without_bounds() -> None:
    proof = prove(Continuation(), seed=0)
    assert proof.holds, proof.reason
    assert proof.assumptions == ()


@pytest.mark.parametrize(
    ("wrong", "action"),
    [
        (RaisesForZombies, "raise_epoch"),
        (RepeatsForZombies, "repeat_response"),
        (NewInstanceKeepsLast, "repeat_response"),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[Continuation], action: str
) -> None:
    assert_fails(wrong(), action, "a_continuation_follows")


def begin() -> Play:
    """Returns an execution in which instance 0 has producer id 0 and epoch 0.

    There are two instances and five producer epochs. The last initial state, in which `last_epoch`
    is the largest of them, is used.
    """
    spec = Continuation(instances=2, producer_epochs=5)
    *_, state = Interpreter.of(spec).initial(spec)
    return Play(spec, state).do("init_producer 0 0 0 0", "commit_append 0")


LOST = ["raise_epoch 0 0 0 1", "lose_response 0", "commit_append 0"]


def test_a_repeated_request_gets_the_epoch_of_the_lost_response() -> None:
    run = begin().do(*LOST, "fail_over 1")
    assert run["held.producer_epoch 0"] == 0
    run.do("repeat_response 0 0", "lose_response 0", "commit_append 0")
    run.do("repeat_response 0 0", "commit_append 0")
    assert run["held.producer_epoch 0"] == run["log.producer_epoch 0"] == 1
    assert run.broken() == set()


def test_a_replaced_instance_neither_continues_nor_repeats_its_request() -> None:
    run = begin().do(*LOST, "init_producer 0 1 0 2", "commit_append 0")
    assert "producer_epoch" in run.refused("raise_epoch 0 0 0 3")
    assert "has_last" in run.refused("repeat_response 0 0")
    run.do("raise_epoch 0 1 0 3", "commit_append 0")
    assert "last_epoch" in run.refused("repeat_response 0 0")
    assert run["newest 0"] == 1


def test_the_client_of_a_decision_may_get_its_epoch_by_init_producer_id() -> None:
    run = begin().do("begin 0 0", "add_partition 0 0", "commit_append 0", "request_commit 0")
    run.do("prepare_commit 0 1 0", "commit_append 0")
    assert "is_prepared" in run.refused("repeat_response 0 0")
    run.do("write_marker 0 0 0", "complete 0", "commit_append 0")
    run.do("repeat_response 0 0", "commit_append 0")
    assert run["held.producer_epoch 0"] == 1
    assert "held" in run.refused("receive_end 0"), "the client has gone on"
