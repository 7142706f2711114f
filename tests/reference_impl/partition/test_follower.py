"""A follower partition: its fetches, its truncation, and the responses that it ignores."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.vocabulary import (
    LeaderEpoch,
    Offset,
)
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.context import Context
from reference_impl.node.settings import BrokerSettings
from reference_impl.node.step import Effects, Send, SetTimer
from reference_impl.partition.follower import (
    Follower,
    become_follower,
    on_fetch_timer,
    on_fetched,
)
from reference_impl.protocol.messages import NO_BROKER, EpochEndOffset, ErrorCode, Fetch, Fetched
from tests.reference_impl.contexts import BROKER_1
from tests.reference_impl.partition.followed import STATE, TP, batch, log_of


def context(now_ms: int = 0, correlation: int = 1, bugs: Bugs = NO_BUGS) -> Context:
    return replace(BROKER_1, now_ms=now_ms, correlation=correlation, bugs=bugs)


def following(log: PartitionLog, bugs: Bugs = NO_BUGS) -> tuple[Follower, Effects]:
    producers = ProducerStates.of(log.batches())
    return become_follower(TP, log, producers, STATE, context(bugs=bugs))


def fetches(effects: Effects) -> list[tuple[int, int, int]]:
    return [
        (effect.request.fetch_offset, effect.request.last_fetched_epoch, effect.correlation)
        for effect in effects
        if isinstance(effect, Send) and isinstance(effect.request, Fetch)
    ]


def answer(
    error: ErrorCode = ErrorCode.NONE, *, high_watermark: int = 0, batches: bytes = b""
) -> Fetched:
    return Fetched(
        topic_partition=TP, error=error, high_watermark=Offset(high_watermark), batches=batches
    )


def test_a_new_follower_keeps_its_log_and_sends_the_epoch_of_its_last_record() -> None:
    follower, effects = following(log_of(1, 4, high_watermark=1))
    assert follower.log.end_offset == 2
    assert fetches(effects) == [(2, 4, 1)]


def test_a_fetch_response_is_appended_and_the_next_fetch_is_sent() -> None:
    follower, _ = following(log_of(1))
    batches = batch(1, 5) + batch(2, 5)
    follower, effects = on_fetched(
        follower, context(correlation=2), 1, answer(high_watermark=9, batches=batches)
    )
    assert (follower.log.end_offset, follower.log.high_watermark) == (3, 3)
    assert follower.producers == ProducerStates.of(follower.log.batches())
    assert fetches(effects) == [(3, 5, 2)]
    # The follower's high watermark may decrease: it is copied from the response.
    follower, _ = on_fetched(follower, context(correlation=3), 2, answer(high_watermark=1))
    assert follower.log.high_watermark == 1


def test_a_response_to_another_fetch_is_ignored() -> None:
    follower, _ = following(log_of(1))
    assert on_fetched(follower, context(), 99, answer(batches=batch(1, 5))) == (follower, ())
    after, _ = on_fetched(follower, context(correlation=2), 1, answer(batches=batch(1, 5)))
    assert on_fetched(after, context(), 1, answer(batches=batch(2, 5))) == (after, ())


def test_a_follower_truncates_where_the_logs_diverge() -> None:
    follower, _ = following(log_of(1, 1, 3, 3, 4, high_watermark=5))
    parting = EpochEndOffset(leader_epoch=LeaderEpoch(3), end_offset=Offset(3))
    diverging = replace(answer(), diverging_epoch=parting)
    follower, effects = on_fetched(follower, context(correlation=2), 1, diverging)
    assert (follower.log.end_offset, follower.log.high_watermark) == (3, 3)
    assert follower.producers == ProducerStates.of(follower.log.batches())
    assert fetches(effects) == [(3, 3, 2)]
    # The leader's epoch 2 is not in this log: only records of lower epochs can be common.
    parting = EpochEndOffset(leader_epoch=LeaderEpoch(2), end_offset=Offset(3))
    follower, _ = on_fetched(
        follower, context(correlation=3), 2, replace(answer(), diverging_epoch=parting)
    )
    assert follower.log.end_offset == 2


def test_without_a_common_epoch_a_follower_truncates_to_the_leaders_end() -> None:
    follower, _ = following(log_of(1, 1))
    refused = replace(answer(ErrorCode.OFFSET_OUT_OF_RANGE), log_end_offset=Offset(0))
    after, effects = on_fetched(follower, context(correlation=2), 1, refused)
    assert after.log.end_offset == 0
    assert fetches(effects) == [(0, -1, 2)]
    # Nothing to truncate: an immediate retry would loop for ever.
    refused = replace(refused, log_end_offset=Offset(2))
    assert fetches(on_fetched(follower, context(), 1, refused)[1]) == []


@pytest.mark.parametrize(
    ("bugs", "high_watermark"), [(NO_BUGS, 7), (frozenset({Bug.HIGH_WATERMARK_LEFT_BEHIND}), 1)]
)
def test_a_follower_starts_at_the_leaders_log_start_if_its_next_record_is_deleted(
    bugs: Bugs, high_watermark: int
) -> None:
    """A follower starts at the leader's log start if the leader deleted the record to fetch next.

    The follower's high watermark rises to the new log start. With the seeded bug
    HIGH_WATERMARK_LEFT_BEHIND the high watermark stays below (KAFKA-9491).
    """
    follower, _ = following(log_of(1, 1, high_watermark=1))
    refused = replace(
        answer(ErrorCode.OFFSET_OUT_OF_RANGE), log_start_offset=Offset(7), log_end_offset=Offset(9)
    )
    after, effects = on_fetched(follower, context(correlation=2, bugs=bugs), 1, refused)
    log = after.log
    assert (log.log_start, log.end_offset, log.high_watermark) == (7, 7, high_watermark)
    assert after.producers == ProducerStates()
    assert fetches(effects) == [(7, -1, 2)]


def test_a_follower_adopts_a_later_log_start_of_the_leader() -> None:
    follower, _ = following(log_of(1, 1, 1, high_watermark=3))
    response = replace(answer(high_watermark=3), log_start_offset=Offset(2))
    follower, _ = on_fetched(follower, context(correlation=2), 1, response)
    assert (follower.log.log_start, follower.log.epochs[0].start_offset) == (2, 2)
    response = replace(response, log_start_offset=Offset(1))
    follower, _ = on_fetched(follower, context(correlation=3), 2, response)
    assert follower.log.log_start == 2  # its own deletions are not taken back


def test_a_follower_backs_off_after_an_error_and_retries_after_a_timeout() -> None:
    follower, _ = following(log_of(1))
    refused, effects = on_fetched(follower, context(7), 1, answer(ErrorCode.UNKNOWN_LEADER_EPOCH))
    (timer,) = effects
    assert isinstance(timer, SetTimer)
    assert on_fetch_timer(refused, context(timer.at_ms - 1)) == (refused, ())
    assert fetches(on_fetch_timer(refused, context(timer.at_ms, 5))[1]) == [(1, 1, 5)]
    silent_ms = BrokerSettings().replica_fetch_timeout_ms
    assert fetches(on_fetch_timer(follower, context(silent_ms, 6))[1]) == [(1, 1, 6)]


def test_without_a_leader_nothing_is_fetched() -> None:
    nobody = replace(STATE, leader=NO_BROKER)
    follower, effects = become_follower(TP, log_of(1), ProducerStates(), nobody, context())
    assert effects == ()
    assert follower.awaits is None


def test_bug_truncate_to_high_watermark_loses_a_replicated_record() -> None:
    bugs = frozenset({Bug.TRUNCATE_TO_HIGH_WATERMARK})
    follower, effects = following(log_of(1, 1, high_watermark=1), bugs)
    assert follower.log.end_offset == 1
    assert fetches(effects) == [(1, -1, 1)]


def test_bug_dedup_lost_on_failover_keeps_no_producer_state() -> None:
    bugs = frozenset({Bug.DEDUP_LOST_ON_FAILOVER})
    follower, _ = following(PartitionLog(), bugs)
    follower, _ = on_fetched(follower, context(bugs=bugs), 1, answer(batches=batch(0, 5)))
    assert follower.log.end_offset == 1
    assert follower.producers == ProducerStates()
