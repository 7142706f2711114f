"""Closed segments are read from disk, not kept in memory; the contents of the log stay equal."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from model.vocabulary import LeaderEpoch, Offset
from reference_impl.disk import log_folder
from reference_impl.disk.recovery import Checkpointed, recovered
from reference_impl.disk.stored_batches import (
    IN_MEMORY,
    IN_MEMORY_BYTES,
    READ_BYTES,
    StoredBatches,
    with_stored_segments,
)
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.log.segment import Batch
from reference_impl.protocol.topic_config import LogConfig

SIZE = len(encode([Record(value=b"v")]))


def log_of(count: int, *, value: bytes = b"v", segment_bytes: int = 2 * SIZE) -> PartitionLog:
    log = PartitionLog()
    for offset in range(count):
        data = encode(
            [Record(value=value)], base_offset=Offset(offset), leader_epoch=LeaderEpoch(0)
        )
        log = log.append(Batch.of(data), config=LogConfig(segment_bytes=segment_bytes))
    return log


def in_memory(log: PartitionLog) -> int:
    return sum(not isinstance(segment.batches, StoredBatches) for segment in log.segments)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "orders-0"


def test_a_log_with_stored_segments_is_the_same_log(folder: Path) -> None:
    log = log_of(2 * IN_MEMORY + 3)
    log_folder.create(folder, log)
    smaller = with_stored_segments(log, folder)
    assert in_memory(smaller) == 1
    assert smaller == log
    for start in range(log.end_offset + 1):
        assert [*smaller.batches(Offset(start))] == [*log.batches(Offset(start))]
        assert smaller.truncate_to(Offset(start)) == log.truncate_to(Offset(start))


def test_few_closed_segments_stay_in_memory(folder: Path) -> None:
    log = log_of(2 * IN_MEMORY)
    log_folder.create(folder, log)
    assert len(log.segments) == IN_MEMORY
    assert with_stored_segments(log, folder) is log


def test_large_closed_segments_leave_earlier(folder: Path) -> None:
    log = log_of(3, value=bytes(IN_MEMORY_BYTES), segment_bytes=1)
    log_folder.create(folder, log)
    assert in_memory(with_stored_segments(log, folder)) == 1


def test_an_empty_log_has_nothing_to_store(folder: Path) -> None:
    assert with_stored_segments(PartitionLog(), folder) == PartitionLog()


def test_the_bytes_of_stored_segments_are_freed(folder: Path) -> None:
    tracemalloc.start()
    try:
        log = log_of(4, value=bytes(IN_MEMORY_BYTES), segment_bytes=1)
        log_folder.create(folder, log)
        before, _ = tracemalloc.get_traced_memory()
        log = with_stored_segments(log, folder)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert before > 4 * IN_MEMORY_BYTES
    assert after < 2 * IN_MEMORY_BYTES


def test_few_bytes_of_stored_segments_stay_in_memory_after_they_were_read(folder: Path) -> None:
    """The cached segments of all logs together have at most `READ_BYTES`.

    The segment that was read last stays in memory even if it alone is larger.
    """
    log = log_of(12, value=bytes(READ_BYTES // 4), segment_bytes=1)
    log_folder.create(folder, log)
    log = with_stored_segments(log, folder)
    tracemalloc.start()
    try:
        for batch in log.batches():
            assert len(batch.data) > READ_BYTES // 4
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert READ_BYTES // 4 < kept <= READ_BYTES


def test_a_changed_log_is_written_over_stored_segments(folder: Path) -> None:
    log = log_of(2 * IN_MEMORY + 3)
    log_folder.create(folder, log)
    smaller = with_stored_segments(log, folder)
    shorter = smaller.truncate_to(Offset(5))
    log_folder.write(folder, smaller, shorter)
    assert recovered(folder, Checkpointed(), print).end_offset == 5
    assert [*shorter.batches()] == [*log.batches()][:5]


def test_a_recovered_log_has_only_its_last_segment_in_memory(folder: Path) -> None:
    log = log_of(7)
    log_folder.create(folder, log)
    again = recovered(folder, Checkpointed(), print)
    assert in_memory(again) == 1
    assert [*again.batches()] == [*log.batches()]
