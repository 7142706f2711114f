"""Runs of the retention spec: which records may be deleted, and what followers learn."""

from __future__ import annotations

from checkers.explicit.search import explore
from model.retention.bugs import (
    AnswersAlone,
    CleansPastHighWatermark,
    ExpiresUncommitted,
    LeavesHighWatermarkBehind,
    TakesLeadersStart,
    WaitsForTheLive,
)
from model.retention.eligible import WithElr
from model.retention.versions import Kafka43, Retention
from tests.model.conftest import Begin

COMMITTED = ("produce 0 0", "fetch 1", "advance_high_watermark 0")
ALONE = ("shrink_isr 1", "advance_high_watermark 0")  # without the follower b1


# ---- only what is committed


def test_an_uncommitted_record_is_not_deleted(play: Begin) -> None:
    log = play(Retention()).do("produce 0 0")
    assert "high_watermark" in log.refused("expire 0")
    assert "high_watermark" in log.refused("delete_records 0 1")
    log.do("fetch 1", "advance_high_watermark 0", "expire 0")
    assert play(ExpiresUncommitted()).do("produce 0 0", "expire 0").broken() == {
        "log_start_is_committed"
    }


SAME_KEY_TWICE = ("produce 0 0", "fetch 1", "advance_high_watermark 0", "produce 0 0")


def test_compaction_removes_a_value_only_for_a_committed_one(play: Begin) -> None:
    """Compaction removes an old value only after the newer value of the same key is committed.

    With the bug KAFKA-13194 it removes the old value while the newer one is only on the leader.
    """
    log = play(Retention()).do(*SAME_KEY_TWICE)
    assert log.refused("compact 0 0")
    log.do("fetch 1", "advance_high_watermark 0", "compact 0 0")
    wrong = play(CleansPastHighWatermark()).do(*SAME_KEY_TWICE, "compact 0 0")
    assert wrong.broken() == {"latest_values_are_kept"}


# ---- DeleteRecords


def test_delete_records_succeeds_when_every_replica_has_deleted(play: Begin) -> None:
    log = play(Retention()).do(*COMMITTED, "delete_records 0 1")
    assert log.refused("answer_delete_records 0")
    log.do("fetch 1", "answer_delete_records 0", "elect 1")
    assert log["log.log_start 1"] == 1


def test_records_come_back_if_only_the_leader_deleted_them(play: Begin) -> None:
    log = play(AnswersAlone()).do(*COMMITTED, "delete_records 0 1", "answer_delete_records 0")
    assert log.broken() == set()
    assert log.do("elect 1").broken() == {"deleted_stays_deleted"}


# ---- followers

TOO_FAR_BEHIND = ("produce 0 0", *ALONE, "expire 0")


def test_a_follower_too_far_behind_truncates_fully(play: Begin) -> None:
    log = play(Retention()).do(*TOO_FAR_BEHIND)
    assert "log_start" in log.refused("fetch 1")
    log.do("truncate_fully 1")
    assert (log["log.log_start 1"], log["log.high_watermark 1"]) == (1, 1)
    wrong = play(LeavesHighWatermarkBehind()).do(*TOO_FAR_BEHIND, "truncate_fully 1")
    assert wrong.broken() == {"log_start_is_committed"}


def test_a_followers_log_start_never_falls(play: Begin) -> None:
    """A fetch never lowers a follower's log start offset to the leader's.

    In the run, retention has deleted more records on the follower than on the leader. With the bug
    `TakesLeadersStart` the follower's log start falls.
    """
    faster = (*COMMITTED, "fetch 1", "expire 1")
    assert play(Retention()).do(*faster).broken_by("fetch 1") == set()
    assert play(TakesLeadersStart()).do(*faster).broken_by("fetch 1") == {"log_starts_grow"}


PARTED_BELOW = (
    "produce 0 0", "elect 1", "produce 1 1", "shrink_isr 0", "advance_high_watermark 1", "expire 1",
    "make_follower 0",
)  # fmt: skip


def test_a_diverged_follower_drops_old_records_before_it_joins_the_isr(play: Begin) -> None:
    """A diverged follower drops its old record before it joins the ISR.

    The follower b0 and the leader b1 have different records at offset 0. b1 has already deleted its
    committed record, so a comparison of leader epochs does not show that the logs differ.
    """
    log = play(Retention()).do(*PARTED_BELOW)
    assert log["log.end_offset 0"] == 1  # the old record is still there
    assert "log_start" in log.refused("expand_isr 0")
    assert log.do("fetch 0", "expand_isr 0").broken() == set()
    wrong = play(Kafka43()).do(*PARTED_BELOW, "expand_isr 0")
    assert wrong.broken() == {"latest_values_are_kept"}


# ---- eligible leader replicas

STOPPED = ("produce 0 0", "fetch 1", "advance_high_watermark 0", "shrink_isr 1")
DELETED = ("delete_records 0 1", "answer_delete_records 0")


def test_deleted_records_come_back_if_an_eligible_replica_was_down(play: Begin) -> None:
    """DeleteRecords (KIP-107) waits only for live replicas, so a replica in the ELR may be down.

    This replica still has the deleted records. If it is elected, they are in the log again.
    """
    wrong = play(WaitsForTheLive()).do(*STOPPED, *DELETED, "elect_eligible 1")
    assert wrong.broken() == {"deleted_stays_deleted"}


def test_delete_records_waits_for_an_eligible_replica(play: Begin) -> None:
    right = play(WithElr()).do(*STOPPED, "delete_records 0 1")
    assert right.refused("answer_delete_records 0")


def test_the_elr_is_empty_again_when_the_isr_is_large_enough(play: Begin) -> None:
    log = play(WithElr()).do(*STOPPED)
    assert log["elr 1"]
    assert not log.do("expand_isr 1")["elr 1"]


# ---- explored


def test_retention_holds_with_longer_logs_and_more_elections() -> None:
    found = explore(Retention(keys=1, log_size=3, max_leader_epoch=2))
    assert found.exhausted
    assert not found.violated
