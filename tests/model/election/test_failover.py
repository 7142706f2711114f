"""Runs of elections whose controller fails: no broker knows a change that a failover drops."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from checkers.explicit.liveness import decide
from model.election.failover import ControllerFailover
from model.election.failover_bugs import (
    AnswersUncommitted,
    PublishesUncommitted,
    StartsUncommitted,
)
from model.language import Spec

if TYPE_CHECKING:
    from tests.model.conftest import Play  # pytest gives the fixture; its class is named here

    Begin = Callable[[Spec], Play]

FAILOVER = ControllerFailover()
COMMITTED = ("write 0", "fetch 1 0", "fetch 1 0", "advance_high_watermark 0")


def test_a_failover_drops_an_election_and_the_next_controller_decides_otherwise(
    play: Begin,
) -> None:
    """b0 crashes, and the election of b1 is dropped. The next controller fences b1 before it
    notices the crash of b0. So the leader epoch, in which b1 would have led, has no leader.
    """
    run = play(FAILOVER).do("kill 0", "detect_crash 0")
    assert (run["partition_registration.leader"], run["committed_partition.leader"]) == (1, 0)
    run.do("fail_over")
    assert (run["partition_registration.leader"], run["registration.fenced 0"]) == (0, False)
    run.do("expire_session 1", "detect_crash 0", "commit_changes")
    assert run["committed_partition.leader"] is None
    assert run["committed_partition.leader_epoch"] == run["dropped.leader_epoch"] == 1
    assert run["dropped.leader"] == 1


def test_a_broker_learns_an_election_only_when_it_is_committed(play: Begin) -> None:
    run = play(FAILOVER).do("expire_session 0")
    assert "committed_partition" in run.refused("apply_metadata 1")
    run.do("commit_changes", "apply_metadata 1")
    assert run["broker.leader_epoch 1"] == 1


def test_an_election_that_was_published_too_early_loses_a_record(play: Begin) -> None:
    early = play(PublishesUncommitted(min_isr=1, max_unclean=0))
    early.do("expire_session 0", "apply_metadata 1")
    assert early.broken() == {"leaders_know_what_is_committed"}
    early.do("write 1", "advance_high_watermark 1", "fail_over")
    assert "leader_completeness" in early.broken()


def test_a_broker_starts_when_its_registration_is_committed(play: Begin) -> None:
    run = play(FAILOVER).do("kill 1", "detect_crash 1", "register 1")
    assert run["broker.is_up 1"] is False
    assert "broker_epoch" in run.refused("replace_disk 1")
    assert run.do("commit_changes")["broker.is_up 1"] is True


def test_a_dropped_registration_is_repeated_with_the_same_broker_epoch(play: Begin) -> None:
    run = play(FAILOVER).do("kill 1", "detect_crash 1", "commit_changes", "register 1")
    assert run["registration.broker_epoch 1"] == 1
    assert run.do("fail_over")["registration.broker_epoch 1"] == 0
    run.do("register 1", "commit_changes")
    assert (run["broker.is_up 1"], run["committed_registration.broker_epoch 1"]) == (True, 1)


def test_a_broker_that_started_too_early_leads_with_an_empty_log(play: Begin) -> None:
    early = play(StartsUncommitted()).do(*COMMITTED, "lose_power 0 0", "detect_crash 0")
    assert early.do("register 0").broken() == set()
    assert "leader_completeness" in early.do("fail_over").broken()


# b0 has proposed to add b1 to the ISR
PROPOSED = (*("expire_session 1", "unfence 1", "commit_changes", "apply_metadata 0", "fetch 1 0"),)


def test_a_dropped_grant_is_granted_by_the_next_controller(play: Begin) -> None:
    run = play(FAILOVER).do(*PROPOSED, "grant_isr 0")
    assert run["partition_registration.isr 1"] is True
    assert "committed_partition" in run.refused("grant_isr 0")
    run.do("fail_over", "grant_isr 0", "commit_changes", "apply_metadata 0")
    assert (run["broker.isr 0 1"], run.broken()) == (True, set())


def test_a_refusal_by_a_dropped_change_leaves_a_leader_waiting() -> None:
    stuck = decide(AnswersUncommitted(max_unclean=0))
    assert {name for name, found in stuck.items() if found.verdict == "violated"} == {
        "requests_are_answered",
        "everybody_is_in_sync",
        "everything_is_committed",
    }
