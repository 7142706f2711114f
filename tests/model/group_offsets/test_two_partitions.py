"""Runs of the group-offsets spec in which the group reads two partitions."""

from __future__ import annotations

import pytest

from model.group_offsets.bugs import (
    CommitsLostPartitions,
    CommitsWithoutOffsets,
    CountsAborted,
    ExpiresPending,
    FetchesPartlyUnstable,
    KeepsLastRequest,
    KeepsLostPartitions,
    MixesUpPartitions,
)
from model.group_offsets.versions import GroupOffsets
from tests.model.conftest import Begin, Play

BOTH_TO_0 = (
    "begin_rebalance", "complete_rebalance 0 0", "learn_generation 0", "fetch_offset 0 0",
    "fetch_offset 0 1",
)  # fmt: skip
BOTH_PROCESSED = (*BOTH_TO_0, "process 0 0", "process 0 1")
BOTH_PENDING = (*BOTH_PROCESSED, "commit_in_transaction 0 0", "commit_in_transaction 0 1")
P1_TO_1 = ("begin_rebalance", "complete_rebalance 1 1")
NOBODY = ("begin_rebalance", "lose_all_members")


def committed(group: Play) -> tuple[object, object]:
    return group["cache.committed.offset 0"], group["cache.committed.offset 1"]


# ---- one transaction, two partitions


@pytest.mark.parametrize(("end", "offset"), [("end_commit 0", 1), ("end_abort 0", None)])
def test_one_marker_decides_the_offsets_of_both_partitions(
    play: Begin, end: str, offset: int | None
) -> None:
    """Neither offset is visible before the marker in the coordinator's log."""
    group = play(GroupOffsets(partitions=2)).do(*BOTH_PENDING, end)
    assert committed(group) == (None, None)
    assert committed(group.do("write_marker 0")) == (offset, offset)


def test_a_coordinator_that_counts_aborted_commits_waits_for_the_marker(play: Begin) -> None:
    group = play(CountsAborted(partitions=2)).do(*BOTH_PENDING, "end_abort 0")
    assert committed(group) == (None, None)
    assert committed(group.do("write_marker 0")) == (1, 1)


def test_a_new_coordinator_commits_both_offsets_at_the_marker(play: Begin) -> None:
    group = play(GroupOffsets(partitions=2)).do(*BOTH_PENDING, "end_commit 0", "write_marker 0")
    assert committed(group.do("fail_over", "load", "load")) == (None, None)
    assert committed(group.do("load")) == (1, 1)


def test_a_coordinator_that_keeps_the_last_request_loses_an_offset(play: Begin) -> None:
    group = play(KeepsLastRequest(partitions=2)).do(*BOTH_PENDING)
    assert group.broken() == {"pending_is_what_markers_will_decide"}
    assert committed(group.do("end_commit 0", "write_marker 0")) == (None, 1)
    assert group.broken() == {"committed_is_the_last_that_counts"}


def test_a_transaction_sends_an_offset_of_each_partition(play: Begin) -> None:
    one_sent = (*BOTH_PROCESSED, "commit_in_transaction 0 0")
    group = play(GroupOffsets(partitions=2)).do(*one_sent)
    assert "sent" in group.refused("end_commit 0")
    group = play(CommitsWithoutOffsets(partitions=2)).do(*one_sent, "end_commit 0", *P1_TO_1)
    group.do("learn_generation 1", "fetch_offset 1 1", "process 1 1", "commit_in_transaction 1 1")
    assert group.do("end_commit 1").broken() == {"each_input_once"}


def test_the_next_transaction_begins_after_the_marker(play: Begin) -> None:
    ended = (*BOTH_TO_0, "process 0 0", "commit_in_transaction 0 0", "end_commit 0")
    group = play(GroupOffsets(partitions=2)).do(*ended)
    assert "ended" in group.refused("process 0 1")
    group.do("write_marker 0", "process 0 1")


# ---- one partition changes its owner


def test_a_pending_offset_holds_up_only_its_partition(play: Begin) -> None:
    pending = (*BOTH_TO_0, "process 0 0", "commit_in_transaction 0 0")
    both_to_1 = (*NOBODY, "begin_rebalance", "complete_rebalance 0 1", "learn_generation 1")
    group = play(GroupOffsets(partitions=2, generations=3)).do(*pending, *both_to_1)
    assert "pending" in group.refused("fetch_offset 1 0")
    group.do("fetch_offset 1 1")
    wrong = play(FetchesPartlyUnstable(partitions=2, generations=3)).do(*pending, *both_to_1)
    assert wrong.broken_by("fetch_offset 1 0") == {"reading_starts_at_stable_offsets"}


def test_a_rebalance_may_move_one_partition(play: Begin) -> None:
    group = play(GroupOffsets(partitions=2)).do(*BOTH_TO_0, *P1_TO_1)
    assert (group["group.owner 0"], group["group.owner 1"]) == (0, 1)
    assert "generation" in group.refused("commit 0 0")  # the partition that stays, too
    group.do("learn_generation 0")
    assert "reads" in group.refused("commit 0 1")
    group.do("fetch_offset 0 0", "commit 0 0")
    assert "owner" in group.refused("fetch_offset 0 1")


def test_the_coordinator_does_not_notice_who_commits_a_lost_partition(play: Begin) -> None:
    lost = (*BOTH_TO_0, *P1_TO_1, "learn_generation 0")
    group = play(KeepsLostPartitions(partitions=2)).do(*lost)
    assert group.broken_by("commit 0 1") == {"commits_are_current"}


def test_a_stored_offset_outlives_the_assignment(play: Begin) -> None:
    """A consumer commits the offset that it stored before the partition went to another owner."""
    lost = (
        "reset_offset 0 1", "begin_rebalance", "complete_rebalance 0 0", "learn_generation 0",
        "fetch_offset 0 0", "begin_rebalance", "complete_rebalance 0 1", "learn_generation 0",
    )  # fmt: skip
    assert "reads" in play(GroupOffsets(partitions=2)).do(*lost).refused("commit 0 0")
    group = play(CommitsLostPartitions(partitions=2)).do(*lost)
    assert group.broken_by("commit 0 0") == {"commits_are_current"}


def test_an_offset_of_another_partition_skips_inputs(play: Begin) -> None:
    """The offset of partition 1 was reset; that excuses nothing in partition 0."""
    group = play(MixesUpPartitions(partitions=2)).do("reset_offset 1 1", *BOTH_TO_0)
    assert (group["consumer.position 0 0"], group["consumer.position 0 1"]) == (1, 0)
    assert group.do("commit 0 0").broken() == {"no_input_is_skipped"}


# ---- tombstones


def test_a_tombstone_deletes_the_offset_of_one_partition(play: Begin) -> None:
    group = play(GroupOffsets(partitions=2)).do("reset_offset 0 1", "reset_offset 1 1")
    assert committed(group.do("expire_offset 0")) == (None, 1)
    assert committed(group.do("delete_group")) == (None, None)


def test_an_offset_expires_only_if_no_commit_of_its_partition_is_pending(play: Begin) -> None:
    pending = (
        "reset_offset 0 0", "reset_offset 1 0", *BOTH_TO_0, "process 0 0",
        "commit_in_transaction 0 0", *NOBODY,
    )  # fmt: skip
    group = play(GroupOffsets(partitions=2)).do(*pending)
    assert "pending" in group.refused("expire_offset 0")
    group.do("expire_offset 1")
    wrong = play(ExpiresPending(partitions=2)).do(*pending)
    assert wrong.broken_by("expire_offset 0") == {"only_markers_decide"}
    assert wrong.do("fail_over").broken() == set()
