"""Retention is proved for any number of replicas. If a rule is left out, the proof fails at the
action with this rule.
"""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.retention_abstract.bugs import (
    AnswersAlone,
    CleansPastHighWatermark,
    CommitsBelowMinIsr,
    ExpiresUncommitted,
    LeavesHighWatermarkBehind,
    TakesLeadersStart,
    WaitsForTheLive,
)
from model.retention_abstract.versions import AbstractRetention, Kafka43
from tests.model.conftest import Begin
from tests.model.proofs import assert_fails


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_claims_are_proved_without_bounds(seed: int) -> None:
    proof = prove(AbstractRetention(), seed=seed)
    assert proof.holds, proof.reason
    assert proof.assumptions == ()


@pytest.mark.parametrize(
    ("wrong", "action", "claim"),
    [
        (Kafka43, "expand_isr", "committed_records_are_kept"),
        (Kafka43, "expand_isr", "deleted_stays_deleted"),
        (WaitsForTheLive, "answer_delete_records", "deleted_stays_deleted"),
        (AnswersAlone, "answer_delete_records", "deleted_stays_deleted"),
        (ExpiresUncommitted, "expire", "log_start_is_committed"),
        (LeavesHighWatermarkBehind, "truncate_fully", "log_start_is_committed"),
        (CleansPastHighWatermark, "compact", "latest_values_are_kept"),
        (TakesLeadersStart, "fetch", "log_starts_grow"),
        (CommitsBelowMinIsr, "advance_high_watermark", "committed_records_are_kept"),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[AbstractRetention], action: str, claim: str
) -> None:
    assert_fails(wrong(), action, claim, wrong().scope())


# ---- runs

COMMITTED = ["produce 0 1", "fetch 1 1", "advance_high_watermark 1"]

# b0 appends a record that stays uncommitted. b1 commits another record at offset 0 and deletes it.
DELETED_BY_THE_NEXT_LEADER = [
    "produce 0 1",
    "elect 1 1",
    "produce 0 1",
    "shrink_isr 0",
    "advance_high_watermark 1",
    "expire 1 1",
    "make_follower 0 1",
]


def test_a_follower_with_an_old_record_must_first_learn_the_log_start(play: Begin) -> None:
    run = play(AbstractRetention()).do(*DELETED_BY_THE_NEXT_LEADER)
    assert "log.log_start[leader] <= log.log_start[r]" in run.refused("expand_isr 0")
    run.do("fetch 0 1", "expand_isr 0")
    assert run["log.log_start 0"] == 1
    assert run.broken() == set()


def test_in_kafka_a_deleted_record_returns_with_another_value(play: Begin) -> None:
    """The steps of docs/findings/deleted-record-returns.md break the claim in Kafka 4.3."""
    run = play(Kafka43()).do(*DELETED_BY_THE_NEXT_LEADER, "expand_isr 0")
    assert run.broken() == {"committed_records_are_kept"}


def test_in_kafka_a_follower_that_was_away_brings_deleted_records_back(play: Begin) -> None:
    away = [*COMMITTED, "shrink_isr 1", "delete_records 1", "answer_delete_records"]
    assert "log_start" in play(AbstractRetention()).do(*away).refused("expand_isr 1")
    run = play(Kafka43()).do(*away, "expand_isr 1", "elect 1 1")
    assert run.broken() == {"deleted_stays_deleted"}
    assert run["log.log_start 1"] == 0


def test_delete_records_waits_for_a_member_of_the_elr(play: Begin) -> None:
    run = play(AbstractRetention()).do(*COMMITTED, "shrink_to_elr 1", "delete_records 1")
    assert "requested" in run.refused("answer_delete_records")
    run.do("fetch 1 1", "answer_delete_records", "elect_eligible 1 1")
    assert (run["deleted"], run["log.log_start 1"]) == (1, 1)


def test_in_kafka_deleted_records_return_with_a_leader_from_the_elr(play: Begin) -> None:
    """The steps of docs/findings/deleted-records-return.md break the claim in Kafka 4.3."""
    run = play(WaitsForTheLive()).do(*COMMITTED, "shrink_to_elr 1", "delete_records 1")
    run.do("answer_delete_records")
    assert run.broken() == {"deleted_stays_deleted"}
    run.do("elect_eligible 1 1")
    assert (run["leader"], run["log.log_start 1"]) == (1, 0)


def test_no_record_is_committed_while_the_elr_has_a_member(play: Begin) -> None:
    run = play(AbstractRetention()).do("shrink_to_elr 1", "produce 0 1")
    assert "elr" in run.refused("advance_high_watermark 1")
    wrong = play(CommitsBelowMinIsr()).do("shrink_to_elr 1", "produce 0 1")
    assert wrong.do("advance_high_watermark 1").broken() == {"committed_records_are_kept"}


def test_compaction_keeps_the_latest_committed_record_of_a_key(play: Begin) -> None:
    run = play(AbstractRetention(keys=2)).do(*COMMITTED, "produce 0 2")
    assert "high_watermark" in run.refused("compact 0 0 1")
    run.do("fetch 1 2", "advance_high_watermark 2", "compact 0 0 1")
    assert "key" in play(AbstractRetention(keys=2)).do(
        *COMMITTED, "produce 1 2", "fetch 1 2", "advance_high_watermark 2"
    ).refused("compact 0 0 1")
    wrong = play(CleansPastHighWatermark()).do(*COMMITTED, "produce 0 2", "compact 0 0 1")
    assert wrong.broken() == {"latest_values_are_kept"}


def test_a_follower_behind_the_log_start_deletes_its_log(play: Begin) -> None:
    alone = ["shrink_isr 1", "produce 0 1", "advance_high_watermark 1", "expire 0 1"]
    run = play(AbstractRetention()).do(*alone)
    assert "log_start" in run.refused("fetch 1 0")
    run.do("truncate_fully 1", "expand_isr 1")
    assert (run["log.log_start 1"], run["log.high_watermark 1"]) == (1, 1)
    wrong = play(LeavesHighWatermarkBehind()).do(*alone, "truncate_fully 1")
    assert wrong.broken() == {"log_start_is_committed"}
