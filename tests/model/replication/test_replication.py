"""Short runs in which a replication bug breaks a claim, and the same steps without the bug."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from checkers.explicit.liveness import decide
from model.language import Spec
from model.replication.actions import TruncateToHighWatermark
from model.replication.bugs import (
    CountsDivergingFetches,
    JoinsBeforeEpoch,
    NeverTruncates,
    TruncatesOnEitherSide,
)
from model.replication.versions import FetchDivergence, Kip101, Kip279, Kip320, Kip320FirstTry

if TYPE_CHECKING:
    from tests.model.conftest import Play  # pytest gives the fixture; its class is named here

    Begin = Callable[[Spec], Play]

TWO = {"replicas": 2, "max_leader_epoch": 2}

# replica, leader, leader epoch: `become_follower 1 0 2` tells b1 that b0 leads in epoch 2
COMMITTED_BY_TWO = (
    "controller_elect_leader 0",
    "controller_shrink_isr 1",
    "become_leader 0 0",
    "leader_write 0",
    "become_follower 1 0 0",
    "follower_replicate 1 0",
    "leader_inc_high_watermark 0",
)


def test_a_new_follower_truncates_a_committed_record(play: Begin) -> None:
    """Before KIP-101 a new follower truncates its log to its own high watermark.

    Its high watermark is one fetch behind the leader's, so the follower removes a committed record.
    """
    run = play(TruncateToHighWatermark(**TWO)).do(*COMMITTED_BY_TWO)
    assert run.do("become_follower 1 0 1").broken() == {"weak_isr"}


def test_with_leader_epochs_the_follower_keeps_the_record(play: Begin) -> None:
    run = play(Kip101(**TWO)).do(*COMMITTED_BY_TWO, "become_follower 1 0 1")
    assert (run.broken(), run["log.end_offset 1"]) == (set(), 1)


def test_a_follower_truncates_nothing_if_the_leaders_log_is_longer(play: Begin) -> None:
    """In the published spec of KIP-101, a follower cannot follow a leader with a longer log at
    all.
    """
    longer = (*COMMITTED_BY_TWO, "leader_write 0")
    run = play(Kip101(**TWO)).do(*longer, "become_follower 1 0 1")
    assert run["log.end_offset 1"] == 1
    assert play(Kip101(as_published=True, **TWO)).do(*longer).refused("become_follower 1 0 1")


def test_two_truncated_replicas_keep_different_records(play: Begin) -> None:
    run = play(TruncatesOnEitherSide(replicas=2, max_leader_epoch=3)).do(
        *("controller_elect_leader 0", "controller_elect_leader 1"),
        *("controller_elect_leader 0", "controller_elect_leader 1"),
        *("become_leader 0 0", "leader_write 0", "become_follower 1 0 0", "follower_replicate 1 0"),
        *("leader_inc_high_watermark 0", "become_follower 0 1 1", "become_follower 1 0 2"),
        *("become_leader 1 3", "leader_write 1"),
    )
    assert "log_matching" not in run.broken()
    assert "log_matching" in run.do("leader_inc_high_watermark 1").broken()
    assert run["log.record.id 0 0"] != run["log.record.id 1 0"]


QUICK_ELECTIONS = (
    *("controller_elect_leader 0", "controller_elect_leader 1", "controller_elect_leader 0"),
    "become_leader 0 2",
    "leader_write 0",
)


def test_epochs_that_decrease_in_a_log_lose_a_record(play: Begin) -> None:
    """With KIP-101 a committed record is lost after the epochs in a log decrease.

    The follower asks for the end offset of an epoch that the leader never had.
    """
    script = (
        *(*QUICK_ELECTIONS, "become_follower 1 0 0", "follower_replicate 1 0"),
        *("leader_inc_high_watermark 0", "become_leader 1 1", "leader_write 1"),
    )
    lost = play(Kip101(**TWO)).do(*script)
    assert lost.do("become_follower 1 0 2").broken() == {"weak_isr", "strong_isr"}
    kept = play(Kip279(**TWO)).do(*script, "become_follower 1 0 2")
    assert (kept.broken(), kept["log.end_offset 1"]) == (set(), 1)


ZOMBIE = (*QUICK_ELECTIONS, "leader_shrink_isr 0 1")


def test_truncating_to_a_deposed_leaders_log_loses_a_record(play: Begin) -> None:
    """With KIP-279, b2 truncates its log to that of b1, so a committed record is lost.

    b1 was elected and deposed, but has not learned of either. The log of b1 lacks the record.
    """
    lost = play(Kip279(max_leader_epoch=2)).do(
        *(*ZOMBIE, "become_follower 2 0 0", "follower_replicate 2 0", "leader_inc_high_watermark 0")
    )
    assert lost.do("become_follower 2 1 1").broken() == {"weak_isr", "strong_isr"}
    fenced = play(Kip320(max_leader_epoch=2)).do(*ZOMBIE)
    assert "leader_epoch" in fenced.refused("become_follower 2 0 0")  # b0 is not in epoch 0


def test_a_fetch_without_its_epoch_counts_for_a_newer_leader(play: Begin) -> None:
    """In the first draft of KIP-320 a fetch carries no leader epoch, so any leader may count it.

    The leader commits a record after a fetch by a follower that is in an older epoch.
    """
    lost = play(Kip320FirstTry(max_leader_epoch=2)).do(
        *(*ZOMBIE, "become_leader 1 1", "become_follower 2 0 0", "follower_replicate 2 0"),
        *("leader_inc_high_watermark 0", "become_follower 2 1 1"),
    )
    assert lost.broken() == set()
    assert "strong_isr" in lost.do("follower_truncate 2 1").broken()
    fenced = play(FetchDivergence(max_leader_epoch=2)).do(*ZOMBIE, "become_follower 2 0 0")
    assert "leader_epoch" in fenced.refused("follower_replicate 2 0")


def test_a_lagging_high_watermark_lets_an_empty_follower_join(play: Begin) -> None:
    """With the bug KAFKA-7128, a follower joins the ISR although it lacks a committed record.

    The new leader's high watermark is still below this record, so the follower seems to be in sync.
    """
    script = (
        *("controller_shrink_isr 0", "controller_elect_leader 1", "controller_elect_leader 2"),
        *("become_leader 1 1", "leader_write 1", "become_follower 2 1 1", "follower_replicate 2 1"),
        *("leader_inc_high_watermark 1", "become_leader 2 2", "become_follower 0 2 2"),
    )
    lost = play(JoinsBeforeEpoch(max_leader_epoch=2)).do(*script)
    assert lost.do("leader_expand_isr 2 0").broken() == {"strong_isr"}
    waits = play(FetchDivergence(max_leader_epoch=2)).do(*script)
    assert "high_watermark" in waits.refused("leader_expand_isr 2 0")


DIVERGING = (
    *("controller_elect_leader 0", "controller_elect_leader 1", "become_leader 0 0"),
    *("become_leader 1 1", "leader_write 0", "leader_write 1", "become_follower 0 1 1"),
)


def test_a_diverging_fetch_does_not_advance_the_high_watermark(play: Begin) -> None:
    """The leader does not count b0's fetch for the high watermark while b0's last record differs.

    With the bug KAFKA-13141 the leader counts this fetch, and a committed record is lost.
    """
    lost = play(CountsDivergingFetches(replicas=2)).do(*DIVERGING)
    assert lost.do("leader_inc_high_watermark 1").broken() == {"weak_isr", "strong_isr"}
    run = play(FetchDivergence(replicas=2)).do(*DIVERGING)
    assert "end_offset" in run.refused("leader_inc_high_watermark 1")
    run.do("follower_truncate 0 1", "follower_replicate 0 1", "leader_inc_high_watermark 1")
    assert run["replica.high_watermark 1"] == 1


def test_in_a_stable_cluster_every_record_is_committed() -> None:
    for cls in (Kip320, FetchDivergence):
        verdicts = decide(cls(**TWO))
        assert {n: d.verdict for n, d in verdicts.items()} == {"everything_is_committed": "holds"}


def test_a_follower_that_never_truncates_blocks_the_high_watermark() -> None:
    stuck = decide(NeverTruncates(replicas=2))["everything_is_committed"]
    assert (stuck.verdict, stuck.steps) == ("violated", 7)
