"""The folder of one partition's log, with its segments and producer snapshots in Kafka's formats:

    orders-0/
      00000000000000000042.log        a segment, named after its first offset: record batches
      00000000000000000042.snapshot   the producer state below that offset
      00000000000000000042.index      and .timeindex, .txnindex: the module `segment_index`
      leader-epoch-checkpoint
      partition.metadata

`write` compares two versions of the log, and writes only the difference. Usually this is one
write() at the end of the last segment. When the log is truncated, the last segments are deleted
first. A compacted segment replaces its whole file. In this order, the folder stays readable if the
process is killed between two changes.

Source: LogSegment, UnifiedLog, LogFileUtils of Kafka.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Final

from model.vocabulary import Offset, ProducerId
from reference_impl.disk import producer_snapshot, segment_index
from reference_impl.disk.checkpoints import LEADER_EPOCHS, write_leader_epochs
from reference_impl.disk.deferred_deletion import mark_file
from reference_impl.disk.files import append, delete, make_folder, replace_file, truncate
from reference_impl.log.open_transactions import PartitionTransactions
from reference_impl.log.partition_log import NO_SNAPSHOT, PartitionLog
from reference_impl.log.segment import Segment

NO_SEGMENT: Final = Segment()
NEVER_WRITTEN: Final = PartitionLog()


def segment_path(folder: Path, base_offset: int) -> Path:
    return folder / f"{base_offset:020}.log"


def snapshot_path(folder: Path, offset: int) -> Path:
    return folder / f"{offset:020}.snapshot"


def create(folder: Path, log: PartitionLog) -> None:
    make_folder(folder)
    append(segment_path(folder, 0), b"")
    write(folder, NEVER_WRITTEN, log)


def write(folder: Path, before: PartitionLog, after: PartitionLog) -> list[Path]:
    """Writes the difference between two versions of the log to the folder. The folder contains the
    version `before`.

    Returns the files that were renamed because they are no longer part of the log. The caller
    deletes them.
    """
    gone: list[Path] = []
    if after.snapshots is not before.snapshots:
        gone += _write_snapshots(folder, before, after)
    if _only_grew(before, after):
        last = len(before.segments) - 1
        _append(folder, before.segments[last], after.segments[last])
        for segment in after.segments.since(last + 1):
            _append(folder, NO_SEGMENT, segment)
        if len(after.segments) > len(before.segments):
            _write_indexes(folder, after, [*after.segments.since(last)][:-1])
    elif after.segments is not before.segments or after.end_offset != before.end_offset:
        old, new = _files(before), _files(after)
        was_open, is_open = max(old), max(new)
        changed = {at for at in old.keys() | new.keys() if old.get(at) is not new.get(at)}
        if was_open != is_open:
            changed |= {was_open, is_open}
        for base_offset in changed:
            path = segment_path(folder, base_offset)
            if base_offset in new:
                segment_index.delete(path)
            else:
                gone += _marked(segment_index.files(path))
        gone += _write_segments(folder, old, new)
        _write_indexes(folder, after, [new[at] for at in sorted(changed & new.keys() - {is_open})])
        if is_open in changed:
            _write_open_index(folder, after)
    if after.epochs is not before.epochs:
        write_leader_epochs(folder / LEADER_EPOCHS, after.epochs)
    return gone


def _marked(paths: Iterable[Path]) -> list[Path]:
    return [gone for path in paths for gone in mark_file(path)]


def _write_indexes(folder: Path, log: PartitionLog, closed: Iterable[Segment]) -> None:
    for segment in closed:
        path = segment_path(folder, segment.base_offset)
        segment_index.write(path, segment, _open_before(log, segment.base_offset))


def _write_open_index(folder: Path, log: PartitionLog) -> None:
    last, segment = max(_files(log).items())
    segment_index.write_open(segment_path(folder, last), segment, _open_before(log, last))


def index_aborts(
    folder: Path, before: PartitionLog, after: PartitionLog, known: PartitionTransactions
) -> None:
    """Adds newly aborted transactions to the transaction index (.txnindex) of the last segment. A
    transaction is newly aborted if its abort marker is in `after`, but not in `before`.

    `known` has the aborted and the open transactions of `after`. The segments of `after` must be on
    disk already.
    """
    if not _only_grew(before, after):
        return  # `write` has written the whole index
    base_offset = after.segments[-1].base_offset
    new_from = max(before.end_offset, base_offset)
    newest_first = takewhile(lambda it: it.marker_offset >= new_from, reversed(known.aborted))
    ended = tuple(newest_first)[::-1]
    segment_index.append_aborted(segment_path(folder, base_offset), ended, known.open)


def restore_indexes(folder: Path, log: PartitionLog) -> None:
    """Writes the index files of all closed segments, if they are missing or wrong. The segments'
    own files must exist.

    For the active segment, only the `.txnindex` is written. Index files without a segment are
    deleted.
    """
    known = {segment_path(folder, base_offset).stem for base_offset in _files(log)}
    for suffix in segment_index.SUFFIXES:
        for file in folder.glob(f"*{suffix}"):
            if file.stem not in known:
                delete(file)
    _write_indexes(folder, log, log.segments[:-1])
    _write_open_index(folder, log)


def close(folder: Path, log: PartitionLog) -> list[Path]:
    """Writes the index files of the active segment, and returns the index files of all segments."""
    last, segment = max(_files(log).items())
    segment_index.write(segment_path(folder, last), segment, _open_before(log, last))
    return [file for suffix in segment_index.SUFFIXES for file in folder.glob(f"*{suffix}")]


def _open_before(log: PartitionLog, offset: int) -> Mapping[ProducerId, Offset]:
    known = bisect_right(log.snapshots, offset, key=lambda kept: kept.offset)
    start, producers = log.snapshots[known - 1] if known else NO_SNAPSHOT
    # A segment begins at its snapshot, unless a compaction has removed the segment before it.
    between = takewhile(lambda batch: batch.header.base_offset < offset, log.batches(start))
    return producers.after_all(between).transactions.open


def files_from(folder: Path, log: PartitionLog, start: Offset) -> list[Path]:
    return [
        segment_path(folder, segment.base_offset)
        for segment in log.segments
        if segment.next_offset > start
    ]


def _only_grew(before: PartitionLog, after: PartitionLog) -> bool:
    if not before.segments or before.first_offset != after.first_offset:
        return False
    if before.cleaned != after.cleaned or len(after.segments) < len(before.segments):
        return False
    last = len(before.segments) - 1
    return _continues(before.segments[last], after.segments[last])


def _continues(old: Segment, new: Segment) -> bool:
    # It is enough to compare one batch, by identity: a truncation would have removed it, and a
    # compaction would have changed `cleaned`.
    count = len(old.batches)
    return 0 < count <= len(new.batches) and new.batches[count - 1] is old.batches[-1]


def _append(folder: Path, old: Segment, new: Segment) -> None:
    if added := b"".join(batch.data for batch in new.batches[len(old.batches) :]):
        append(segment_path(folder, new.base_offset), added)


def _files(log: PartitionLog) -> Mapping[int, Segment]:
    files: dict[int, Segment] = {segment.base_offset: segment for segment in log.segments}
    # If no segment begins at the log's first offset, an empty file stores this offset.
    first = log.first_offset if files else log.end_offset
    return {first: NO_SEGMENT, **files}


def _write_segments(
    folder: Path, old: Mapping[int, Segment], new: Mapping[int, Segment]
) -> list[Path]:
    # In this order the process may die at any time: a record may be in two files, but the files
    # never lack a record between two others.
    last = max(new)
    gone = sorted(old.keys() - new.keys(), reverse=True)
    marked = _marked(segment_path(folder, base) for base in gone if base > last)
    for base_offset, segment in sorted(new.items(), reverse=True):
        _write_segment(segment_path(folder, base_offset), old.get(base_offset), segment)
    return marked + _marked(segment_path(folder, base) for base in gone if base < last)


def _write_segment(path: Path, old: Segment | None, new: Segment) -> None:
    if old is new:
        return
    if old is not None and _continues(new, old):
        truncate(path, new.size)
    elif old is not None and (old == NO_SEGMENT or _continues(old, new)):
        append(path, b"".join(batch.data for batch in new.batches[len(old.batches) :]))
    else:
        replace_file(path, b"".join(batch.data for batch in new.batches))


def _write_snapshots(folder: Path, before: PartitionLog, after: PartitionLog) -> list[Path]:
    # Usually `after` has one additional snapshot at the end.
    same = len(before.snapshots)
    is_longer = 0 < same <= len(after.snapshots)
    if not (is_longer and after.snapshots[same - 1] is before.snapshots[-1]):
        same = 0
    old = {kept.offset: kept for kept in before.snapshots.since(same)}
    new = {kept.offset: kept for kept in after.snapshots.since(same)}
    gone = _marked(snapshot_path(folder, offset) for offset in old.keys() - new.keys())
    for offset, kept in new.items():
        if old.get(offset) is not kept:
            data = producer_snapshot.encoded(kept.producers)
            replace_file(snapshot_path(folder, offset), data, flushes=False)
    return gone
