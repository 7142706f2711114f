"""A leader's answers to consumers: records, offsets by time, and the ends of leader epochs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.vocabulary import (
    LeaderEpoch,
    Offset,
)
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.log.segment import Batch
from reference_impl.node.bugs import Bug
from reference_impl.partition.appends import produce
from reference_impl.partition.reads import fetch, list_offsets, offset_for_leader_epoch
from reference_impl.protocol.messages import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    MAX_TIMESTAMP,
    EpochEndOffset,
    ErrorCode,
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
    OffsetForLeaderEpoch,
    OffsetOfLeaderEpoch,
)
from tests.reference_impl.partition.led import (
    CLIENT,
    TP,
    context,
    follower,
    leading,
    record,
    replies,
    state,
    stored,
)


def consumer(offset: int) -> Fetch:
    return Fetch(topic_partition=TP, fetch_offset=Offset(offset))


def test_a_consumer_reads_below_the_high_watermark() -> None:
    leader = leading(stored(3, high_watermark=2))
    (fetched,) = replies(fetch(leader, context(), CLIENT, consumer(0))[1])
    assert isinstance(fetched, Fetched)
    assert fetched.batches == leader.log.read(Offset(0), below=Offset(2), max_bytes=10_000)
    for offset, error in (
        (2, ErrorCode.NONE),
        (3, ErrorCode.NONE),
        (4, ErrorCode.OFFSET_OUT_OF_RANGE),
    ):
        (fetched,) = replies(fetch(leader, context(), CLIENT, consumer(offset))[1])
        assert isinstance(fetched, Fetched)
        assert (fetched.error, fetched.batches) == (error, b"")


def test_the_end_offset_is_unavailable_until_the_high_watermark_reaches_the_epoch_start() -> None:
    leader = leading(stored(2, high_watermark=1))
    _, effects = list_offsets(leader, context(), CLIENT, ListOffsets(topic_partition=TP))
    assert replies(effects) == [ListedOffsets(error=ErrorCode.OFFSET_NOT_AVAILABLE)]
    for broker in (2, 3):
        leader, _ = fetch(leader, context(), CLIENT, follower(broker, 2, last_epoch=4))
    _, effects = list_offsets(leader, context(), CLIENT, ListOffsets(topic_partition=TP))
    assert replies(effects) == [ListedOffsets(offset=Offset(2), leader_epoch=LeaderEpoch(5))]


@pytest.mark.parametrize(("timestamp", "offset"), [(-2, 0), (0, 0), (150, 1), (200, 2), (201, -1)])
def test_an_offset_by_time_is_that_of_the_first_record_since_then(
    timestamp: int, offset: int
) -> None:
    records = [Record(value=b"v", timestamp_ms=ms) for ms in (100, 150, 200)]
    log = PartitionLog().append(Batch.of(encode(records, leader_epoch=LeaderEpoch(0))))
    leader = leading(log.with_high_watermark(Offset(3)))
    request = ListOffsets(topic_partition=TP, timestamp=timestamp)
    (listed,) = replies(list_offsets(leader, context(), CLIENT, request)[1])
    assert isinstance(listed, ListedOffsets)
    assert listed.offset == offset


def test_an_offset_by_time_is_unavailable_while_the_high_watermark_lags() -> None:
    old = Record(value=b"v", timestamp_ms=100)
    log = PartitionLog().append(Batch.of(encode([old], leader_epoch=LeaderEpoch(0))))
    request = ListOffsets(topic_partition=TP, timestamp=100)
    assert replies(list_offsets(leading(log), context(), CLIENT, request)[1]) == [
        ListedOffsets(error=ErrorCode.OFFSET_NOT_AVAILABLE)
    ]


def test_the_earliest_offset_has_the_leader_epoch_of_its_record() -> None:
    request = ListOffsets(topic_partition=TP, timestamp=EARLIEST_TIMESTAMP)
    for log, leader_epoch in ((stored(2, leader_epoch=3), 3), (PartitionLog(), 5)):
        assert replies(list_offsets(leading(log), context(), CLIENT, request)[1]) == [
            ListedOffsets(offset=Offset(0), leader_epoch=LeaderEpoch(leader_epoch))
        ]


@pytest.mark.parametrize(
    ("log", "asked", "expected"),
    [
        (stored(2, leader_epoch=3), 3, (3, 2)),
        (stored(2, leader_epoch=3), 4, (3, 2)),
        (stored(2, leader_epoch=3), 2, (2, 0)),
        (stored(2, leader_epoch=3), 5, (5, 2)),  # the leader's own, nothing appended in it yet
        (stored(2, leader_epoch=3), 6, (-1, -1)),
        (stored(2, leader_epoch=3), -1, (-1, -1)),
        (PartitionLog(), 4, (4, 0)),  # not unknown: a consumer at offset 0 has lost nothing
        (PartitionLog(), 5, (5, 0)),
    ],
)
def test_each_leader_epoch_has_its_end_offset(
    log: PartitionLog, asked: int, expected: tuple[int, int]
) -> None:
    request = OffsetForLeaderEpoch(topic_partition=TP, leader_epoch=LeaderEpoch(asked))
    leader_epoch, end_offset = expected
    end = EpochEndOffset(leader_epoch=LeaderEpoch(leader_epoch), end_offset=Offset(end_offset))
    assert replies(offset_for_leader_epoch(leading(log), context(), CLIENT, request)[1]) == [
        OffsetOfLeaderEpoch(topic_partition=TP, end=end)
    ]


def test_a_consumer_with_a_diverging_position_gets_the_end_of_its_epoch() -> None:
    """If a consumer's position diverges from the log, the fetch response has the diverging epoch.

    The diverging epoch is the largest epoch of the log up to the consumer's last fetched epoch.

    Kafka: Partition.readRecords compares the last fetched epoch of consumers too.
    """
    leader = leading(stored(4, leader_epoch=3, high_watermark=4))
    request = Fetch(
        topic_partition=TP, fetch_offset=Offset(4), last_fetched_epoch=LeaderEpoch(4),
        max_wait_ms=500,
    )  # fmt: skip
    (fetched,) = replies(fetch(leader, context(), CLIENT, request)[1])
    assert isinstance(fetched, Fetched)
    end = EpochEndOffset(leader_epoch=LeaderEpoch(3), end_offset=Offset(4))
    assert (fetched.error, fetched.diverging_epoch) == (ErrorCode.NONE, end)
    assert (fetched.high_watermark, fetched.last_stable_offset) == (4, 4)
    agreeing = replace(request, last_fetched_epoch=LeaderEpoch(3), max_wait_ms=0)
    (fetched,) = replies(fetch(leader, context(), CLIENT, agreeing)[1])
    assert isinstance(fetched, Fetched)
    assert fetched.diverging_epoch is None


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (MAX_TIMESTAMP, (1, 30, 4)),
        (EARLIEST_LOCAL_TIMESTAMP, (0, -1, 4)),
        (LATEST_TIERED_TIMESTAMP, (-1, -1, -1)),
        (EARLIEST_PENDING_UPLOAD_TIMESTAMP, (-1, -1, -1)),
    ],
)
def test_newer_queries_of_list_offsets_are_answered(
    timestamp: int, expected: tuple[int, int, int]
) -> None:
    """ListOffsets finds the largest timestamp and the earliest local offset.

    The queries of tiered storage find no offset, because the broker has no tiered storage.

    Kafka: UnifiedLog.fetchOffsetByTimestamp.
    """
    log = PartitionLog()
    for offset, timestamp_ms in enumerate((20, 30, 30, 10)):
        data = encode(
            [Record(value=b"v", timestamp_ms=timestamp_ms)],
            base_offset=Offset(offset), leader_epoch=LeaderEpoch(4),
        )  # fmt: skip
        log = log.append(Batch.of(data))
    leader = leading(log.with_high_watermark(Offset(4)))
    request = ListOffsets(topic_partition=TP, timestamp=timestamp)
    (listed,) = replies(list_offsets(leader, context(), CLIENT, request)[1])
    assert isinstance(listed, ListedOffsets)
    assert (listed.offset, listed.timestamp, listed.leader_epoch) == expected


def test_the_largest_timestamp_of_an_empty_log_or_above_the_high_watermark_has_no_offset() -> None:
    """If the record with the largest timestamp is not below the high watermark, the response has no
    offset, as for an empty log. Kafka: ReplicaManager.fetchOffset.
    """
    request = ListOffsets(topic_partition=TP, timestamp=MAX_TIMESTAMP)
    assert replies(list_offsets(leading(), context(), CLIENT, request)[1]) == [ListedOffsets()]
    leader, _ = produce(leading(), context(), CLIENT, record())
    assert replies(list_offsets(leader, context(), CLIENT, request)[1]) == [ListedOffsets()]


def test_bug_stale_end_offset_affects_every_third_response() -> None:
    leader, offsets = leading(stored(2, high_watermark=2), state(isr=(1,), min_isr=1)), list[int]()
    for _ in range(4):
        bugs = frozenset({Bug.STALE_END_OFFSET})
        leader, effects = list_offsets(
            leader, context(bugs=bugs), CLIENT, ListOffsets(topic_partition=TP)
        )
        offsets += [r.offset for r in replies(effects) if isinstance(r, ListedOffsets)]
    assert offsets == [2, 2, 1, 2]
