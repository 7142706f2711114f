"""Retention and DeleteRecords: the deleted records, the remaining records, and the responses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from model.vocabulary import LeaderEpoch, Offset, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import NO_PRODUCERS
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.log.retention import retained
from reference_impl.log.segment import Batch
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.step import ResponseReceived
from reference_impl.protocol.coordinators import TRANSACTION_STATE
from reference_impl.protocol.deletion import DeletedRecords, DeleteRecords
from reference_impl.protocol.messages import (
    EARLIEST_TIMESTAMP,
    ErrorCode,
    Fetch,
    Fetched,
    ListOffsets,
    NodeId,
)
from reference_impl.protocol.topic_config import UNLIMITED, CleanupPolicy, LogConfig

InstantCluster = Any  # of conftest
StartCluster = Callable[..., InstantCluster]
TP = TopicPartition("orders", 0)
SMALL = 300  # bytes of a segment: a few batches


def log_of(timestamps_ms: list[int], high_watermark: int) -> PartitionLog:
    log = PartitionLog()
    for timestamp_ms in timestamps_ms:
        data = encode(
            [Record(value=b"v" * 30, timestamp_ms=timestamp_ms)],
            base_offset=log.end_offset,
            leader_epoch=LeaderEpoch(0),
        )
        log = log.append(Batch.of(data), config=LogConfig(segment_bytes=SMALL))
    return log.with_high_watermark(Offset(high_watermark))


@given(st.lists(st.integers(0, 100), max_size=20), st.integers(0, 20), st.integers(0, 120))
@example([0] * 9, 9, 100)
def test_a_record_stays_at_least_for_retention_ms(
    timestamps_ms: list[int], high_watermark: int, now_ms: int
) -> None:
    log = log_of(timestamps_ms, high_watermark)
    left, _ = retained(log, NO_PRODUCERS, LogConfig(retention_ms=50), now_ms)
    gone = timestamps_ms[: left.log_start]
    assert all(now_ms - timestamp_ms > 50 for timestamp_ms in gone)
    assert left.log_start <= log.high_watermark
    assert left.segments == log.segments[len(log.segments) - len(left.segments) :]
    # Every deletable segment is deleted: the oldest one left has a record that must stay.
    if left.segments:
        oldest = left.segments[0]
        is_young = now_ms - oldest.max_timestamp_ms <= 50
        assert is_young or oldest.next_offset > log.high_watermark


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 3_000))
def test_a_log_keeps_at_least_retention_bytes(
    records: int, high_watermark: int, retention_bytes: int
) -> None:
    log = log_of([0] * records, high_watermark)
    config = LogConfig(retention_ms=UNLIMITED, retention_bytes=retention_bytes)
    left, _ = retained(log, NO_PRODUCERS, config, 10**9)
    size, before = (sum(s.size for s in each.segments) for each in (left, log))
    assert size >= min(before, retention_bytes)
    assert left.log_start <= log.high_watermark
    if left.segments:
        oldest = left.segments[0]
        assert size - oldest.size < retention_bytes or oldest.next_offset > log.high_watermark


def test_bug_deletes_uncommitted_passes_the_high_watermark() -> None:
    log = log_of([0] * 9, 4)
    bugs = frozenset({Bug.DELETES_UNCOMMITTED})
    assert retained(log, NO_PRODUCERS, LogConfig(retention_ms=50), 100)[0].log_start <= 4
    assert retained(log, NO_PRODUCERS, LogConfig(retention_ms=50), 100, bugs)[0].log_start == 9


@pytest.mark.parametrize("policy", CleanupPolicy)
@pytest.mark.parametrize("limit", [LogConfig(retention_ms=1), LogConfig(retention_bytes=0)])
def test_age_and_size_delete_only_if_the_policy_deletes(
    policy: CleanupPolicy, limit: LogConfig
) -> None:
    """Kafka: UnifiedLog.deleteOldSegments."""
    log = log_of([0] * 9, 9)
    left = retained(log, NO_PRODUCERS, replace(limit, cleanup_policy=policy), 10**9)[0]
    assert (left == log) is ("delete" not in policy.value)


# ---------------------------------------------------------------- a cluster


def written(
    start_cluster: StartCluster, records: int, bugs: Bugs = NO_BUGS, **config: Any
) -> InstantCluster:
    cluster = start_cluster(brokers=3, bugs=bugs)
    cluster.create("orders", log_config=LogConfig(segment_bytes=200, **config))
    for number in range(records):
        assert cluster.write(TP, str(number)) is ErrorCode.NONE
    return cluster


def logs(cluster: InstantCluster) -> list[PartitionLog]:
    brokers = [cluster.nodes[NodeId(number)] for number in (1, 2, 3)]
    assert all(isinstance(broker, Broker) for broker in brokers)
    return [broker.replicas[TP].log for broker in brokers]


def read(cluster: InstantCluster, offset: int) -> Fetched:
    request = Fetch(topic_partition=TP, fetch_offset=Offset(offset))
    answer = cluster.call(request, cluster.leader(TP))
    assert isinstance(answer, Fetched)
    return answer


def delete(cluster: InstantCluster, before: int = -1, timeout_ms: int = 5_000) -> DeletedRecords:
    request = DeleteRecords(topic_partition=TP, before=Offset(before), timeout_ms=timeout_ms)
    answer = cluster.call(request, cluster.leader(TP))
    assert isinstance(answer, DeletedRecords)
    return answer


def test_a_consumer_resumes_within_the_retention_time_and_not_after_it(
    start_cluster: StartCluster,
) -> None:
    cluster = written(start_cluster, 6, retention_ms=10_000)
    cluster.pass_time(9_000)
    assert read(cluster, 2).error is ErrorCode.NONE
    assert {log.log_start for log in logs(cluster)} == {0}
    cluster.pass_time(5_000)
    refused = read(cluster, 2)
    assert (refused.error, refused.log_start_offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, 6)
    assert {(log.log_start, log.high_watermark) for log in logs(cluster)} == {(6, 6)}
    earliest = cluster.call(
        ListOffsets(topic_partition=TP, timestamp=EARLIEST_TIMESTAMP), cluster.leader(TP)
    )
    assert earliest.offset == 6
    assert cluster.write(TP, "later") is ErrorCode.NONE  # an offset is never given again
    assert read(cluster, 6).batches


def test_delete_records_responds_when_all_replicas_have_followed(
    start_cluster: StartCluster,
) -> None:
    cluster = written(start_cluster, 4)
    answer = delete(cluster, 3)
    assert (answer.error, answer.low_watermark) == (ErrorCode.NONE, 3)
    assert {log.log_start for log in logs(cluster)} == {3}
    assert read(cluster, 2).error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert read(cluster, 3).error is ErrorCode.NONE
    assert delete(cluster, 2).low_watermark == 3  # it has long been done
    assert delete(cluster).low_watermark == 4
    assert delete(cluster, 5).error is ErrorCode.OFFSET_OUT_OF_RANGE


def test_delete_records_waits_for_a_slow_replica_and_not_for_a_fenced_one(
    start_cluster: StartCluster,
) -> None:
    cluster = written(start_cluster, 4)
    cluster.is_dropped = lambda to, message: (
        isinstance(message, ResponseReceived) and to == NodeId(3)
    )
    assert delete(cluster, 2, timeout_ms=500).error is ErrorCode.REQUEST_TIMED_OUT
    assert {log.log_start for log in logs(cluster)} == {0, 2}  # done here, and not taken back
    cluster.nodes.pop(NodeId(3))
    request = DeleteRecords(topic_partition=TP, before=Offset(3), timeout_ms=60_000)
    waiting = cluster.send(request, cluster.leader(TP))
    cluster.pass_time(5_000)
    assert waiting not in cluster.answers
    cluster.pass_time(10_000)  # longer than a session
    assert cluster.answers[waiting].low_watermark == 3


def test_bug_deletion_answered_alone_does_not_wait_for_a_slow_replica(
    start_cluster: StartCluster,
) -> None:
    cluster = written(start_cluster, 4, bugs=frozenset({Bug.DELETION_ANSWERED_ALONE}))
    cluster.is_dropped = lambda to, message: (
        isinstance(message, ResponseReceived) and to == NodeId(3)
    )
    assert delete(cluster, 2, timeout_ms=500).low_watermark == 2
    assert {log.log_start for log in logs(cluster)} == {
        0,
        2,
    }  # whoever is elected may have them yet


def test_delete_records_is_rejected_for_compacted_and_internal_topics(
    start_cluster: StartCluster,
) -> None:
    cluster = written(start_cluster, 0, cleanup_policy=CleanupPolicy.COMPACT)
    assert delete(cluster).error is ErrorCode.POLICY_VIOLATION
    cluster.coordinator("t", transactional=True)
    internal = TopicPartition(TRANSACTION_STATE, 0)
    request = DeleteRecords(topic_partition=internal)
    answer = cluster.call(request, cluster.leader(internal))
    assert answer.error is ErrorCode.INVALID_TOPIC_EXCEPTION
    follower = next(number for number in (1, 2, 3) if number != cluster.leader(TP))
    refused = cluster.call(DeleteRecords(topic_partition=TP), follower)
    assert refused.error is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_deletion_passes_an_open_transaction_and_its_readers_get_an_error(
    start_cluster: StartCluster,
) -> None:
    cluster = start_cluster(brokers=3, config={"verifies_transactions": False})
    cluster.create("orders")
    assert cluster.write(TP, "open", (7, 0), transactional_id="t") is ErrorCode.NONE
    fetch = Fetch(
        topic_partition=TP, fetch_offset=Offset(0), max_wait_ms=60_000, read_committed=True
    )
    waiting = cluster.send(fetch, cluster.leader(TP))
    assert cluster.unstable(TP) == 1
    assert delete(cluster).low_watermark == 1
    assert cluster.answers[waiting].error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert cluster.unstable(TP) == 0


def test_a_follower_below_the_leaders_log_start_starts_there(
    start_cluster: StartCluster,
) -> None:
    cluster = written(start_cluster, 2)
    before = cluster.nodes.pop(NodeId(3))
    cluster.pass_time(20_000)
    for number in range(2, 8):
        assert cluster.write(TP, str(number)) is ErrorCode.NONE
    assert delete(cluster, 5).low_watermark == 5
    cluster.nodes[NodeId(3)] = before
    cluster.restart(3)
    cluster.pass_time(20_000)
    assert [(log.log_start, log.end_offset, log.high_watermark) for log in logs(cluster)] == [
        (5, 8, 8)
    ] * 3
    assert logs(cluster)[2].first_offset == 5
