"""A partition log: record batches, the leader epochs that wrote them, and what a crash leaves.

The log is a value. Batches are kept as bytes beside their headers, in segments, so that an append
copies one segment and not the log. Every batch carries the leader epoch that it was appended in;
the leader-epoch cache is nothing but the first offset of each, and tells two replicas where their
logs part.

    first offset    log start       high watermark        end offset
        |  deleted      |  replicated     |  not yet            |
        v               v                 v                     v
        [batch][batch][batch][batch][batch][batch][batch][batch]

The log start moves when records are deleted; the segments that lie before it go later, as a whole.
It never passes the high watermark, and where a deletion overtakes it, the high watermark follows
(KAFKA-9491). Compaction leaves holes between batches: an offset is never given again.

A new segment begins with a snapshot of what was remembered of the producers: it outlives the
records that are deleted before it.

What a crash leaves: a process that dies leaves the whole log to the operating system; a power loss
leaves what was flushed, and of the rest perhaps a part. Either way the high watermark and the log
start are the last ones checkpointed.

Source: KIP-101, KIP-107; protocol rules A1, A8, A11, B9, section c.
Simplified: a batch that was torn apart by a power loss is gone as a whole, as the checksum would
have it; no index: a position is found by bisection. A segment closes after `SEGMENT_BATCHES`
batches, also below segment.bytes, and not by its age. Segments that were deleted do not come back
after a power loss.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from model.vocabulary import UNKNOWN_LEADER_EPOCH, LeaderEpoch, Offset
from reference_impl.log.producer_state import NO_PRODUCERS, ProducerStates
from reference_impl.log.segment import Batch, Segment
from reference_impl.protocol.messages import EpochEndOffset
from reference_impl.protocol.topic_config import DEFAULT_LOG_CONFIG

FIRST_OFFSET: Final = Offset(0)
SEGMENT_BATCHES: Final = 128


class EpochStart(NamedTuple):
    """The first offset that was appended in a leader epoch."""

    leader_epoch: LeaderEpoch
    start_offset: Offset


class Snapshot(NamedTuple):
    """What was remembered of the producers when the log ended here."""

    offset: Offset
    producers: ProducerStates


NO_SNAPSHOT: Final = Snapshot(FIRST_OFFSET, NO_PRODUCERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLog:
    """One replica's log of one topic partition."""

    segments: tuple[Segment, ...] = ()  # none is empty
    epochs: tuple[EpochStart, ...] = ()  # the leader-epoch cache, ascending
    snapshots: tuple[Snapshot, ...] = ()  # ascending
    first_offset: Offset = FIRST_OFFSET  # what lies before is gone from the disk
    log_start: Offset = FIRST_OFFSET  # what lies before is given to nobody
    cleaned: Offset = FIRST_OFFSET  # what lies before is compacted
    end_offset: Offset = FIRST_OFFSET
    high_watermark: Offset = FIRST_OFFSET
    checkpoint: Offset = FIRST_OFFSET  # of the high watermark
    start_checkpoint: Offset = FIRST_OFFSET  # of the log start
    flushed: Offset = FIRST_OFFSET

    @property
    def last_epoch(self) -> LeaderEpoch:
        """The leader epoch of the last record; -1 for an empty log."""
        return self.epochs[-1].leader_epoch if self.epochs else UNKNOWN_LEADER_EPOCH

    def append(
        self,
        batch: Batch,
        *,
        before: ProducerStates = NO_PRODUCERS,
        segment_bytes: int = DEFAULT_LOG_CONFIG.segment_bytes,
    ) -> PartitionLog:
        """The log with one more batch, at its end or with a hole before it; ValueError.

        `before` is what is remembered of the producers up to here: where the batch begins a
        segment, that is kept beside it.
        """
        head = batch.header
        if head.base_offset < self.end_offset or head.leader_epoch < self.last_epoch:
            raise ValueError(
                f"offset {head.base_offset} of leader epoch {head.leader_epoch} does not follow "
                f"end offset {self.end_offset} of leader epoch {self.last_epoch}"
            )
        log = self._rolled(before) if self._is_full(batch, segment_bytes) else self
        *closed, open_segment = log.segments
        epochs = self.epochs
        if head.leader_epoch > self.last_epoch:
            epochs = (*epochs, EpochStart(head.leader_epoch, head.base_offset))
        return replace(
            log,
            segments=(*closed, open_segment.append(batch)),
            epochs=epochs,
            end_offset=head.next_offset,
        )

    def _is_full(self, batch: Batch, segment_bytes: int) -> bool:
        if not self.segments:
            return True
        last = self.segments[-1]
        is_large = last.size + len(batch.data) > segment_bytes
        return is_large or len(last.batches) >= SEGMENT_BATCHES

    def _rolled(self, producers: ProducerStates) -> PartitionLog:
        """The log with a segment that has no batch yet, and a snapshot of what comes before it."""
        segments = (*self.segments, Segment())
        return replace(self.with_snapshot(producers), segments=segments)

    def with_snapshot(self, producers: ProducerStates) -> PartitionLog:
        """The log that remembers its producers as of its end."""
        if self.end_offset == FIRST_OFFSET:
            return self
        earlier = tuple(kept for kept in self.snapshots if kept.offset < self.end_offset)
        newest = Snapshot(self.end_offset, producers.with_newest_batches())
        return replace(self, snapshots=(*earlier, newest))

    def producers(self) -> ProducerStates:
        """What is remembered of the producers: the newest snapshot, and the batches behind it."""
        start, known = self.snapshots[-1] if self.snapshots else NO_SNAPSHOT
        return known.after_all(self.batches(start))

    def leave_hole(self, offsets: int) -> PartitionLog:
        """The log whose next record comes so many offsets later."""
        return replace(self, end_offset=Offset(self.end_offset + offsets))

    def truncate_to(self, offset: Offset) -> PartitionLog:
        """The log without every batch that reaches the offset or lies behind it.

        What the cut takes from before the log start takes the log start with it.
        """
        if offset >= self.end_offset:
            return self
        if offset < self.first_offset:
            return self.truncate_fully_and_start_at(offset)
        kept = bisect_left(self.segments, offset, key=_last_offset_of)
        segments, end = self.segments[:kept], offset
        if kept < len(self.segments):
            cut = self.segments[kept]
            at = cut.position(offset)
            end = min(offset, cut.batches[at].header.base_offset)
            segments = (*segments, Segment.of(cut.batches[:at])) if at else segments
        return replace(
            self,
            segments=segments,
            epochs=tuple(entry for entry in self.epochs if entry.start_offset < end),
            snapshots=tuple(kept for kept in self.snapshots if kept.offset <= end),
            log_start=min(self.log_start, end),
            cleaned=min(self.cleaned, end),
            end_offset=end,
            high_watermark=min(self.high_watermark, end),
            checkpoint=min(self.checkpoint, end),
            flushed=min(self.flushed, end),
        )

    def truncate_fully_and_start_at(self, offset: Offset) -> PartitionLog:
        """A log of nothing that will begin here: nothing is remembered of what was there."""
        return PartitionLog(
            first_offset=offset,
            log_start=offset,
            end_offset=offset,
            high_watermark=offset,
            checkpoint=min(self.checkpoint, offset),
            start_checkpoint=min(self.start_checkpoint, offset),
            flushed=offset,
        )

    def with_log_start(self, offset: Offset) -> PartitionLog:
        """The log that begins at this offset, or where it began if that comes later."""
        if offset <= self.log_start:
            return self
        gone = bisect_right(self.epochs, offset, key=lambda entry: entry.start_offset)
        epochs = self.epochs
        if gone:
            first = EpochStart(epochs[gone - 1].leader_epoch, offset)
            epochs = (first, *epochs[gone:])
        return replace(
            self,
            epochs=epochs,
            log_start=offset,
            high_watermark=max(self.high_watermark, offset),
        )

    def without_segments(self, count: int, producers: ProducerStates) -> PartitionLog:
        """The log without its oldest segments; where that is all, another one begins at the end."""
        if not count:
            return self
        log = self.with_snapshot(producers) if count == len(self.segments) else self
        left = log.segments[count:]
        first = left[0].base_offset if left else log.end_offset
        return replace(
            log.with_log_start(first),
            segments=left,
            snapshots=tuple(kept for kept in log.snapshots if kept.offset >= first),
            first_offset=first,
            flushed=max(log.flushed, first),
        )

    def end_of_epoch(self, leader_epoch: LeaderEpoch) -> EpochEndOffset:
        """The largest leader epoch that is not above the given one, and where it ends here.

        When every epoch of the log is larger: the given epoch itself, ending where the first one
        starts. An empty log knows no epoch and answers -1 and its end.
        """
        if not self.epochs:
            return EpochEndOffset(end_offset=self.end_offset)
        at = bisect_right(self.epochs, leader_epoch, key=lambda entry: entry.leader_epoch)
        if at == 0:
            return EpochEndOffset(leader_epoch=leader_epoch, end_offset=self.epochs[0].start_offset)
        end = self.epochs[at].start_offset if at < len(self.epochs) else self.end_offset
        return EpochEndOffset(leader_epoch=self.epochs[at - 1].leader_epoch, end_offset=end)

    def batches(self, start: Offset = FIRST_OFFSET) -> Iterator[Batch]:
        """The batches that reach the offset and the log start, or lie behind them, in order."""
        start = max(start, self.log_start)
        first = bisect_left(self.segments, start, key=_last_offset_of)
        for segment in self.segments[first : first + 1]:
            yield from segment.batches[segment.position(start) :]
        for segment in self.segments[first + 1 :]:
            yield from segment.batches

    def read(self, start: Offset, *, below: Offset, max_bytes: int) -> bytes:
        """Whole batches that reach `start` and end at or below `below`; one at least, if any."""
        found: list[bytes] = []
        size = 0
        for batch in self.batches(start):
            size += len(batch.data)
            if batch.header.next_offset > below or (found and size > max_bytes):
                break
            found.append(batch.data)
        return b"".join(found)

    def with_high_watermark(self, high_watermark: Offset) -> PartitionLog:
        """The log with this high watermark, or the nearest one between its start and its end."""
        within = max(self.log_start, min(high_watermark, self.end_offset))
        return replace(self, high_watermark=within)

    def on_disk(self) -> PartitionLog:
        """The log after its checkpoint and its flush: a power loss takes nothing of it."""
        return replace(
            self,
            checkpoint=self.high_watermark,
            start_checkpoint=self.log_start,
            flushed=self.end_offset,
        )

    def after_process_crash(self) -> PartitionLog:
        """What a dead process leaves: every record that is not deleted, and the checkpoints.

        Without a newer checkpoint the log starts with its oldest segment again.
        """
        start = min(max(self.start_checkpoint, self.first_offset), self.log_start)
        return replace(self, log_start=start).with_high_watermark(self.checkpoint)

    def after_power_loss(self, kept: Offset) -> PartitionLog:
        """What a power loss leaves: the flushed records, and of the rest those below `kept`."""
        left = self.after_process_crash()
        left = left.truncate_to(max(kept, self.flushed))
        return replace(left, flushed=left.end_offset)  # what is left was on the disk


def _last_offset_of(segment: Segment) -> Offset:
    return segment.last_offset
