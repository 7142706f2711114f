"""Runs of the group-offsets spec: zombies' commits, pending commits, coordinator failovers."""

from __future__ import annotations

from checkers.explicit.liveness import decide
from checkers.explicit.search import explore
from model.group_offsets.bugs import (
    CommitsUnprocessed,
    CountsAborted,
    DropsDeletedGroups,
    ExpiresInRebalance,
    ForgetsGeneration,
    ForgetsRefused,
    RanksByMarker,
    RejoinsInBackground,
    ReturnsUnstable,
)
from model.group_offsets.state import LogOffset, Offset
from model.group_offsets.versions import GroupOffsets
from tests.model.conftest import Begin

TO_0 = ("begin_rebalance", "complete_rebalance 0 0", "learn_generation 0", "fetch_offset 0 0")
TO_1 = ("begin_rebalance", "complete_rebalance 0 1", "learn_generation 1", "fetch_offset 1 0")
COMMITTED_BY_1 = ("process 1 0", "commit_in_transaction 1 0", "end_commit 1")


def test_the_scope_has_the_end_of_the_log_and_that_of_the_inputs() -> None:
    scope = GroupOffsets(inputs=2, log_size=3, generations=1).scope()
    assert (scope[LogOffset], scope[Offset]) == (range(3 + 1), range(2 + 1))


# ---- KIP-447: generations fence zombies


def test_a_zombies_commit_is_refused(play: Begin) -> None:
    """The coordinator refuses the commit of m0, which was paused while m1 took over the partition.

    The same steps are the counterexample of `forgets-generation`, in which the commit is accepted.
    """
    zombie = play(GroupOffsets()).do(*TO_0, "process 0 0", *TO_1, *COMMITTED_BY_1)
    assert zombie.refused("commit_in_transaction 0 0") == (
        "consumer.generation[m] == group.generation"
    )


def test_a_commit_without_generation_makes_an_input_count_twice(play: Begin) -> None:
    zombie = play(ForgetsGeneration()).do(*TO_0, "process 0 0", *TO_1, *COMMITTED_BY_1)
    assert zombie.broken_by("commit_in_transaction 0 0") == {"commits_are_current"}
    assert zombie.broken() == set()
    assert zombie.do("end_commit 0").broken() == {"each_input_once"}


def test_a_zombie_that_learns_the_generation_makes_an_input_count_twice(play: Begin) -> None:
    """The consumer m0 learns the new generation while its application processes an input.

    So the coordinator accepts its commit, although m1 has committed the output of this input.
    """
    zombie = play(RejoinsInBackground()).do(
        *TO_0, "process 0 0", *TO_1, *COMMITTED_BY_1, "write_marker 1", "learn_generation 0"
    )
    assert zombie.broken_by("commit_in_transaction 0 0") == {"commits_are_current"}
    assert zombie.do("end_commit 0").broken() == {"each_input_once"}


def test_a_commit_of_an_input_in_work_skips_this_input(play: Begin) -> None:
    in_work = play(CommitsUnprocessed()).do(*TO_0, "process 0 0")
    assert in_work.do("commit 0 0").broken() == {"no_input_is_skipped"}


def test_commits_are_accepted_while_a_rebalance_is_under_way(play: Begin) -> None:
    play(GroupOffsets()).do(*TO_0, "process 0 0", "begin_rebalance", "commit_in_transaction 0 0")


# ---- KIP-447: what is pending hides the offset

PENDING_OF_0 = (*TO_0, "process 0 0", "commit_in_transaction 0 0")
GIVEN_TO_1 = TO_1[:-1]


def test_a_new_owner_waits_for_the_marker(play: Begin) -> None:
    group = play(GroupOffsets()).do(*PENDING_OF_0, "end_commit 0", *GIVEN_TO_1)
    assert "pending" in group.refused("fetch_offset 1 0")
    group.do("write_marker 0", "fetch_offset 1 0")
    assert group["consumer.position 1 0"] == 1


def test_an_owner_that_does_not_wait_starts_too_early(play: Begin) -> None:
    group = play(ReturnsUnstable()).do(*PENDING_OF_0, *GIVEN_TO_1)
    assert group.broken_by("fetch_offset 1 0") == {"reading_starts_at_stable_offsets"}
    assert group["consumer.position 1 0"] == 0
    assert group.do("end_commit 0", *COMMITTED_BY_1).broken() == {"each_input_once"}


def test_a_refused_commit_leaves_nothing_pending(play: Begin) -> None:
    assert play(GroupOffsets()).do(*TO_0, "commit_too_much 0 0").broken() == set()


def test_a_refused_commit_in_the_cache_is_pending_for_ever(play: Begin) -> None:
    group = play(ForgetsRefused()).do(*TO_0, "commit_too_much 0 0")
    assert group.broken() == {"pending_is_what_markers_will_decide"}
    assert decide(ForgetsRefused(generations=1))["pending_is_decided"].verdict == "violated"
    assert decide(GroupOffsets(generations=1))["pending_is_decided"].verdict == "holds"


# ---- the log, and who reads it again

OUTRANKED = (
    *PENDING_OF_0, "begin_rebalance", "lose_all_members", "end_commit 0", "reset_offset 0 0",
    "write_marker 0",
)  # fmt: skip


def test_commits_rank_by_their_records_not_by_their_markers(play: Begin) -> None:
    """Of several commits of a group offset, the one whose record is last in the log counts.

    A transaction commits an offset; an operator resets the offset; then the transaction's marker is
    written. The reset counts. With the bug `RanksByMarker`, the offset of the transaction counts.
    """
    assert play(GroupOffsets()).do(*OUTRANKED)["cache.committed.offset 0"] == 0
    wrong = play(RanksByMarker()).do(*OUTRANKED)
    assert wrong["cache.committed.offset 0"] == 1
    assert wrong.broken() == {"committed_is_the_last_that_counts"}


def test_an_aborted_commit_counts_for_nothing(play: Begin) -> None:
    aborted = (*PENDING_OF_0, "end_abort 0", "write_marker 0")
    assert play(GroupOffsets()).do(*aborted)["cache.committed.offset 0"] is None
    assert play(CountsAborted()).do(*aborted).broken() == {
        "committed_is_the_last_that_counts", "no_input_is_skipped",
    }  # fmt: skip


USED_AGAIN = (
    "begin_rebalance", "lose_all_members", "delete_group", "reset_offset 0 1", "fail_over", "load",
)  # fmt: skip


def test_a_group_name_used_again_keeps_its_committed_offset(play: Begin) -> None:
    group = play(GroupOffsets()).do(*USED_AGAIN)
    assert "loaded" in group.refused("reset_offset 0 0")  # it still loads, and answers nobody
    assert group.do("load")["cache.committed.offset 0"] == 1


def test_a_tombstone_applied_out_of_order_drops_the_offset(play: Begin) -> None:
    group = play(DropsDeletedGroups()).do(*USED_AGAIN, "load")
    assert group["cache.committed.offset 0"] is None
    assert group.broken() == {"committed_is_the_last_that_counts"}


def test_offsets_expire_only_for_empty_groups(play: Begin) -> None:
    group = play(GroupOffsets()).do("reset_offset 0 1", "begin_rebalance")
    assert "is_rebalancing" in group.refused("expire_offset 0")
    wrong = play(ExpiresInRebalance()).do("reset_offset 0 1", "begin_rebalance")
    assert wrong.broken_by("expire_offset 0") == {"committed_offsets_last"}


# ---- explored


def test_the_claims_hold_in_every_state_of_a_small_scope() -> None:
    """All claims hold in every reachable state of a small scope.

    The scope has one generation fewer than the default, and any number of failovers.
    """
    found = explore(GroupOffsets(generations=1))
    assert found.exhausted
    assert not found.violated
    assert not found.never_taken
