"""The guarantees of share groups are proved. If one of the rules is left out, the proof fails."""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.language.interpreter import Interpreter
from model.share_group_abstract.bugs import (
    AcknowledgesForOthers,
    AcquiresInTransition,
    AvailableAfterTheLimit,
    DeliversWithoutLimit,
    LastWriteWins,
    LocksNothing,
    ReadsWithoutFencing,
    SkipsGaps,
)
from model.share_group_abstract.versions import AbstractShareGroup, Kafka43
from tests.model.conftest import Begin, Play
from tests.model.proofs import assert_fails


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_claims_are_proved_without_bounds(seed: int) -> None:
    proof = prove(AbstractShareGroup(), seed=seed)
    assert proof.holds, proof.reason
    assert proof.assumptions == ()


@pytest.mark.parametrize(
    ("wrong", "action", "claim"),
    [
        (Kafka43, "persist", "confirmed_is_stored"),
        (Kafka43, "lose_answer", "confirmed_is_stored"),
        (Kafka43, "persist", "start_offset_never_goes_back"),
        (Kafka43, "lose_answer", "start_offset_never_goes_back"),
        (SkipsGaps, "move_start", "no_record_is_skipped"),
        (AcquiresInTransition, "acquire", "one_member_has_a_record"),
        (ReadsWithoutFencing, "initialize", "leader_epochs_are_ordered"),
        (AvailableAfterTheLimit, "lose_write", "available_is_below_the_limit"),
        (LastWriteWins, "persist", "confirmed_is_stored"),
        (AcknowledgesForOthers, "accept", "one_member_has_a_record"),
        (DeliversWithoutLimit, "time_out", "available_is_below_the_limit"),
        (LocksNothing, "acquire", "one_member_has_a_record"),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[AbstractShareGroup], action: str, claim: str
) -> None:
    assert_fails(wrong(), action, claim, wrong().scope())


# ---- runs

# A write for record 1 is in flight; the acknowledgements of records 0 and 2 are stored before it.
LATE_WRITE = [
    "acquire 0 0 1",
    "acquire 0 1 1",
    "acquire 0 2 1",
    "time_out 1 0",
    "accept 0 0 1",
    "persist 1",
    "move_start 1",
    "accept 0 2 1",
    "persist 1",
    "persist 0",
    "elect 1",
    "initialize",
]


def test_a_late_write_moves_no_start_offset_back(play: Begin) -> None:
    run = play(AbstractShareGroup(members=1, offsets=3, writes=2)).do(*LATE_WRITE)
    assert run["stored_start"] == 1
    assert "start <= x" in run.refused("acquire 0 0 1")
    assert run.broken() == set()


def test_after_a_late_write_kafka_delivers_an_accepted_record_again(play: Begin) -> None:
    """The run has the steps of docs/findings/accepted-record-returns.md, and the rules of Kafka
    4.3.
    """
    run = play(Kafka43(members=1, offsets=3, writes=2)).do(*LATE_WRITE)
    assert run.broken() == {"start_offset_never_goes_back"}
    run.do("acquire 0 0 1")
    assert run.broken() == {"start_offset_never_goes_back", "acknowledgements_last"}


def test_a_late_write_of_an_earlier_delivery_does_not_replace_the_stored_count() -> None:
    spec = AbstractShareGroup(members=1, offsets=1, writes=2, counts=4)
    *_, with_largest_limit = Interpreter.of(spec).initial(spec)
    run = Play(spec, with_largest_limit)
    run.do("acquire 0 0 1", "time_out 0 0", "acquire 0 0 2", "release 0 0 1", "persist 1")
    assert run["stored.count 0"] == 2
    run.do("persist 0")
    assert run["stored.count 0"] == 2


def test_a_lost_answer_returns_the_record_to_its_member(play: Begin) -> None:
    run = play(AbstractShareGroup()).do("acquire 0 0 1", "accept 0 0 0", "lose_answer 0")
    assert (run["stored.is_final 0"], run["record.member 0"], run["confirmed 0"]) == (
        True,
        0,
        False,
    )
    run.do("accept 0 0 0", "persist 0")
    assert run["confirmed 0"]
    assert "is_final" in run.refused("acquire 1 0 1")


def test_a_new_leader_makes_the_coordinator_refuse_the_old_one(play: Begin) -> None:
    run = play(AbstractShareGroup()).do(
        "acquire 0 0 1", "accept 0 0 0", "elect 1", "initialize", "persist 0"
    )
    assert not run["confirmed 0"]
    run.do("acquire 1 0 1")
    assert run.broken() == set()
