"""Only the newest producer snapshot of a log is in memory; earlier ones are read from their files.

A snapshot that is read from its file equals the original snapshot.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from model.vocabulary import LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence
from reference_impl.disk import log_folder
from reference_impl.disk.files import BadDataDir
from reference_impl.disk.recovery import Checkpointed, recovered
from reference_impl.disk.stored_batches import with_stored_segments
from reference_impl.disk.stored_producers import StoredProducers
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.log.segment import Batch
from reference_impl.protocol.topic_config import LogConfig


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "orders-0"


def log_of(batches: int, producers: int) -> PartitionLog:
    """A log whose segments have one batch each; the producers of the batches take turns."""
    log, states = PartitionLog(), ProducerStates()
    for number in range(batches):
        data = encode(
            [Record(value=b"v")],
            base_offset=Offset(number),
            leader_epoch=LeaderEpoch(0),
            producer_id=ProducerId(number % producers),
            producer_epoch=ProducerEpoch(0),
            base_sequence=Sequence(number // producers),
        )
        batch = Batch.of(data)
        log = log.append(batch, before=states, config=LogConfig(segment_bytes=1))
        states = states.after(batch)
    return log


def stored(log: PartitionLog) -> list[bool]:
    return [isinstance(kept.producers.producers, StoredProducers) for kept in log.snapshots]


def test_only_the_newest_snapshot_stays_in_memory(folder: Path) -> None:
    log = log_of(7, producers=3)
    log_folder.create(folder, log)
    smaller = with_stored_segments(log, folder, most=1)
    assert stored(smaller) == [True] * 5 + [False]
    assert smaller.snapshots == log.snapshots
    assert stored(recovered(folder, Checkpointed(), print)) == [True] * 5 + [False]


def test_the_producer_state_continues_from_a_stored_snapshot(folder: Path) -> None:
    log = log_of(20, producers=3)
    log_folder.create(folder, log)
    smaller = with_stored_segments(log, folder, most=1)
    for end in range(1, 20):
        truncated = smaller.truncate_to(Offset(end))
        assert truncated.producers() == log.truncate_to(Offset(end)).producers()


def test_a_snapshot_without_producers_needs_no_file(folder: Path) -> None:
    log = PartitionLog()
    for batch in log_of(7, producers=3).batches():
        log = log.append(batch, config=LogConfig(segment_bytes=1))  # without a state before it
    log_folder.create(folder, log)
    assert stored(with_stored_segments(log, folder, most=1)) == [False] * 6


def test_a_damaged_file_is_named(folder: Path) -> None:
    log = log_of(7, producers=3)
    log_folder.create(folder, log)
    smaller = with_stored_segments(log, folder, most=1)
    log_folder.snapshot_path(folder, 1).write_bytes(b"")
    with pytest.raises(BadDataDir, match=r"1\.snapshot is no whole snapshot; stop the broker"):
        smaller.truncate_to(Offset(1)).producers()
