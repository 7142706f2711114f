"""A damaged log is repaired as in Kafka: it ends before the first invalid batch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from model.vocabulary import LeaderEpoch, Offset
from reference_impl.disk import log_folder
from reference_impl.disk.recovery import Checkpointed, recovered
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.log.segment import Batch
from reference_impl.protocol.topic_config import LogConfig

SIZE = len(encode([Record(value=b"v")]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log of six batches of one record, in segments of two."""
    log, folder = PartitionLog(), tmp_path / "orders-0"
    for offset in range(6):
        data = encode(
            [Record(value=b"v")],
            base_offset=Offset(offset),
            leader_epoch=LeaderEpoch(offset // 3),
        )
        log = log.append(Batch.of(data), config=LogConfig(segment_bytes=2 * SIZE))
    log_folder.create(folder, log)
    assert [file.stat().st_size for file in segments(folder)] == [2 * SIZE] * 3
    return folder


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.log"))


def read(folder: Path, known: Checkpointed | None = None) -> tuple[PartitionLog, list[str]]:
    notes: list[str] = []
    return recovered(folder, known or Checkpointed(), notes.append), notes


def damage(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


def test_a_whole_log_needs_no_repair(folder: Path) -> None:
    log, notes = read(folder)
    assert (log.end_offset, notes) == (6, [])


def test_a_torn_batch_at_the_end_is_cut_off(folder: Path) -> None:
    last = segments(folder)[-1]
    os.truncate(last, 2 * SIZE - 1)
    log, (note,) = read(folder)
    assert log.end_offset == 5
    assert last.stat().st_size == SIZE
    assert str(last) in note
    assert note.endswith("the log ends here, at offset 5")
    assert read(folder)[1] == [], "the second start finds nothing to repair"


def test_a_wrong_checksum_ends_the_log_and_deletes_later_segments(folder: Path) -> None:
    first, second, _ = segments(folder)
    damage(second, SIZE + 62)
    log, (note,) = read(folder)
    assert log.end_offset == 3
    assert segments(folder) == [first, second]
    assert "checksum" in note


def test_checksums_below_the_recovery_point_are_not_computed(folder: Path) -> None:
    damage(segments(folder)[0], 62)
    log, notes = read(folder, Checkpointed(recovery_point=Offset(2)))
    assert (log.end_offset, notes) == (6, [])


def test_zeros_after_the_last_batch_are_cut_off(folder: Path) -> None:
    with segments(folder)[-1].open("ab") as file:
        file.write(bytes(100))
    log, notes = read(folder)
    assert (log.end_offset, len(notes)) == (6, 1)


def test_a_segment_of_garbage_is_deleted(folder: Path) -> None:
    (folder / f"{6:020}.log").write_bytes(b"garbage")
    assert read(folder)[0].end_offset == 6
    assert len(segments(folder)) == 3


def test_the_rest_of_an_interrupted_compaction_is_deleted(folder: Path) -> None:
    leftover = folder / f"{1:020}.log"
    leftover.write_bytes(segments(folder)[0].read_bytes()[SIZE:])
    log, (note,) = read(folder)
    assert (log.end_offset, leftover.exists()) == (6, False)
    assert "in the segment before it" in note


def test_leader_epochs_that_were_not_written_are_found_in_the_batches(folder: Path) -> None:
    (folder / "leader-epoch-checkpoint").unlink()
    assert [(*entry,) for entry in read(folder)[0].epochs] == [(0, 0), (1, 3)]


def test_torn_leader_epochs_are_found_in_the_batches(folder: Path) -> None:
    file = folder / "leader-epoch-checkpoint"
    whole = file.read_text()
    for size in range(1, len(whole)):
        file.write_text(whole[:size])
        log, (note,) = read(folder)
        assert [(*entry,) for entry in log.epochs] == [(0, 0), (1, 3)]
        assert note.endswith("; the leader epochs are read from the records")


def test_leader_epochs_beyond_the_end_are_dropped(folder: Path) -> None:
    segments(folder)[-1].unlink()
    segments(folder)[-1].unlink()
    assert [(*entry,) for entry in read(folder)[0].epochs] == [(0, 0)]


def test_the_high_watermark_and_the_log_start_are_those_of_the_checkpoints(folder: Path) -> None:
    log, _ = read(folder, Checkpointed(high_watermark=Offset(4), log_start=Offset(1)))
    assert (log.high_watermark, log.log_start) == (4, 1)
    log, _ = read(folder, Checkpointed(high_watermark=Offset(9)))
    assert log.high_watermark == 6


def test_a_torn_snapshot_is_deleted(folder: Path) -> None:
    snapshot = folder / f"{2:020}.snapshot"
    snapshot.write_bytes(snapshot.read_bytes()[:-1])
    log, _ = read(folder)
    assert [kept.offset for kept in log.snapshots] == [4]
    assert not snapshot.exists()


def test_temporary_files_are_deleted(folder: Path) -> None:
    (folder / "leader-epoch-checkpoint.tmp").write_bytes(b"0")
    read(folder)
    assert not [*folder.glob("*.tmp")]
