"""Reads the log of a partition from its folder, and repairs files that a killed process did not
write completely:

    each segment in order -> each batch: complete, right checksum, offset in order?
                                | no
                                v
           the segment is truncated here, later segments are deleted

Record batches below the recovery point were flushed, so their checksums are not verified. Record
batches after the latest checkpoint are used to complete the leader epochs and the producer state.

If a compaction was interrupted, the folder may have a segment whose records are also in the
previous segment. Such a segment is deleted.

Source: LogLoader.recoverLog, LogSegment.recover, ProducerStateManager.truncateAndReload.
Simplified: the aborted-transaction index is computed from all batches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from model.vocabulary import Offset
from reference_impl.disk import log_folder, producer_snapshot
from reference_impl.disk.checkpoints import LEADER_EPOCHS, read_leader_epochs
from reference_impl.disk.deferred_deletion import DELETED
from reference_impl.disk.files import BadDataDir, delete, truncate
from reference_impl.disk.log_folder import snapshot_path
from reference_impl.disk.stored_batches import stored
from reference_impl.disk.stored_producers import without_producers
from reference_impl.log.chain import Chain
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.partition_log import FIRST_OFFSET, EpochStart, PartitionLog, Snapshot
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.record_batch import CorruptBatch, header, verified
from reference_impl.log.segment import Batch, Segment

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpointed:
    high_watermark: Offset = FIRST_OFFSET
    log_start: Offset = FIRST_OFFSET
    recovery_point: Offset = FIRST_OFFSET
    cleaned: Offset = FIRST_OFFSET


NOTHING = Checkpointed()


def recovered(folder: Path, known: Checkpointed, note: Note) -> PartitionLog:
    """Repairs the folder of a log, and returns the log. `known` has the offsets that the checkpoint
    files have for this log. `note` is called with a message for each repair of a segment.
    """
    files = sorted(folder.glob("*.log"))
    segments: list[Segment] = []
    replay = _Replay.of(folder, note)
    first = end = Offset(int(files[0].stem)) if files else FIRST_OFFSET
    for number, file in enumerate(files):
        if segments and int(file.stem) < end:
            note(f"{file}: all its records are in the segment before it; the file is deleted")
            delete(file)
            continue
        found, fault = _readable(file, end, known.recovery_point)
        if fault:
            note(f"{file}: {fault}; the log ends here, at offset {_end(found, end)}")
            truncate(file, sum(len(batch.data) for batch in found))
            for later in reversed(files[number + 1 :]):
                delete(later)
        replay.advance(found)
        if found:
            segments[-1:] = [stored(segment, folder) for segment in segments[-1:]]
            segments.append(Segment.of(tuple(found)))
        elif segments and file.exists() and not file.stat().st_size:
            delete(file)  # the file has no complete batch any more
        end = _end(found, end)
        if fault:
            break
    for leftover in (*folder.glob("*.tmp"), *folder.glob(f"*{DELETED}")):
        delete(leftover)
    replay.take_up_to(end)
    for beyond in replay.pending:
        delete(snapshot_path(folder, beyond))
    log = PartitionLog(
        segments=Chain(segments),
        snapshots=Chain(replay.snapshots),
        epochs=tuple(entry for entry in replay.epochs if entry.start_offset < end),
        first_offset=first,
        log_start=first,
        end_offset=end,
        high_watermark=end,
        cleaned=min(known.cleaned, end),
        checkpoint=min(known.high_watermark, end),
        start_checkpoint=min(known.log_start, end),
        flushed=min(known.recovery_point, end),
    )
    log_folder.restore_indexes(folder, log)
    return log.with_log_start(log.start_checkpoint).after_process_crash()


def _readable(file: Path, end: Offset, recovery_point: Offset) -> tuple[list[Batch], str]:
    """Returns the valid record batches at the start of the file, and the reason why the next batch
    is invalid. The reason is empty if all batches are valid.
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


@dataclass(slots=True)
class _Replay:
    folder: Path
    pending: deque[Offset]  # the offsets of the snapshot files that were not read yet
    epochs: list[EpochStart]
    snapshots: list[Snapshot] = field(default_factory=list)
    states: ProducerStates = field(default_factory=ProducerStates)

    @classmethod
    def of(cls, folder: Path, note: Note) -> _Replay:
        """Returns a new replay of the log, which has read no segment yet.

        If the file of leader epochs is malformed, `note` is called with a message, and the leader
        epochs are read from the records.
        """
        files = sorted(folder.glob("*.snapshot"))
        try:
            epochs = read_leader_epochs(folder / LEADER_EPOCHS)
        except BadDataDir as fault:
            note(f"{fault.args[0].partition(';')[0]}; the leader epochs are read from the records")
            epochs = ()
        return cls(folder, deque(Offset(int(file.stem)) for file in files), [*epochs])

    def advance(self, found: Sequence[Batch]) -> None:
        for head in (batch.header for batch in found):
            if not self.epochs or head.leader_epoch > self.epochs[-1].leader_epoch:
                self.epochs.append(EpochStart(head.leader_epoch, head.base_offset))
        while found and self.pending:  # no snapshot contains later batches
            self.take_up_to(found[0].header.base_offset)
            until = self.pending[0] if self.pending else found[0].header.base_offset
            below = [batch for batch in found if batch.header.base_offset < until]
            self.states = self.states.after_all(below)
            found = found[len(below) :]

    def take_up_to(self, offset: Offset) -> None:
        """Reads the producer snapshot files up to `offset` that were not read yet. Takes the
        producer state from the last valid file.

        Invalid files are deleted.
        """
        while self.pending and self.pending[0] <= offset:
            at = self.pending.popleft()
            file = snapshot_path(self.folder, at)
            kept = producer_snapshot.decoded(file.read_bytes())
            if kept is None:
                delete(file)
                continue
            # A snapshot file has no aborted transactions, so they come from the batches.
            transactions = replace(self.states.transactions, open=kept.transactions.open)
            self.states = ProducerStates(kept.producers, transactions)
            if self.snapshots:
                self.snapshots[-1] = without_producers(self.snapshots[-1], self.folder)
            self.snapshots.append(Snapshot(at, self.states))
