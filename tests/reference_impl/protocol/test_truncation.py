"""The five versions of truncation: which requests a follower sends, and where it truncates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.vocabulary import (
    LeaderEpoch,
    Offset,
)
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.node.context import Context
from reference_impl.node.step import Effects, Send
from reference_impl.partition.follower import (
    Follower,
    become_follower,
    on_epoch_end,
    on_fetch_timer,
)
from reference_impl.protocol.messages import (
    EpochEndOffset,
    ErrorCode,
    Fetch,
    OffsetForLeaderEpoch,
    OffsetOfLeaderEpoch,
)
from reference_impl.protocol.truncation import Truncation
from reference_impl.simulation.cluster import Cluster
from tests.reference_impl.contexts import BROKER_1
from tests.reference_impl.partition.followed import STATE, TP, log_of


def context(version: Truncation, correlation: int = 1, now_ms: int = 0) -> Context:
    return replace(BROKER_1, now_ms=now_ms, correlation=correlation, truncation=version)


def following(version: Truncation, log: PartitionLog) -> tuple[Follower, Effects]:
    return become_follower(TP, log, ProducerStates(), STATE, context(version))


def requests_in(effects: Effects) -> list[tuple[object, ...]]:
    requests = [effect.request for effect in effects if isinstance(effect, Send)]
    return [
        ("fetch", request.fetch_offset, request.last_fetched_epoch, request.current_leader_epoch)
        if isinstance(request, Fetch)
        else ("end of", request.leader_epoch, request.current_leader_epoch)
        for request in requests
        if isinstance(request, Fetch | OffsetForLeaderEpoch)
    ]


def ends(leader_epoch: int, offset: int) -> OffsetOfLeaderEpoch:
    end = EpochEndOffset(leader_epoch=LeaderEpoch(leader_epoch), end_offset=Offset(offset))
    return OffsetOfLeaderEpoch(topic_partition=TP, end=end)


@pytest.mark.parametrize(
    ("version", "first", "kept"),
    [
        (Truncation.HIGH_WATERMARK, ("fetch", 1, -1, -1), 1),
        (Truncation.KIP_101, ("end of", 4, -1), 3),
        (Truncation.KIP_279, ("end of", 4, -1), 3),
        (Truncation.KIP_320, ("end of", 4, 5), 3),
        (Truncation.IN_FETCH, ("fetch", 3, 4, 5), 3),
    ],
)
def test_the_version_decides_a_followers_first_request(
    version: Truncation, first: tuple[object, ...], kept: int
) -> None:
    follower, effects = following(version, log_of(1, 1, 4, high_watermark=1))
    assert requests_in(effects) == [first]
    assert follower.log.end_offset == kept


def test_kip_101_truncates_to_the_offset_and_ignores_the_epoch() -> None:
    version = Truncation.KIP_101
    follower, _ = following(version, log_of(1, 3, 3, 3))
    follower, effects = on_epoch_end(follower, context(version, 2), 1, ends(2, 3))
    assert (
        follower.log.end_offset == 3
    )  # two records of leader epoch 3, of which the leader has none
    assert requests_in(effects) == [("fetch", 3, -1, -1)]


@pytest.mark.parametrize(("version", "mine"), [(Truncation.KIP_279, -1), (Truncation.KIP_320, 5)])
def test_since_kip_279_the_next_epoch_is_requested_until_both_logs_have_it(
    version: Truncation, mine: int
) -> None:
    follower, _ = following(version, log_of(1, 3, 3, 3))
    follower, effects = on_epoch_end(follower, context(version, 2), 1, ends(2, 3))
    assert follower.log.end_offset == 1
    assert requests_in(effects) == [("end of", 1, mine)]
    follower, effects = on_epoch_end(follower, context(version, 3), 2, ends(1, 3))
    assert follower.log.end_offset == 1
    assert requests_in(effects) == [("fetch", 1, -1, mine)]


def test_an_epoch_unknown_to_the_leader_truncates_to_the_high_watermark() -> None:
    version = Truncation.KIP_101
    follower, _ = following(version, log_of(1, 1, 6, high_watermark=2))
    follower, effects = on_epoch_end(follower, context(version, 2), 1, ends(-1, -1))
    assert follower.log.end_offset == 2
    assert requests_in(effects) == [("fetch", 2, -1, -1)]


def test_nothing_is_fetched_before_truncation_and_an_old_response_is_ignored() -> None:
    version = Truncation.KIP_320
    follower, _ = following(version, log_of(1))
    assert on_epoch_end(follower, context(version), 99, ends(1, 0)) == (follower, ())
    refused = replace(ends(-1, -1), error=ErrorCode.FENCED_LEADER_EPOCH)
    later, _ = on_epoch_end(follower, context(version), 1, refused)
    assert later.log.end_offset == 1
    _, effects = on_fetch_timer(later, context(version, 7, later.fetches_ms))
    assert requests_in(effects) == [("end of", 1, 5)]


@pytest.mark.parametrize("version", Truncation)
def test_when_two_leaders_die_in_a_row_only_the_oldest_version_loses_replicated_records(
    version: Truncation,
) -> None:
    """After two leaders have crashed, only the oldest version has lost a replicated record.

    In this version, `high-watermark`, a follower truncates to its own high watermark, which lags
    behind the leader's by one fetch (KAFKA-1211).
    """
    cluster = Cluster(min_insync_replicas=2, truncation=version)
    producer = cluster.add_producer()
    cluster.send(producer, "first")
    assert cluster.run_until(lambda: cluster.producer(producer).idle, 500)
    first_epoch = cluster.leader_epoch()
    cluster.crash(cluster.leader())
    cluster.run_until(lambda: cluster.leader_epoch() > first_epoch, 600)
    cluster.crash(cluster.leader())
    cluster.recover()
    values = [value for _, value in cluster.read_all()]
    assert values == ([] if version is Truncation.HIGH_WATERMARK else ["first"])
