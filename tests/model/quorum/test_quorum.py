"""Runs of the quorum spec: elections, commits, restarts, and changes of the voters.

Some rules matter only in runs beyond the default bounds. A test of such a rule has a subclass of
the spec without the rule. In the subclass, a long run breaks a claim. The spec itself refuses the
decisive step of this run.
"""

from __future__ import annotations

from checkers.explicit.search import explore
from model.language import Bool, true
from model.quorum.bugs import LeadsAfterRestart, ObserverDoesNotFlush
from model.quorum.state import Offset, Replica, Role
from model.quorum.versions import Kafka43, Quorum, WithoutPreVote
from tests.model.conftest import Begin, Play

FAILS = {"max_failures": 1}


def elected(leader: int, *voters: int) -> list[str]:
    """Returns the steps by which a replica that knows no leader becomes leader."""
    return [
        f"time_out {leader}",
        *(f"grant_pre_vote {voter} {leader}" for voter in voters),
        f"become_candidate {leader}",
        *(f"learn_epoch {voter} {leader}" for voter in voters),
        *(f"grant_vote {voter} {leader}" for voter in voters),
        f"become_leader {leader}",
    ]


def role(run: Play, replica: int) -> str:
    return Role.labels[run.state["member.role", (replica,)] or 0]


# ---- elections; c0 leads at first


def test_a_follower_that_fetches_grants_no_pre_vote(play: Begin) -> None:
    quorum = play(Quorum()).do("fetch_at_end 2 0", "time_out 1")
    assert "has_fetched" in quorum.refused("grant_pre_vote 2 1")
    quorum.do("time_out 2", "grant_pre_vote 2 1", "become_candidate 1")
    assert role(quorum, 1) == "CANDIDATE"


def test_a_replica_that_is_cut_off_begins_an_epoch_only_without_pre_vote(play: Begin) -> None:
    alone = ("cut_off_replica 1", "time_out 1")
    assert "present" in play(Quorum(**FAILS)).do(*alone).refused("become_candidate 1")
    run = play(WithoutPreVote(**FAILS)).do(*alone)
    assert run.broken_by("become_candidate 1") == {"no_candidate_is_cut_off"}


def test_a_candidate_with_a_majority_of_votes_begins_no_further_epoch(play: Begin) -> None:
    """A majority of pre-votes permits a replica to begin an epoch. A majority of votes makes it the
    leader, and permits no further epoch.
    """
    *steps, become_leader = elected(1, 2)
    run = play(Quorum(max_epoch=3)).do("time_out 2", *steps)
    assert "member.role[r]" in run.refused("become_candidate 1")
    run.do(become_leader)
    assert "member.role[r]" in run.refused("become_candidate 1")


def test_a_voter_votes_once_in_an_epoch(play: Begin) -> None:
    both = play(Quorum()).do("time_out 1", "time_out 2", "grant_pre_vote 2 1", "grant_pre_vote 1 2")
    both.do("become_candidate 1", "become_candidate 2", "learn_epoch 0 1", "grant_vote 0 1")
    assert "voted" in both.refused("grant_vote 0 2")


def test_a_restarted_leader_does_not_lead_again(play: Begin) -> None:
    run = play(Quorum(**FAILS)).do("append 0", "fetch 1 0", "restart 0 1")
    assert (role(run, 0), run["log.end_offset 0"]) == ("RESIGNED", 1)
    wrong = play(LeadsAfterRestart(**FAILS)).do("append 0", "fetch 1 0")
    assert wrong.broken_by("restart 0 1") == {"leaders_append_only"}
    assert role(wrong, 0) == "LEADER"


# ---- commits


class CommitsOldEpochs(Quorum):
    """A leader commits records of older epochs before a record of its epoch (Raft, figure 8)."""

    def may_commit(s, r: Replica, mark: Offset) -> Bool:
        return true


OLD_RECORD = [  # c0 appends in epoch 0, c1 leads in epoch 1, and c0 leads again in epoch 2
    *("append 0", "flush 0", *elected(1, 2), "flush 1", "learn_epoch 0 1"),
    *(*elected(0, 2), "flush 0", "follow 2 0", "fetch 2 0", "fetch_at_end 2 0"),
]


def test_a_record_of_an_old_epoch_is_committed_only_with_a_new_one(play: Begin) -> None:
    scope = {"max_epoch": 3, "log_size": 3}
    run = play(Quorum(**scope)).do(*OLD_RECORD)
    assert "member.epoch" in run.refused("advance_high_watermark 0 2")
    run.do("fetch 2 0", "fetch_at_end 2 0", "advance_high_watermark 0 3")
    assert run.broken() == set()

    wrong = play(CommitsOldEpochs(**scope)).do(*OLD_RECORD, "advance_high_watermark 0 2")
    wrong.do("learn_epoch 1 0", "time_out 2", *elected(1, 2))
    assert "leaders_have_committed_records" in wrong.broken()


def test_one_voter_commits_before_it_flushes_in_kafka(play: Begin) -> None:
    run = play(Quorum(replicas=1)).do("append 0")
    assert "present" in run.refused("advance_high_watermark 0 2")
    run.do("flush 0", "advance_high_watermark 0 2")
    shipped = play(Kafka43(replicas=1, max_epoch=2, **FAILS)).do(
        "append 0", "advance_high_watermark 0 2"
    )
    shipped.do("restart 0 1", "leave_epoch 0", *elected(0))
    assert "leaders_have_committed_records" in shipped.broken()


def test_with_two_voters_the_order_of_commit_and_flush_does_not_matter() -> None:
    assert not explore(Kafka43(replicas=2, max_epoch=2, log_size=3, **FAILS)).violated


# ---- changes of the voters


class ChangesVotersEarly(Quorum):
    """A leader changes the voters before it has committed a record of its epoch.

    Source: Ongaro, "bug in single-server membership changes", raft-dev, 2015.
    """

    def has_committed_in_epoch(s, r: Replica) -> Bool:
        return true


class ChangesTwoVoters(Quorum):
    """A leader changes the voters again before the last change is committed."""

    def has_committed_voters(s, r: Replica) -> Bool:
        return true


def test_a_new_leader_commits_before_it_changes_the_voters(play: Begin) -> None:
    scope = {"replicas": 4, "max_epoch": 2, "log_size": 3, "max_voter_changes": 2}
    # c0 removes c1, and no other replica learns it; then c1 leads and removes c0
    moves = ["change_voters 0 1", "flush 0", *elected(1, 2, 3)]
    run = play(Quorum(**scope)).do(*moves)
    assert "high_watermark" in run.refused("change_voters 1 0")

    wrong = play(ChangesVotersEarly(**scope)).do(*moves, "change_voters 1 0", "flush 1")
    wrong.do("follow 2 1", "fetch 2 1", "fetch 2 1", "fetch_at_end 2 1")
    wrong.do("advance_high_watermark 1 3", "learn_epoch 0 1", *elected(0, 3))
    assert "leaders_have_committed_records" in wrong.broken()


def test_a_leader_changes_one_voter_at_a_time(play: Begin) -> None:
    scope = {"log_size": 3, "max_voter_changes": 2}
    assert "voters" in play(Quorum(**scope)).do("change_voters 0 1").refused("change_voters 0 2")
    wrong = play(ChangesTwoVoters(**scope)).do("change_voters 0 1", "change_voters 0 2", "flush 0")
    wrong.do("advance_high_watermark 0 3", *elected(1, 2))
    assert "leaders_have_committed_records" in wrong.broken()


def test_changes_of_two_voters_keep_every_claim() -> None:
    scope = {"replicas": 2, "max_epoch": 2, "log_size": 4, "max_voter_changes": 2, **FAILS}
    found = explore(Quorum(**scope))
    assert found.exhausted
    assert not found.violated


# ---- an observer that becomes a voter


AS_VOTER = {
    "log_size": 3,
    "max_failures": 1,
    "max_voter_changes": 1,
    "has_observer": True,
    "fetches_all": True,
}
OBSERVER_COMMITS = [  # c1 is an observer; c0 adds it, and both commit a record without c2
    *("fetch_at_end 1 0", "change_voters 0 1", "fetch 2 0", "append 0", "flush 0"),
    *("fetch 1 0", "fetch_at_end 1 0", "advance_high_watermark 0 3"),
]


def test_an_observer_that_becomes_a_voter_has_flushed(play: Begin) -> None:
    run = play(Quorum(**AS_VOTER)).do(*OBSERVER_COMMITS)
    assert "flushed" in run.refused("restart 1 1")
    wrong = play(ObserverDoesNotFlush(**AS_VOTER)).do(*OBSERVER_COMMITS, "restart 1 1")
    assert "leaders_have_committed_records" in wrong.do(*elected(2, 1)).broken()


def test_an_observer_that_fetches_one_record_flushes_the_next_as_a_voter(play: Begin) -> None:
    run = play(ObserverDoesNotFlush(**{**AS_VOTER, "fetches_all": False}))
    run.do("fetch_at_end 1 0", "change_voters 0 1", "append 0", "flush 0", "fetch 1 0")
    assert (run["log.flushed 1"], run["log.end_offset 1"]) == (1, 2)
    run.do("fetch 1 0")
    assert (run["log.flushed 1"], run["log.end_offset 1"]) == (3, 3)
