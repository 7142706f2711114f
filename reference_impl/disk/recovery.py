"""Reads the log of a partition from its folder, and repairs what a killed process left there.

    each segment in order -> each batch: whole, right checksum, after the one before?
                                | no
                                v
           the segment is truncated here, later segments are deleted

Batches below the recovery point were flushed, so their checksums are not computed again. The
leader-epoch cache and the producer state are completed from the batches: they may have been
written after the last checkpoint. A segment whose records are all in the segment before it is the
rest of an interrupted compaction, and deleted.

Source: LogLoader.recoverLog, LogSegment.recover, ProducerStateManager.truncateAndReload.
Simplified: the aborted-transaction index is computed from all batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from model.vocabulary import Offset
from reference_impl.disk import producer_snapshot
from reference_impl.disk.checkpoints import LEADER_EPOCHS, read_leader_epochs
from reference_impl.log.chain import Chain
from reference_impl.log.partition_log import FIRST_OFFSET, EpochStart, PartitionLog, Snapshot
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.record_batch import CorruptBatch, batches, header, verified
from reference_impl.log.segment import Batch, Segment

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpointed:
    """The offsets of one partition in the checkpoints of its broker."""

    high_watermark: Offset = FIRST_OFFSET
    log_start: Offset = FIRST_OFFSET
    recovery_point: Offset = FIRST_OFFSET
    cleaned: Offset = FIRST_OFFSET


NOTHING = Checkpointed()


def recovered(folder: Path, known: Checkpointed, note: Note) -> PartitionLog:
    """Returns the log in the folder; notes each repair of its files."""
    files = sorted(folder.glob("*.log"))
    segments: list[Segment] = []
    first = end = Offset(int(files[0].stem)) if files else FIRST_OFFSET
    for number, file in enumerate(files):
        if segments and int(file.stem) < end:
            note(f"{file}: all its records are in the segment before it; the file is deleted")
            file.unlink()
            continue
        found, fault = _readable(file, end, known.recovery_point)
        if fault:
            note(f"{file}: {fault}; the log ends here, at offset {_end(found, end)}")
            with file.open("r+b") as torn:
                torn.truncate(sum(len(batch.data) for batch in found))
            for later in files[number + 1 :]:
                later.unlink()
        if found:
            segments.append(Segment.of(tuple(found)))
        elif segments and file.exists() and not file.stat().st_size:
            file.unlink()  # what is left of a segment without a whole batch
        end = _end(found, end)
        if fault:
            break
    for leftover in folder.glob("*.tmp"):
        leftover.unlink()
    snapshots, epochs = _snapshots(folder, segments, end), _epochs(folder, segments, first, end)
    log = PartitionLog(
        segments=Chain(segments),
        snapshots=snapshots,
        epochs=epochs,
        first_offset=first,
        log_start=first,
        end_offset=end,
        high_watermark=end,
        cleaned=min(known.cleaned, end),
        checkpoint=min(known.high_watermark, end),
        start_checkpoint=min(known.log_start, end),
        flushed=min(known.recovery_point, end),
    )
    return log.with_log_start(log.start_checkpoint).after_process_crash()


def _readable(file: Path, end: Offset, recovery_point: Offset) -> tuple[list[Batch], str]:
    """Returns the valid batches at the beginning of a segment, and why the rest is invalid.

    The text is empty if all of the segment is valid.
    """
    found: list[Batch] = []
    try:
        for data in batches(file.read_bytes()):
            head = header(data)
            if head.base_offset < end:
                return found, f"the batch at offset {head.base_offset} comes after offset {end - 1}"
            if head.next_offset > recovery_point:
                verified(data)
            found.append(Batch(head, data))
            end = head.next_offset
    except CorruptBatch as fault:
        return found, str(fault)
    return found, ""


def _end(found: list[Batch], end: Offset) -> Offset:
    return found[-1].header.next_offset if found else end


def _epochs(
    folder: Path, segments: Iterable[Segment], first: Offset, end: Offset
) -> tuple[EpochStart, ...]:
    known = read_leader_epochs(folder / LEADER_EPOCHS)
    entries = [entry for entry in known if entry.start_offset < end]
    for head in (batch.header for segment in segments for batch in segment.batches):
        if not entries or head.leader_epoch > entries[-1].leader_epoch:
            entries.append(EpochStart(head.leader_epoch, max(head.base_offset, first)))
    return tuple(entries)


def _snapshots(folder: Path, segments: Sequence[Segment], end: Offset) -> Chain[Snapshot]:
    """Returns the snapshots in the folder, with the aborted transactions that the log shows.

    Deletes the snapshots beyond the log end and the torn ones.
    """
    known = list[tuple[Offset, ProducerStates]]()
    for file in sorted(folder.glob("*.snapshot")):
        states = producer_snapshot.decoded(file.read_bytes())
        if states is None or int(file.stem) > end:
            file.unlink()
        else:
            known.append((Offset(int(file.stem)), states))
    found: list[Snapshot] = []
    states, passed = ProducerStates(), FIRST_OFFSET
    for offset, kept in known:
        states = states.after_all(_between(segments, passed, offset))
        transactions = replace(states.transactions, open=kept.transactions.open)
        states, passed = ProducerStates(kept.producers, transactions), offset
        found.append(Snapshot(offset, states))
    return Chain(found)


def _between(segments: Iterable[Segment], start: Offset, end: Offset) -> Iterator[Batch]:
    for segment in segments:
        if segment.base_offset < end and segment.next_offset > start:
            yield from (one for one in segment.batches if start <= one.header.base_offset < end)
