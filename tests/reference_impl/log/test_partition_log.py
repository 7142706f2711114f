"""The partition log agrees with a simple model: a list of records with leader epochs."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.vocabulary import LeaderEpoch, Offset
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.partition_log import SEGMENT_BATCHES, SEGMENT_BYTES, PartitionLog
from reference_impl.log.producer_state import NO_PRODUCERS
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode, header
from reference_impl.log.segment import Batch
from reference_impl.protocol.messages import EpochEndOffset
from reference_impl.protocol.topic_config import CleanupPolicy, LogConfig


@dataclass(frozen=True)
class Shape:
    records: int
    epoch_step: int


shapes = st.lists(st.builds(Shape, st.integers(1, 3), st.integers(0, 2)), max_size=12)


def batch_at(offset: int, leader_epoch: int, records: int = 1) -> Batch:
    return Batch.of(
        encode(
            [Record(value=b"v")] * records,
            base_offset=Offset(offset),
            leader_epoch=LeaderEpoch(leader_epoch),
        )
    )


def log_of(appended: list[Shape]) -> tuple[PartitionLog, list[Batch]]:
    log, in_order, leader_epoch = PartitionLog(), list[Batch](), 0
    for shape in appended:
        leader_epoch += shape.epoch_step
        in_order.append(batch_at(log.end_offset, leader_epoch, shape.records))
        log = log.append(in_order[-1])
    return log, in_order


@given(shapes)
def test_a_log_is_its_batches(appended: list[Shape]) -> None:
    log, in_order = log_of(appended)
    assert list(log.batches()) == in_order
    assert log.end_offset == sum(shape.records for shape in appended)
    assert log.last_epoch == (in_order[-1].header.leader_epoch if in_order else -1)


@given(shapes, st.integers(0, 40))
def test_truncation_drops_each_batch_that_reaches_the_offset(
    appended: list[Shape], offset: int
) -> None:
    log, in_order = log_of(appended)
    kept = [batch for batch in in_order if batch.header.last_offset < offset]
    cut = log.truncate_to(Offset(offset))
    assert list(cut.batches()) == kept
    assert cut.end_offset == (kept[-1].header.next_offset if kept else 0)
    assert cut == log_of(appended[: len(kept)])[0] or cut is log


@given(shapes, st.integers(0, 30), st.integers(0, 30), st.integers(1, 400))
def test_a_read_returns_whole_batches_between_two_offsets(
    appended: list[Shape], start: int, below: int, max_bytes: int
) -> None:
    log, in_order = log_of(appended)
    expected: list[bytes] = []
    for batch in in_order:
        if batch.header.last_offset < start:
            continue
        too_large = expected and sum(map(len, expected)) + len(batch.data) > max_bytes
        if batch.header.next_offset > below or too_large:
            break
        expected.append(batch.data)
    found = log.read(Offset(start), below=Offset(below), max_bytes=max_bytes)
    assert list(batches(found)) == expected


@given(shapes.filter(bool), st.integers(0, 30))
def test_the_end_of_an_epoch_is_the_start_of_the_next_larger_one(
    appended: list[Shape], asked: int
) -> None:
    log, in_order = log_of(appended)
    records = [
        batch.header.leader_epoch for batch in in_order for _ in range(batch.header.record_count)
    ]
    known = [leader_epoch for leader_epoch in records if leader_epoch <= asked]
    largest = max(known, default=asked)  # all are larger: the epoch itself, empty, at the start
    end = sum(1 for leader_epoch in records if leader_epoch <= largest)
    assert log.end_of_epoch(LeaderEpoch(asked)) == EpochEndOffset(
        leader_epoch=LeaderEpoch(largest), end_offset=Offset(end)
    )


def test_an_empty_log_knows_no_epoch() -> None:
    assert PartitionLog().end_of_epoch(LeaderEpoch(3)) == EpochEndOffset(end_offset=Offset(0))


def test_a_long_log_has_many_segments_and_reads_as_one() -> None:
    log, in_order = log_of([Shape(1, 0)] * (2 * SEGMENT_BATCHES + 5))
    assert [len(segment.batches) for segment in log.segments] == [
        SEGMENT_BATCHES,
        SEGMENT_BATCHES,
        5,
    ]
    assert list(log.batches(Offset(SEGMENT_BATCHES - 1))) == in_order[SEGMENT_BATCHES - 1 :]
    cut = log.truncate_to(Offset(SEGMENT_BATCHES))
    assert cut.end_offset == SEGMENT_BATCHES
    assert len(cut.segments) == 1
    inside = log.truncate_to(Offset(SEGMENT_BATCHES + 2))
    assert [segment.next_offset for segment in inside.segments] == [
        SEGMENT_BATCHES,
        SEGMENT_BATCHES + 2,
    ]


def test_a_segment_of_many_bytes_is_closed_before_it_has_many_batches() -> None:
    log, value = PartitionLog(), bytes(SEGMENT_BYTES // 3)
    for offset in range(5):
        data = encode(
            [Record(value=value)], base_offset=Offset(offset), leader_epoch=LeaderEpoch(0)
        )
        log = log.append(Batch.of(data))
    assert [len(segment.batches) for segment in log.segments] == [2, 2, 1]


def test_a_batch_must_follow_the_log_end() -> None:
    log = PartitionLog().append(batch_at(0, 4))
    with pytest.raises(ValueError, match="offset 0 of leader epoch 4 does not follow end offset 1"):
        log.append(batch_at(0, 4))
    with pytest.raises(ValueError, match="leader epoch 3 does not follow"):
        log.append(batch_at(1, 3))
    assert log.append(batch_at(5, 4)).end_offset == 6  # a hole is legal: compaction leaves them


def test_a_crash_of_the_process_keeps_the_records_and_the_checkpoint() -> None:
    log = log_of([Shape(1, 0)] * 4)[0].with_high_watermark(Offset(2)).on_disk()
    crashed = log.with_high_watermark(Offset(4)).after_process_crash()
    assert (crashed.end_offset, crashed.high_watermark) == (4, 2)


@pytest.mark.parametrize(("kept", "left"), [(0, 2), (3, 3), (9, 4)])
def test_a_power_loss_keeps_the_flushed_part_and_perhaps_more(kept: int, left: int) -> None:
    log = log_of([Shape(1, 0)] * 2)[0].with_high_watermark(Offset(2)).on_disk()
    log = log.append(batch_at(2, 0)).append(batch_at(3, 0)).with_high_watermark(Offset(4))
    lost = log.after_power_loss(Offset(kept))
    assert (lost.end_offset, lost.high_watermark) == (left, 2)
    assert lost.flushed == left  # what the loss left was on the disk: the next one leaves it too
    assert lost.after_power_loss(Offset(0)) == lost


def test_the_high_watermark_does_not_pass_the_end() -> None:
    assert log_of([Shape(2, 0)])[0].with_high_watermark(Offset(9)).high_watermark == 2


@given(shapes, st.integers(0, 30))
def test_records_before_the_log_start_are_not_returned(appended: list[Shape], start: int) -> None:
    log, in_order = log_of(appended)
    start = min(start, log.end_offset)
    begun = log.with_log_start(Offset(start))
    assert list(begun.batches()) == [b for b in in_order if b.header.last_offset >= start]
    assert (begun.log_start, begun.end_offset) == (start, log.end_offset)
    assert (
        begun.high_watermark == start
    )  # nothing is replicated, and the high watermark is not below the log start
    epochs = {batch.header.leader_epoch for batch in in_order}
    for leader_epoch in {*epochs, LeaderEpoch(99)}:
        before, after = log.end_of_epoch(leader_epoch), begun.end_of_epoch(leader_epoch)
        if before.end_offset > start:
            assert after == before  # where an epoch ends is known as long as it has records


def test_segments_are_deleted_as_a_whole_and_the_snapshot_stays() -> None:
    log = log_of([Shape(1, 0)] * (SEGMENT_BATCHES + 5))[0].with_high_watermark(Offset(200))
    gone = log.without_segments(1, NO_PRODUCERS)
    assert (gone.first_offset, gone.log_start) == (SEGMENT_BATCHES, SEGMENT_BATCHES)
    assert [kept.offset for kept in gone.snapshots] == [SEGMENT_BATCHES]
    empty = log.without_segments(2, NO_PRODUCERS)
    assert (empty.log_start, empty.end_offset) == (SEGMENT_BATCHES + 5, SEGMENT_BATCHES + 5)
    assert empty.last_epoch == log.last_epoch  # it is still known where the last epoch ends
    assert empty.append(batch_at(empty.end_offset, 0)).end_offset == SEGMENT_BATCHES + 6


def test_the_log_start_survives_a_crash_once_it_is_checkpointed() -> None:
    log = log_of([Shape(1, 0)] * 4)[0].with_high_watermark(Offset(4)).with_log_start(Offset(2))
    # A log start inside a segment is lost in a crash unless it is in the checkpoint.
    assert log.after_process_crash().log_start == 0
    assert log.on_disk().after_process_crash().log_start == 2
    rolled = log_of([Shape(1, 0)] * (SEGMENT_BATCHES + 1))[0]
    deleted = rolled.with_high_watermark(rolled.end_offset).without_segments(1, NO_PRODUCERS)
    crashed = deleted.after_process_crash()
    assert (crashed.log_start, crashed.high_watermark) == (SEGMENT_BATCHES, SEGMENT_BATCHES)
    lost = deleted.after_power_loss(Offset(0))
    assert (lost.log_start, lost.high_watermark, lost.end_offset) == (SEGMENT_BATCHES,) * 3


def test_truncation_below_the_log_start_lowers_it() -> None:
    log = log_of([Shape(1, 0)] * 4)[0].with_log_start(Offset(3)).truncate_to(Offset(1))
    assert (log.log_start, log.high_watermark, log.end_offset) == (1, 1, 1)
    emptied = log.truncate_fully_and_start_at(Offset(7))
    assert (
        emptied.first_offset,
        emptied.log_start,
        emptied.high_watermark,
        emptied.end_offset,
    ) == (7,) * 4
    assert emptied.epochs == ()
    assert emptied.truncate_to(Offset(5)).end_offset == 5


def test_headers_are_read_once() -> None:
    batch = batch_at(3, 1, records=2)
    assert batch.header == header(batch.data)


def test_an_append_copies_no_closed_segment() -> None:
    """An append to a long log is as fast as to a short one: the old segments are not copied."""
    log = PartitionLog()
    for number in range(3 * SEGMENT_BATCHES):
        log = log.append(batch_at(number, 0))
    longer = log.append(batch_at(3 * SEGMENT_BATCHES, 0))
    assert len(longer.segments) == len(log.segments) + 1
    assert longer.segments._shared is log.segments._shared


# ---------------------------------------------------------------- segments


def timed(log: PartitionLog, *times_ms: int, config: LogConfig) -> PartitionLog:
    for time_ms in times_ms:
        data = encode([Record(value=b"v", timestamp_ms=time_ms)], base_offset=log.end_offset)
        log = log.append(Batch.of(data), config=config)
    return log


@pytest.mark.parametrize(
    ("config", "offsets"),
    [
        (LogConfig(segment_ms=10), [0, 2, 4]),
        (LogConfig(segment_ms=11), [0, 3]),
        (LogConfig(segment_ms=11, max_compaction_lag_ms=10), [0, 3]),  # counts if it compacts
        (
            LogConfig(
                segment_ms=11, max_compaction_lag_ms=10, cleanup_policy=CleanupPolicy.COMPACT
            ),
            [0, 2, 4],
        ),
    ],
)
def test_a_segment_ends_by_the_timestamps_of_its_records(
    config: LogConfig, offsets: list[int]
) -> None:
    """If a record is more than segment.ms later than the first record of the segment, it begins a
    new segment.

    Kafka: LogSegment.timeWaitedForRoll, LogConfig.maxSegmentMs.
    """
    log = timed(PartitionLog(), 100, 110, 111, 112, 122, 101, config=config)
    assert [segment.base_offset for segment in log.segments] == offsets


def test_a_segment_whose_first_record_has_no_timestamp_does_not_end_by_time() -> None:
    log = timed(PartitionLog(), -1, 100, 200, config=LogConfig(segment_ms=10))
    assert len(log.segments) == 1


# ---------------------------------------------------------------- flushes


def test_a_log_is_flushed_when_flush_ms_has_passed_since_the_last_flush() -> None:
    log = PartitionLog().append(batch_at(0, 0)).flushed_at(1_000, 50)
    assert log.flushed == 0, "the time begins with the first check"
    assert log.flushed_at(1_049, 50) is log
    flushed = log.flushed_at(1_050, 50)
    assert flushed.flushed == 1
    assert flushed.flushed_at(9_999, 50) is flushed, "without another record no flush is due"
    longer = flushed.append(batch_at(1, 0))
    assert longer.flushed_at(1_099, 50) is longer
    assert longer.flushed_at(1_100, 50).flushed == 2


def test_records_after_a_truncation_are_flushed_although_the_log_end_is_the_same() -> None:
    log = log_of([Shape(1, 0)] * 3)[0].flushed_at(0, 50).flushed_at(50, 50)
    again = log.truncate_to(Offset(2)).append(batch_at(2, 1))
    assert (log.flushed, again.flushed, again.end_offset) == (3, 2, 3)
    assert again.flushed_at(100, 50).flushed == 3


def test_a_log_is_flushed_after_flush_messages() -> None:
    log, config = PartitionLog(), LogConfig(flush_messages=3)
    flushed: list[int] = []
    for offset in (0, 2, 4, 6):
        log = log.append(batch_at(offset, 0, records=2), config=config)
        flushed.append(log.flushed)
    assert flushed == [0, 4, 4, 8]
