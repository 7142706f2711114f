"""Runs with static members of a KIP-848 group: they leave for a while, and come back."""

from __future__ import annotations

from checkers.explicit.liveness import decide
from model.consumer_group.static_bugs import (
    AddsInstances,
    FencesNoInstance,
    FreesWhileAway,
    RefusesOwnInstance,
    ReplacesInstanceInUse,
)
from model.consumer_group.versions import StaticMembers
from tests.model.conftest import Begin

STATIC_OWNER = (
    "start_static 0 0", "join 0", "compute_target 0 0", "heartbeat 0", "receive_response 0",
)  # fmt: skip


def test_a_static_member_comes_back_without_a_new_group_epoch(play: Begin) -> None:
    group = play(StaticMembers()).do(*STATIC_OWNER, "leave_for_now 0")
    assert (group["consumer.owns 0 0"], group["member.joined 0"]) == (False, True)
    group.do("come_back 0 0", "heartbeat 0", "receive_response 0")
    assert (group["consumer.owns 0 0"], group["group_epoch"]) == (True, 1)


def test_another_process_takes_the_place_of_a_member_that_is_away(play: Begin) -> None:
    group = play(StaticMembers()).do(*STATIC_OWNER, "start_static 1 0", "leave_for_now 0")
    assert group.refused("join 1")  # as a second member
    group.do("come_back 1 0", "heartbeat 1", "receive_response 1")
    assert (group["consumer.owns 1 0"], group["consumer.epoch 1"]) == (True, 1)
    assert (group["group_epoch"], group["member.joined 0"]) == (1, False)


def test_a_member_that_is_away_keeps_its_partition_until_its_session_expires(play: Begin) -> None:
    group = play(StaticMembers()).do(*STATIC_OWNER, "leave_for_now 0")
    group.do("join 1", "compute_target 0 1", "heartbeat 1", "receive_response 1")
    assert (group["target 0"], group["consumer.owns 1 0"]) == (1, False)
    group.do("expire 0", "heartbeat 1", "receive_response 1")
    assert group["consumer.owns 1 0"] is True


def test_a_member_that_leaves_for_now_frees_what_it_had_to_revoke(play: Begin) -> None:
    group = play(StaticMembers()).do(*STATIC_OWNER, "join 1", "compute_target 0 1", "heartbeat 0")
    assert (group["member.revoking 0 0"], group["partition_epoch 0"]) == (1, 1)
    group.do("leave_for_now 0")
    assert group["member.revoking 0 0"] is None
    assert group["partition_epoch 0"] is None


def test_two_members_have_a_partition_that_is_free_while_its_member_is_away(play: Begin) -> None:
    taken = ("join 1", "compute_target 0 1", "heartbeat 1")
    assert play(StaticMembers()).do(*STATIC_OWNER, "leave_for_now 0", *taken).broken() == set()
    wrong = play(FreesWhileAway()).do(*STATIC_OWNER, "leave_for_now 0", *taken)
    assert wrong.broken() == {"no_double_assignment"}


# ---- UNRELEASED_INSTANCE_ID


def test_a_process_waits_until_the_member_of_its_instance_is_away(play: Begin) -> None:
    group = play(StaticMembers()).do(*STATIC_OWNER, "start_static 1 0")
    assert group.refused("come_back 1 0") == "is_away[other]"
    wrong = play(ReplacesInstanceInUse()).do(*STATIC_OWNER, "start_static 1 0")
    assert wrong.broken_by("come_back 1 0") == {"a_replaced_process_owns_nothing"}
    assert wrong["consumer.owns 0 0"] is True


def test_a_process_that_joins_beside_a_member_is_a_second_member(play: Begin) -> None:
    wrong = play(AddsInstances()).do(*STATIC_OWNER, "start_static 1 0", "join 1")
    assert "one_member_of_an_instance" in wrong.broken()


NEXT = ("change_subscription", "compute_target 0 0", "heartbeat 0")
FENCED = (*STATIC_OWNER, *NEXT, *NEXT, "be_fenced 0")  # its heartbeat is two epochs behind


def test_a_fenced_static_member_joins_again_with_its_member_id(play: Begin) -> None:
    group = play(StaticMembers()).do(*FENCED, "heartbeat 0", "receive_response 0")
    assert (group["consumer.owns 0 0"], group["consumer.epoch 0"]) == (True, 3)
    wrong = play(RefusesOwnInstance()).do(*FENCED)
    assert wrong.refused("heartbeat 0")
    assert wrong.refused("come_back 0 0")


def test_a_refused_static_member_never_comes_back() -> None:
    verdicts = decide(RefusesOwnInstance(epochs=3))
    assert {d.verdict for d in verdicts.values()} == {"violated"}
    assert {d.verdict for d in decide(StaticMembers(epochs=3)).values()} == {"holds"}


# ---- FENCED_INSTANCE_ID

REPLACED = (  # the session of m0 expires, and m1 is the member with its group.instance.id
    *STATIC_OWNER, "expire 0", "start_static 1 0", "join 1", "compute_target 0 1", "heartbeat 1",
    "receive_response 1",
)  # fmt: skip


def test_a_replaced_process_is_fenced(play: Begin) -> None:
    group = play(StaticMembers()).do(*REPLACED)
    assert (group["consumer.owns 0 0"], group["consumer.owns 1 0"]) == (True, True)
    assert group.refused("heartbeat 0")
    group.do("be_fenced 0")
    assert group["consumer.owns 0 0"] is False


def test_a_replaced_process_that_leaves_changes_no_member(play: Begin) -> None:
    group = play(StaticMembers()).do(*REPLACED, "leave_late 0 1")
    assert group.broken() == set()
    assert group.refused("come_back 0 1") == "is_away[other]"
    wrong = play(FencesNoInstance()).do(*REPLACED, "leave_late 0 1")
    assert wrong.broken() == {"a_member_that_is_away_owns_nothing"}
    assert wrong.broken_by("come_back 0 1") == {"a_replaced_process_owns_nothing"}
