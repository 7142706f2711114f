"""A partition log: record batches, the leader epochs that wrote them, and what a crash leaves.

The log is a value. Batches are kept as bytes beside their headers, in segments, so that an append
copies one segment and not the log. Every batch carries the leader epoch that it was appended in;
the leader-epoch cache is nothing but the first offset of each, and tells two replicas where their
logs part.

    log start            high watermark        end offset
        |  replicated        |  not yet            |
        v                    v                     v
        [batch][batch][batch][batch][batch][batch]

What a crash leaves: a process that dies leaves the whole log to the operating system; a power loss
leaves what was flushed, and of the rest perhaps a part. Either way the high watermark is the last
one checkpointed.

Source: KIP-101; protocol rules A1, A8, B9.
Simplified: no retention and no compaction, so the log start stays where it is; a batch that was
torn apart by a power loss is gone as a whole, as the checksum would have it; no index: a position
is found by bisection.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from model.vocabulary import UNKNOWN_LEADER_EPOCH, LeaderEpoch, Offset
from reference_impl.messages import EpochEndOffset
from reference_impl.record_batch import Header, header

FIRST_OFFSET: Final = Offset(0)
SEGMENT_BATCHES: Final = 128


class Batch(NamedTuple):
    """A record batch at its place in a log."""

    header: Header
    data: bytes

    @classmethod
    def of(cls, data: bytes) -> Batch:
        """The batch whose bytes these are; CorruptBatch."""
        return cls(header(data), data)


class EpochStart(NamedTuple):
    """The first offset that was appended in a leader epoch."""

    leader_epoch: LeaderEpoch
    start_offset: Offset


Segment = tuple[Batch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLog:
    """One replica's log of one topic partition."""

    segments: tuple[Segment, ...] = ()  # none is empty
    epochs: tuple[EpochStart, ...] = ()  # the leader-epoch cache, ascending
    log_start: Offset = FIRST_OFFSET
    end_offset: Offset = FIRST_OFFSET
    high_watermark: Offset = FIRST_OFFSET
    checkpoint: Offset = FIRST_OFFSET
    flushed: Offset = FIRST_OFFSET

    @property
    def last_epoch(self) -> LeaderEpoch:
        """The leader epoch of the last record; -1 for an empty log."""
        return self.epochs[-1].leader_epoch if self.epochs else UNKNOWN_LEADER_EPOCH

    def append(self, batch: Batch) -> PartitionLog:
        """The log with one more batch, at its end or with a hole before it; ValueError."""
        head = batch.header
        if head.base_offset < self.end_offset or head.leader_epoch < self.last_epoch:
            raise ValueError(
                f"offset {head.base_offset} of leader epoch {head.leader_epoch} does not follow "
                f"end offset {self.end_offset} of leader epoch {self.last_epoch}"
            )
        *closed, open_segment = self.segments or ((),)
        if len(open_segment) >= SEGMENT_BATCHES:
            closed.append(open_segment)
            open_segment = ()
        epochs = self.epochs
        if head.leader_epoch > self.last_epoch:
            epochs = (*epochs, EpochStart(head.leader_epoch, head.base_offset))
        return replace(
            self,
            segments=(*closed, (*open_segment, batch)),
            epochs=epochs,
            end_offset=head.next_offset,
        )

    def leave_hole(self, offsets: int) -> PartitionLog:
        """The log whose next record comes so many offsets later."""
        return replace(self, end_offset=Offset(self.end_offset + offsets))

    def truncate_to(self, offset: Offset) -> PartitionLog:
        """The log without every batch that reaches the offset or lies behind it."""
        if offset >= self.end_offset:
            return self
        kept = bisect_left(self.segments, offset, key=_last_offset_of)
        segments = self.segments[:kept]
        if kept < len(self.segments):
            cut = self.segments[kept]
            rest = cut[: bisect_left(cut, offset, key=lambda batch: batch.header.last_offset)]
            segments = (*segments, rest) if rest else segments
        end = segments[-1][-1].header.next_offset if segments else self.log_start
        return replace(
            self,
            segments=segments,
            epochs=tuple(entry for entry in self.epochs if entry.start_offset < end),
            end_offset=end,
            high_watermark=min(self.high_watermark, end),
            checkpoint=min(self.checkpoint, end),
            flushed=min(self.flushed, end),
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
        """The batches that reach the offset or lie behind it, in order."""
        first = bisect_left(self.segments, start, key=_last_offset_of)
        for segment in self.segments[first : first + 1]:
            yield from segment[
                bisect_left(segment, start, key=lambda batch: batch.header.last_offset) :
            ]
        for segment in self.segments[first + 1 :]:
            yield from segment

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
        """The log with this high watermark, or with its end if that comes first."""
        return replace(self, high_watermark=min(high_watermark, self.end_offset))

    def on_disk(self) -> PartitionLog:
        """The log after its checkpoint and its flush: a power loss takes nothing of it."""
        return replace(self, checkpoint=self.high_watermark, flushed=self.end_offset)

    def after_process_crash(self) -> PartitionLog:
        """What a dead process leaves: every record, and the checkpointed high watermark."""
        return replace(self, high_watermark=min(self.checkpoint, self.end_offset))

    def after_power_loss(self, kept: Offset) -> PartitionLog:
        """What a power loss leaves: the flushed records, and of the rest those below `kept`."""
        left = self.truncate_to(max(kept, self.flushed)).after_process_crash()
        return replace(left, flushed=left.end_offset)  # what is left was on the disk


def _last_offset_of(segment: Segment) -> Offset:
    return segment[-1].header.last_offset
