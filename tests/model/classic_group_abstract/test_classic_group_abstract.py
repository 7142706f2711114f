"""Classic groups: it is proved that each partition has at most one owner. Without one of the rules,
the proof
fails.
"""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.classic_group_abstract.bugs import (
    AcceptsAnyone,
    AddsInstances,
    BelievesOldClaims,
    ForgetsReplacement,
    ReadsOnWhenJoining,
)
from model.classic_group_abstract.versions import AbstractClassicGroup
from tests.model.conftest import Begin


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_claims_are_proved_without_bounds(seed: int) -> None:
    proof = prove(AbstractClassicGroup(), seed=seed)
    assert proof.holds, proof.reason
    assert proof.assumptions == ()


@pytest.mark.parametrize(
    ("wrong", "at"),
    [
        (AddsInstances, {"join one_member_of_an_instance"}),
        (
            ForgetsReplacement,
            {"replace a_stable_group_survives", "replace owners_of_a_persisted_generation"},
        ),
        (BelievesOldClaims, {"assign one_owner"}),
        (
            ReadsOnWhenJoining,
            {
                "join only_owners_commit",
                "join current_owners_own",
                "replace only_owners_commit",
                "replace current_owners_own",
            },
        ),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[AbstractClassicGroup], at: set[str]
) -> None:
    proof = prove(wrong())
    assert {f"{c.action} {c.claim}" for c in proof.failed} == at
    assert {c.verdict for c in proof.failed} == {"refuted"}


def test_commits_of_anyone_fail_one_claim_alone() -> None:
    proof = prove(AcceptsAnyone())
    assert {c.claim for c in proof.failed} == {"only_owners_commit"}
    assert proof.dropped == ("only_owners_commit",)
    assert "one_owner" in proof.proved


# two members; member 0 owns partition 0, in generation 1
WITH_AN_OWNER = [
    "join 0",
    "join 1",
    "complete_join 1",
    "assign 0 0",
    "persist_assignment",
    "receive_assignment 0",
    "receive_assignment 1",
]


def test_the_sticky_assignor_lets_the_last_owner_keep_its_partition(play: Begin) -> None:
    run = play(AbstractClassicGroup()).do(
        *WITH_AN_OWNER, "miss 1", "join 1", "join 0", "complete_join 2"
    )
    assert "someone_keeps" in run.refused("assign 0 1")
    run.do("assign 0 0", "persist_assignment", "receive_assignment 0", "receive_assignment 1")
    assert [run.state["owns", (m, 0)] for m in range(2)] == [True, False]


def test_another_coordinator_knows_the_owner(play: Begin) -> None:
    run = play(AbstractClassicGroup()).do(
        *WITH_AN_OWNER, "leave_generation 1", "join 1", "fail_over"
    )
    assert run.state["group.owners", (0, 0)]
    assert run.state["is_assigned", ()]
    assert run.broken() == set()


def test_a_static_member_that_comes_back_gets_what_it_had(play: Begin) -> None:
    run = play(AbstractClassicGroup()).do(
        "start_static 0 0",
        "start_static 1 0",
        "join 0",
        "complete_join 1",
        "assign 0 0",
        "persist_assignment",
        "receive_assignment 0",
        "replace 1",
        "receive_assignment 1",
    )
    assert [run.state["owns", (m, 0)] for m in range(2)] == [True, True]
    assert [run.state["group.members", (m,)] for m in range(2)] == [False, True]
    assert run.broken() == set()
