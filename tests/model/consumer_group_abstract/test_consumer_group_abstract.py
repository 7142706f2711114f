"""KIP-848 groups: each partition has at most one owner. This is proved, and a spec that lacks one
of the rules fails the proof.
"""

from __future__ import annotations

import pytest

from checkers.symbolic import CounterexampleToInduction, counterexample_to_induction, prove
from model.consumer_group_abstract.bugs import (
    CommitsInAnyEpoch,
    ErasesWhatComesBack,
    ForgetsWhoRejoins,
    FreesAtOnce,
    FreesWhileAway,
    ReadsOnWhenFenced,
    TakesWhatIsOwned,
    WantsExactEpoch,
)
from model.consumer_group_abstract.versions import AbstractConsumerGroup, AbstractStaticMembers
from tests.model.conftest import Begin


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_claims_are_proved_without_bounds(seed: int) -> None:
    proof = prove(AbstractConsumerGroup(), seed=seed)
    assert proof.holds, proof.reason
    assert proof.assumptions == ()


def test_the_claims_are_proved_with_static_members() -> None:
    proof = prove(AbstractStaticMembers())
    assert proof.holds, proof.reason
    assert proof.assumptions == ()


def test_partitions_that_are_free_while_their_member_is_away_fail_the_proof() -> None:
    failed = prove(FreesWhileAway()).failed
    assert {f"{c.action} {c.claim}" for c in failed} == {
        "leave_for_now taken_partitions_have_a_member"
    }
    assert {c.verdict for c in failed} == {"refuted"}


@pytest.mark.parametrize(
    ("wrong", "at"),
    [
        (ErasesWhatComesBack, {"heartbeat taken_partitions_have_a_member"}),
        (
            FreesAtOnce,
            {
                "heartbeat owners_may_commit",
                "heartbeat live_owners_have",
                "heartbeat answered_owners_have",
            },
        ),
        (
            TakesWhatIsOwned,
            {"heartbeat no_double_assignment", "heartbeat one_member_commits"},
        ),
        (
            ReadsOnWhenFenced,
            {
                "be_fenced one_reader",
                "be_fenced owners_may_commit",
                "be_fenced live_owners_have",
                "be_fenced joining_consumers_own_nothing",
                "be_fenced owners_know_since_when",
            },
        ),
        (WantsExactEpoch, {"heartbeat owners_may_commit", "revoke owners_may_commit"}),
        (CommitsInAnyEpoch, {"receive_response one_member_commits"}),
        (ForgetsWhoRejoins, {"join taken_partitions_have_a_member"}),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[AbstractConsumerGroup], at: set[str]
) -> None:
    proof = prove(wrong())
    assert {f"{c.action} {c.claim}" for c in proof.failed} == at
    assert {c.verdict for c in proof.failed} == {"refuted"}


def test_one_reader_is_still_proved_with_a_bug_in_commits() -> None:
    """Before KIP-1251, the coordinator may refuse a commit of the consumer that owns a partition.

    The proof still shows that at most one consumer reads a partition.
    """
    proof = prove(WantsExactEpoch())
    assert proof.dropped == ("owners_may_commit",)
    assert {"no_double_assignment", "one_reader", "one_member_commits"} <= proof.proved


def test_a_step_to_two_owners_has_two_partitions_too() -> None:
    spec = TakesWhatIsOwned(partitions=2)
    found = counterexample_to_induction(
        spec, "heartbeat", "no_double_assignment", scope=spec.scope()
    )
    assert isinstance(found, CounterexampleToInduction)


# two members; member 0 owns partition 0, in epoch 1
WITH_AN_OWNER = [
    "join 0",
    "join 1",
    "compute_target 0 0 1",
    "heartbeat 0",
    "receive_response 0",
]


def test_a_partition_waits_until_its_owner_has_given_it_up(play: Begin) -> None:
    run = play(AbstractConsumerGroup()).do(
        *WITH_AN_OWNER, "compute_target 0 1 2", "heartbeat 0", "heartbeat 1", "receive_response 1"
    )
    assert [run.state["owns", (m, 0)] for m in range(2)] == [True, False]
    assert [run.state["member_epoch", (m,)] for m in range(2)] == [1, 2]
    run.do("receive_response 0", "revoke 0 0", "heartbeat 0", "heartbeat 1", "receive_response 1")
    assert [run.state["owns", (m, 0)] for m in range(2)] == [False, True]
    assert run.broken() == set()


def test_a_member_stays_in_its_epoch_until_it_has_given_up_every_partition(play: Begin) -> None:
    run = play(AbstractConsumerGroup(partitions=2)).do(
        "join 0",
        "join 1",
        "compute_target 0 0 1",
        "compute_target 1 0 1",
        "heartbeat 0",
        "receive_response 0",
        "compute_target 0 1 2",
        "compute_target 1 1 2",
        "heartbeat 0",
        "receive_response 0",
        "revoke 0 0",
        "heartbeat 0",
        "heartbeat 1",
    )
    assert run.state["member_epoch", (0,)] == 1
    assert [run.state["assigned", (1, p)] for p in range(2)] == [False, False]
    run.do("revoke 0 1", "heartbeat 0", "heartbeat 1")
    assert run.state["member_epoch", (0,)] == 2
    assert [run.state["assigned", (1, p)] for p in range(2)] == [True, True]


def test_a_consumer_that_is_fenced_may_own_what_another_one_reads(play: Begin) -> None:
    run = play(AbstractConsumerGroup()).do(
        *WITH_AN_OWNER, "expire 0 1", "compute_target 0 1 2", "heartbeat 1", "receive_response 1"
    )
    assert [run.state["owns", (m, 0)] for m in range(2)] == [True, True]
    assert run.broken() == set()
    run.do("be_fenced 0", "join 0", "heartbeat 0", "receive_response 0")
    assert [run.state["owns", (m, 0)] for m in range(2)] == [False, True]
