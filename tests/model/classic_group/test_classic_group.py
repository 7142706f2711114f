"""Runs of the classic-group spec: expired members, returning static members, new coordinators."""

from __future__ import annotations

from checkers.explicit.liveness import decide
from checkers.explicit.search import explore
from model.classic_group.bugs import (
    AcceptsAnyone,
    AddsInstances,
    BelievesOldClaims,
    ForgetsReplacement,
    ObeysOldAnswers,
    WaitsForLeader,
)
from model.classic_group.versions import ClassicGroup
from model.language import terms
from model.language.actions import Action
from tests.model.conftest import Begin

M0_ALONE = ("join 0", "complete_join", "assign 0", "receive_assignment 0")
M1_INSTEAD = ("join 1", "complete_join", "assign 1", "receive_assignment 1")


# ---- generations


def test_a_generation_begins_when_all_members_joined_or_expired(play: Begin) -> None:
    group = play(ClassicGroup()).do(*M0_ALONE, "join 1")
    assert group["consumer.owns 0"] is True  # it has not heard, and goes on
    group.do("join 0", "complete_join", "assign 0", "receive_assignment 0", "receive_assignment 1")
    assert (group["group.generation"], group["consumer.owns 1"]) == (2, False)


def test_an_expired_member_may_not_commit(play: Begin) -> None:
    zombie = (*M0_ALONE, *M1_INSTEAD)
    assert play(ClassicGroup()).do(*zombie).broken() == set()
    assert play(AcceptsAnyone()).do(*zombie).broken() == {"only_owners_commit"}


def test_an_answer_about_an_old_generation_is_ignored(play: Begin) -> None:
    meanwhile = (
        *M0_ALONE, "join 1", "join 0", "complete_join", "assign 0", "refuse 0",
        "receive_assignment 0",
    )  # fmt: skip
    group = play(ClassicGroup()).do(*meanwhile)
    assert group.broken_by("receive_refusal 0") == set()
    assert group["consumer.generation 0"] == 2
    wrong = play(ObeysOldAnswers()).do(*meanwhile)
    assert wrong.broken_by("receive_refusal 0") == {"old_answers_change_nothing"}
    assert wrong["consumer.generation 0"] == 0


def test_an_answer_about_the_present_generation_ends_it(play: Begin) -> None:
    group = play(ClassicGroup()).do(*M0_ALONE, *M1_INSTEAD, "refuse 0", "receive_refusal 0")
    assert group["consumer.generation 0"] == 0
    group.do("join 0")


# ---- KIP-341: who had the partition last

BOTH_CLAIM = (*M0_ALONE, *M1_INSTEAD, "miss 1", "join 0", "join 1", "complete_join")


def test_the_claim_of_the_latest_generation_wins(play: Begin) -> None:
    group = play(ClassicGroup()).do(*BOTH_CLAIM)
    assert "says_it_had" in group.refused("assign 0") or "claimed_in" in group.refused("assign 0")
    group.do("assign 1")
    assert (group["group.owners 0"], group["group.owners 1"]) == (False, True)


def test_a_partition_is_assigned_twice_if_every_claim_counts(play: Begin) -> None:
    assert play(BelievesOldClaims()).do(*BOTH_CLAIM, "assign 0").broken() == {"one_owner"}


# ---- KIP-345: static members

TWO_PROCESSES = ("start_static 0 0", "start_static 1 0")


def test_a_static_member_takes_its_old_place(play: Begin) -> None:
    group = play(ClassicGroup()).do(*TWO_PROCESSES, *M0_ALONE, "replace 1", "receive_assignment 1")
    assert (group["group.generation"], group["consumer.owns 1"]) == (1, True)
    assert group["group.members 0"] is False
    group.do("refuse 0", "receive_refusal 0")
    assert group["consumer.owns 0"] is False


def test_a_new_coordinator_knows_the_replacing_process(play: Begin) -> None:
    replaced = (*TWO_PROCESSES, *M0_ALONE, "replace 1", "receive_assignment 1")
    group = play(ClassicGroup()).do(*replaced, "fail_over")
    assert "generation" in group.refused("refuse 1")
    forgot = play(ForgetsReplacement()).do(*replaced)
    assert forgot.broken() == {"a_stable_group_survives"}
    forgot.do("fail_over", "refuse 1", "receive_refusal 1")  # fenced, for no fault of its own
    assert forgot["consumer.owns 1"] is False


def test_a_process_replaces_its_instance_during_a_rebalance(play: Begin) -> None:
    """A process that joins with the group.instance.id of a member replaces this member.

    With the bug KAFKA-8500 the instance has two members.
    """
    both = (*TWO_PROCESSES, "join 0", "join 1")
    group = play(ClassicGroup()).do(*both)
    assert (group["group.members 0"], group["group.members 1"]) == (False, True)
    assert play(AddsInstances()).do(*both).broken() == {"one_member_of_an_instance"}


# ---- a second partition

OWNERS = frozenset({"group.owners", "persisted.owners", "consumer.owns", "consumer.claims"})


def depends_on_owners(action: Action) -> bool:
    """Returns True if an owner decides whether the action is enabled, or what else it changes."""
    decides = [guard.formula for guard in action.guards]
    for write in action.writes:
        if write.variable.name not in OWNERS:
            decides += (*write.keys, write.condition, write.value)
    return any(terms.reads(formula) & OWNERS for formula in decides)


def test_only_the_assignment_depends_on_an_owner() -> None:
    """So each partition of a group with several partitions goes through the states of this spec."""
    spec = ClassicGroup()
    assert {variable.name for variable in spec.variables} >= OWNERS
    assert [a.name for a in spec.actions if depends_on_owners(a)] == ["assign"]


# ---- explored


def test_the_claims_hold_in_every_state_of_a_small_scope() -> None:
    found = explore(ClassicGroup(generations=2))
    assert found.exhausted
    assert not found.violated
    assert not found.never_taken


def test_the_group_rebalances_if_its_leader_assigns_nothing() -> None:
    assert (
        decide(ClassicGroup(generations=2))["a_joining_member_gets_a_generation"].verdict == "holds"
    )
    waits = decide(WaitsForLeader(generations=2))["a_joining_member_gets_a_generation"]
    assert [step.action for step in waits.trace[1:]] == ["join", "join", "complete_join"]
