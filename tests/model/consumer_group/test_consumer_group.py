"""Runs of the consumer-group spec (KIP-848): partitions change owners, and answers get lost."""

from __future__ import annotations

from checkers.explicit.liveness import decide
from checkers.explicit.search import explore
from model.consumer_group.bugs import (
    CommitsInAnyEpoch,
    ErasesWhatComesBack,
    ForgetsWhoRejoins,
    FreesAfterOneRevocation,
    FreesAtOnce,
    LeavesEmptyGroupOpen,
    RefusesReturn,
    WantsExactEpoch,
)
from model.consumer_group.versions import ConsumerGroup
from tests.model.conftest import Begin

OWNED_BY_0 = ("join 0", "compute_target 0 0", "heartbeat 0", "receive_response 0")
TO_1 = ("join 1", "compute_target 0 1")
REVOKED_BY_0 = (
    "heartbeat 0",
    "receive_response 0",
    "revoke 0 0",
    "heartbeat 0",
    "receive_response 0",
)


# ---- the partition changes hands


def test_the_new_owner_waits_until_the_old_one_has_revoked(play: Begin) -> None:
    group = play(ConsumerGroup()).do(*OWNED_BY_0, *TO_1, "heartbeat 1", "receive_response 1")
    assert (group["consumer.epoch 1"], group["consumer.owns 1 0"]) == (2, False)
    group.do("heartbeat 0", "receive_response 0")
    assert group["consumer.epoch 0"] == 1  # it keeps its epoch while it revokes
    group.do("heartbeat 1", "receive_response 1")
    assert group["consumer.owns 1 0"] is False
    group.do("revoke 0 0", "heartbeat 0", "receive_response 0", "heartbeat 1", "receive_response 1")
    assert (group["consumer.epoch 0"], group["consumer.owns 1 0"]) == (2, True)


def test_two_consumers_read_a_partition_that_is_free_before_its_revocation(play: Begin) -> None:
    assigned = (*OWNED_BY_0, *TO_1, "heartbeat 0", "heartbeat 1", "receive_response 1")
    assert play(ConsumerGroup()).do(*assigned)["consumer.owns 1 0"] is False
    assert play(FreesAtOnce()).do(*assigned, "receive_response 0").broken() == {"one_reader"}


# ---- two partitions

BOTH_MOVE = (
    *OWNED_BY_0, *TO_1, "change_subscription", "compute_target 1 1",
    "heartbeat 0", "receive_response 0", "revoke 0 0", "heartbeat 0", "receive_response 0",
)  # fmt: skip


def test_a_partition_without_a_target_gets_the_same_member(play: Begin) -> None:
    group = play(ConsumerGroup(partitions=2)).do(*OWNED_BY_0, "join 1", "compute_target 1 1")
    assert (group["target 0"], group["target 1"]) == (0, 1)
    group.do("expire 0", "compute_target 1 1")
    assert (group["target 0"], group["target 1"]) == (1, 1)


def test_a_member_has_both_partitions_until_it_has_revoked_both(play: Begin) -> None:
    group = play(ConsumerGroup(partitions=2)).do(*BOTH_MOVE)
    assert (group["partition_epoch 0"], group["partition_epoch 1"]) == (1, 1)
    group.do("revoke 0 1", "heartbeat 0")
    assert group["partition_epoch 0"] is None
    assert group["partition_epoch 1"] is None


def test_two_consumers_read_a_partition_that_is_freed_with_another(play: Begin) -> None:
    assigned = (*BOTH_MOVE, "heartbeat 1", "receive_response 1")
    assert play(ConsumerGroup(partitions=2)).do(*assigned).broken() == set()
    wrong = play(FreesAfterOneRevocation(partitions=2)).do(*assigned)
    assert "one_reader" in wrong.broken()


# ---- members that leave


def test_a_member_that_leaves_owns_nothing_and_frees_its_partition(play: Begin) -> None:
    group = play(ConsumerGroup()).do(*OWNED_BY_0, *TO_1, "leave 0")
    assert (group["consumer.owns 0 0"], group["partition_epoch 0"]) == (False, None)
    group.do("compute_target 0 1", "heartbeat 1", "receive_response 1")
    assert (group["consumer.owns 1 0"], group["group_epoch"]) == (True, 3)
    assert group.refused("leave 0")


# ---- the books (KAFKA-16147)

COMES_BACK = (
    *OWNED_BY_0, *TO_1, "heartbeat 0", "receive_response 0", "revoke 0 0",
    "change_subscription", "compute_target 0 0", "heartbeat 0",
)  # fmt: skip


def test_a_partition_assigned_back_stays_with_its_owner(play: Begin) -> None:
    """m0 keeps a partition if it is assigned to m0 again before m0 has reported the revocation.

    In the variant `erases-what-comes-back`, m0 loses the partition by the same steps.
    """
    group = play(ConsumerGroup()).do(*COMES_BACK)
    assert group["partition_epoch 0"] == 3
    group.do("change_subscription", "compute_target 0 1", "heartbeat 1")
    assert group["member.assigned 1 0"] is None


def test_a_partition_without_epoch_is_assigned_to_a_second_member(play: Begin) -> None:
    group = play(ErasesWhatComesBack()).do(*COMES_BACK)
    assert group.broken() == {"partition_epoch_iff_assigned"}
    group.do("change_subscription", "compute_target 0 1", "heartbeat 1")
    assert group.broken() == {"no_double_assignment"}


# ---- epochs, and answers that are lost


def test_a_heartbeat_one_epoch_behind_is_accepted_and_two_behind_is_fenced(play: Begin) -> None:
    """The coordinator accepts a member that is one epoch behind, and fences it two epochs behind.

    Every response to m0 is lost, so m0 stays in epoch 1 while the group's epoch rises.
    """
    next_epoch = ("change_subscription", "compute_target 0 0", "heartbeat 0")
    group = play(ConsumerGroup()).do(*OWNED_BY_0, *next_epoch)
    assert group.refused("be_fenced 0")
    group.do(*next_epoch, "be_fenced 0")
    assert (group["consumer.epoch 0"], group["consumer.owns 0 0"]) == (0, False)


FENCED = (
    *OWNED_BY_0, "change_subscription", "compute_target 0 0", "heartbeat 0", "receive_response 0",
    "change_subscription", "compute_target 0 0", "heartbeat 0",
    "change_subscription", "compute_target 0 0", "heartbeat 0", "be_fenced 0",
)  # fmt: skip


def test_a_fenced_member_joins_again_with_epoch_0(play: Begin) -> None:
    group = play(ConsumerGroup(epochs=5)).do(*FENCED, "heartbeat 0", "receive_response 0")
    assert (group["consumer.epoch 0"], group["consumer.owns 0 0"]) == (4, True)
    assert play(RefusesReturn(epochs=5)).do(*FENCED).refused("heartbeat 0")


def test_a_group_that_refuses_a_fenced_member_does_not_converge() -> None:
    verdicts = decide(RefusesReturn(epochs=3))
    assert {d.verdict for d in verdicts.values()} == {"violated"}
    assert {d.verdict for d in decide(ConsumerGroup(epochs=3)).values()} == {"holds"}


def test_the_epoch_of_a_member_without_its_state_falls(play: Begin) -> None:
    group = play(ForgetsWhoRejoins(epochs=5)).do(*FENCED)
    assert group.broken_by("join 0") == {"epochs_grow"}
    assert "partition_epoch_iff_assigned" in group.broken()


def test_the_last_member_leaves_a_group_with_equal_epochs(play: Begin) -> None:
    assert play(ConsumerGroup()).do(*OWNED_BY_0, "expire 0").broken() == set()
    left = play(LeavesEmptyGroupOpen()).do(*OWNED_BY_0, "expire 0")
    assert left.broken() == {"an_empty_group_is_settled"}


# ---- commits (KIP-1251)

MOVED_ON = (*OWNED_BY_0, "change_subscription", "compute_target 0 0", "heartbeat 0")


def test_an_owner_commits_an_epoch_behind(play: Begin) -> None:
    assert play(ConsumerGroup()).do(*MOVED_ON).broken() == set()
    assert play(WantsExactEpoch()).do(*MOVED_ON).broken() == {"owners_may_commit"}


def test_a_member_that_revoked_the_partition_cannot_commit(play: Begin) -> None:
    gone = (*OWNED_BY_0, *TO_1, *REVOKED_BY_0)
    assert play(ConsumerGroup()).do(*gone).broken() == set()
    assert play(CommitsInAnyEpoch()).do(*gone).broken() == {"only_owners_commit"}


# ---- explored


def test_three_members_keep_the_claims() -> None:
    found = explore(ConsumerGroup(members=3, epochs=3))
    assert found.exhausted
    assert not found.violated
