"""A log that is written to its folder change by change is read back as the same log."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.vocabulary import LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence
from reference_impl.disk import log_folder, segment_index
from reference_impl.disk.recovery import Checkpointed, recovered
from reference_impl.disk.stored_batches import with_stored_segments
from reference_impl.log.compaction import compacted
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.log.segment import Batch
from reference_impl.protocol.topic_config import CleanupPolicy, LogConfig

SMALL = 300  # bytes of a segment: about three batches
COMPACTED = LogConfig(cleanup_policy=CleanupPolicy.COMPACT, min_cleanable_dirty_ratio=0)


class Written:
    """A log, its producers, and the folder that contains them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log, self.producers = PartitionLog(), ProducerStates()
        self.notes: list[str] = []
        if not folder.exists():
            log_folder.create(folder, self.log)

    def become(self, log: PartitionLog) -> None:
        log_folder.write(self.folder, self.log, log)
        self.log = log

    def append(self, key: int = 0, epoch: int | None = None, records: int = 1) -> None:
        known = self.producers.producers.get(ProducerId(7))
        sequence = known.batches[-1].last_sequence + 1 if known else 0
        batch = Batch.of(
            encode(
                [Record(key=b"%d" % key, value=b"v")] * records,
                base_offset=self.log.end_offset,
                leader_epoch=LeaderEpoch(max(self.log.last_epoch, 0) if epoch is None else epoch),
                producer_id=ProducerId(7),
                producer_epoch=ProducerEpoch(0),
                base_sequence=Sequence(sequence),
            )
        )
        self.become(
            self.log.append(batch, before=self.producers, config=LogConfig(segment_bytes=SMALL))
        )
        self.producers = self.producers.after(batch)

    def truncate(self, offset: int) -> None:
        self.become(self.log.truncate_to(Offset(offset)))
        self.producers = self.log.producers()

    def restart_at(self, offset: int) -> None:
        self.become(self.log.truncate_fully_and_start_at(Offset(self.log.end_offset + offset)))
        self.producers = ProducerStates()

    def retain(self, count: int) -> None:
        count = min(count, len(self.log.segments))
        self.become(self.log.without_segments(count, self.producers))

    def compact(self) -> None:
        end = self.log.end_offset
        self.become(compacted(self.log, (), COMPACTED, stable=end, now_ms=0))

    def store(self) -> None:
        self.log = with_stored_segments(self.log, self.folder, most=1)

    def indexes(self) -> dict[str, bytes]:
        """Returns the content of the index files."""
        found = {
            file for suffix in segment_index.SUFFIXES for file in self.folder.glob(f"*{suffix}")
        }
        return {file.name: file.read_bytes() for file in found}

    def read(self, known: Checkpointed | None = None) -> PartitionLog:
        checkpointed = known or Checkpointed(
            high_watermark=self.log.high_watermark,
            log_start=self.log.log_start,
            cleaned=self.log.cleaned,
        )
        return recovered(self.folder, checkpointed, self.notes.append)


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path / "orders-0")


def content(log: PartitionLog) -> tuple[Any, ...]:
    return (
        [batch.data for batch in log.batches()],
        log.end_offset,
        log.first_offset,
        log.log_start,
        [entry for entry in log.epochs if entry.start_offset < log.end_offset],
        [kept.offset for kept in log.snapshots],
    )


def files(written: Written) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in sorted(written.folder.glob("*.log"))}


def test_a_new_partition_has_an_empty_segment(written: Written) -> None:
    assert files(written) == {"00000000000000000000.log": 0}
    assert content(written.read()) == content(PartitionLog())


def test_segments_are_the_bytes_of_their_batches_and_are_named_after_their_first_offset(
    written: Written,
) -> None:
    for _ in range(5):
        written.append(records=2)
    for segment in written.log.segments:
        file = written.folder / f"{segment.base_offset:020}.log"
        assert file.read_bytes() == b"".join(batch.data for batch in segment.batches)
    assert len(files(written)) == len(written.log.segments) > 1


def test_truncation_removes_later_segments_and_their_snapshots(written: Written) -> None:
    for _ in range(8):
        written.append()
    written.truncate(2)
    assert [*files(written)] == ["00000000000000000000.log"]
    assert not [*written.folder.glob("*.snapshot")]
    assert written.read().end_offset == 2


def test_a_truncation_at_the_end_of_a_segment_opens_the_segment(written: Written) -> None:
    while len(written.log.segments) < 3:
        written.append()
    assert len(written.indexes()) == 4
    written.truncate(written.log.segments[-1].base_offset)
    assert len(written.indexes()) == 2, "an open segment has no index of offsets or times"


def test_a_follower_that_truncates_fully_has_one_empty_segment_at_its_offset(
    written: Written,
) -> None:
    written.append()
    written.restart_at(41)
    assert files(written) == {"00000000000000000042.log": 0}
    assert (written.read().log_start, written.read().end_offset) == (42, 42)


def test_retention_deletes_the_oldest_files(written: Written) -> None:
    for _ in range(8):
        written.append()
    written.retain(len(written.log.segments))
    assert files(written) == {"00000000000000000008.log": 0}
    assert written.read().producers() == written.producers.with_newest_batches()


def test_a_compacted_log_keeps_its_start_when_its_first_batches_are_gone(written: Written) -> None:
    for _ in range(8):
        written.append(key=1)
    written.compact()
    assert next(iter(written.log.batches())).header.base_offset > 0
    assert content(written.read()) == content(written.log)
    assert written.read().log_start == 0


def test_compaction_replaces_the_file_of_a_segment_that_keeps_its_first_batch(
    written: Written,
) -> None:
    for key in (1, 2, 2, 3, 4, 4, 5):
        written.append(key)
    before = files(written)
    written.compact()
    assert files(written).keys() == before.keys()
    assert content(written.read()) == content(written.log)


steps = st.one_of(
    st.builds(
        lambda key, epoch, records: (
            lambda it: it.append(key, max(it.log.last_epoch, 0) + epoch, records)
        ),
        st.integers(0, 2),
        st.integers(0, 1),
        st.integers(1, 3),
    ),
    st.builds(lambda back: lambda it: it.truncate(it.log.end_offset - back), st.integers(0, 9)),
    st.builds(lambda offset: lambda it: it.restart_at(offset), st.integers(0, 3)),
    st.builds(lambda count: lambda it: it.retain(count), st.integers(0, 2)),
    st.just(lambda it: it.compact()),
    st.just(lambda it: it.store()),
)


@settings(max_examples=60)
@given(st.lists(steps, max_size=25))
def test_after_any_changes_the_folder_contains_the_log(
    changes: list[Callable[[Written], None]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        written = Written(Path(folder) / "orders-0")
        for change in changes:
            change(written)
        indexes = written.indexes()
        log = written.read()
        assert content(log) == content(written.log)
        assert log.producers().producers == written.log.producers().producers
        assert not written.notes
        assert written.indexes() == indexes, "a start writes no index again"


def test_retention_and_an_append_read_no_stored_segment(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(20):
        written.append()
    written.store()
    monkeypatch.setattr(Path, "read_bytes", None)  # a read would fail
    written.retain(2)
    for _ in range(5):
        written.append()
    monkeypatch.undo()
    assert content(written.read()) == content(written.log)


class Killed(Exception):
    """Raised in place of a file operation, as if the process was killed before it."""


CHANGES: dict[str, Callable[[Written], None]] = {
    "append": lambda it: it.append(),
    "truncate": lambda it: it.truncate(4),
    "restart": lambda it: it.restart_at(1),
    "retain": lambda it: it.retain(2),
    "retain all": lambda it: it.retain(9),
    "compact": lambda it: it.compact(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_process_that_dies_in_a_change_loses_nothing_that_the_change_keeps(
    written: Written, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a process dies while it changes a log, every batch is kept that the change should keep.

    A truncation at offset 4, for example, must keep all batches before offset 4. The test stops the
    change before each of its file operations in turn.
    """
    for key in (1, 1, 1, 2, 1, 3, 1, 3, 1):
        written.append(key)
    assert len(written.log.segments) >= 3
    first, producers = written.log, written.producers
    operations = 0
    while True:
        folder = Path(shutil.copytree(written.folder, written.folder.with_name(str(operations))))
        trial = Written(folder)
        trial.log, trial.producers = first, producers
        with monkeypatch.context() as patched, contextlib.suppress(Killed):
            interrupt_after(operations, patched)
            CHANGES[change](trial)
            break
        left = bytes_by_offset(recovered(folder, Checkpointed(), trial.notes.append))
        expected = Written(Path(shutil.copytree(written.folder, folder.with_name("whole"))))
        expected.log, expected.producers = first, producers
        CHANGES[change](expected)
        shutil.rmtree(expected.folder)
        after = bytes_by_offset(expected.log)
        assert after.items() & bytes_by_offset(first).items() <= left.items()
        operations += 1
    assert operations >= 1


def bytes_by_offset(log: PartitionLog) -> dict[int, bytes]:
    return {batch.header.base_offset: batch.data for batch in log.batches()}


def interrupt_after(operations: int, patched: pytest.MonkeyPatch) -> None:
    left = [operations]

    def counted(operation: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if not left[0]:
                raise Killed
            left[0] -= 1
            return operation(*args, **options)

        return call

    for owner, name in (
        (log_folder, "append"),
        (log_folder, "replace_file"),
        (os, "truncate"),
        (os, "unlink"),
        (os, "replace"),
    ):
        patched.setattr(owner, name, counted(getattr(owner, name)))
