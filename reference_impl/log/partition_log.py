"""The log of a topic partition: its record batches, its leader-epoch cache, and its recovery after
a crash. The log has these offsets:

    first offset    log start       high watermark        end offset
        |  deleted      |  replicated     |  not yet            |
        v               v                 v                     v
        [batch][batch][batch][batch][batch][batch][batch][batch]

A leader never moves the log start past the high watermark. If a follower adopts a log start above
its high watermark, it raises its high watermark to this offset (KAFKA-9491). Each segment begins
with a snapshot of the producer state.

A crash of the process loses no record. After a power loss, the log has all flushed records and
perhaps some unflushed records. After both kinds of crash, the log has the high watermark and the
log start of its newest checkpoint. A log is flushed after flush.messages records, after flush.ms,
and at each checkpoint.

Source: KIP-101, KIP-107; docs/kafka-rules.md A1, A8, A11, B9, C4.
Simplified: if a power loss leaves a record batch incomplete, its checksum is wrong, and the whole
batch is removed. There is no index: a position is found by bisection. The open segment is in
memory, so it is closed after `SEGMENT_BATCHES` record batches or `SEGMENT_BYTES`, even if it is
smaller than segment.bytes. A segment whose first batch has no timestamp is not closed by its age.
segment.jitter.ms is 0. Deleted segments do not reappear after a power loss.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from model.vocabulary import UNKNOWN_LEADER_EPOCH, LeaderEpoch, Offset
from reference_impl.log.chain import Chain
from reference_impl.log.producer_state import NO_PRODUCERS, ProducerStates
from reference_impl.log.segment import Batch, Segment
from reference_impl.protocol.messages import EpochEndOffset
from reference_impl.protocol.replacing import replace
from reference_impl.protocol.topic_config import DEFAULT_LOG_CONFIG, LogConfig

FIRST_OFFSET: Final = Offset(0)
SEGMENT_BATCHES: Final = 128
SEGMENT_BYTES: Final = 4 * 2**20


class EpochStart(NamedTuple):
    leader_epoch: LeaderEpoch
    start_offset: Offset


class Snapshot(NamedTuple):
    """The state of the producers after all records below `offset`."""

    offset: Offset
    producers: ProducerStates


class TimedFlush(NamedTuple):
    """The time of the newest flush that flush.ms required, and the log end at this flush.

    The broker checks again and again whether a flush is due. Before the first flush, `at_ms` is the
    time of the first check at which the log had records.
    """

    at_ms: int
    end_offset: Offset = FIRST_OFFSET


NEVER_CHECKED: Final = TimedFlush(-1)
NO_SNAPSHOT: Final = Snapshot(FIRST_OFFSET, NO_PRODUCERS)
NO_SEGMENTS: Final = Chain[Segment]()
NO_SNAPSHOTS: Final = Chain[Snapshot]()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLog:
    segments: Chain[Segment] = NO_SEGMENTS  # no segment is empty
    epochs: tuple[EpochStart, ...] = ()  # the leader-epoch cache, ascending
    snapshots: Chain[Snapshot] = NO_SNAPSHOTS  # ascending
    first_offset: Offset = FIRST_OFFSET  # segments before it are deleted
    log_start: Offset = FIRST_OFFSET  # records before it are not returned to readers
    cleaned: Offset = FIRST_OFFSET  # the log before it is compacted
    end_offset: Offset = FIRST_OFFSET
    high_watermark: Offset = FIRST_OFFSET
    checkpoint: Offset = FIRST_OFFSET  # of the high watermark
    start_checkpoint: Offset = FIRST_OFFSET  # of the log start
    flushed: Offset = FIRST_OFFSET
    timed_flush: TimedFlush = NEVER_CHECKED
    incarnation: int = 0  # of the topic; Kafka stores the topic id in partition.metadata

    @property
    def last_epoch(self) -> LeaderEpoch:
        """The leader epoch of the log's last records, or -1 if the log has no leader epoch."""
        return self.epochs[-1].leader_epoch if self.epochs else UNKNOWN_LEADER_EPOCH

    def append(
        self,
        batch: Batch,
        *,
        before: ProducerStates = NO_PRODUCERS,
        config: LogConfig = DEFAULT_LOG_CONFIG,
    ) -> PartitionLog:
        """Returns the log with `batch` appended. The offsets may have a gap before this batch.

        Raises ValueError if the batch begins below the log end, or if it has an older leader epoch
        than the last record. If the batch begins a new segment, the segment stores `before`, the
        state of the producers before the batch, as its snapshot.
        """
        head = batch.header
        if head.base_offset < self.end_offset or head.leader_epoch < self.last_epoch:
            raise ValueError(
                f"offset {head.base_offset} of leader epoch {head.leader_epoch} does not follow "
                f"end offset {self.end_offset} of leader epoch {self.last_epoch}"
            )
        log = self._rolled(before) if self._is_full(batch, config) else self
        epochs = self.epochs
        if head.leader_epoch > self.last_epoch:
            epochs = (*epochs, EpochStart(head.leader_epoch, head.base_offset))
        is_flushed = head.next_offset - log.flushed >= config.flush_messages
        return replace(
            log,
            segments=log.segments.with_last(log.segments[-1].append(batch)),
            epochs=epochs,
            end_offset=head.next_offset,
            flushed=head.next_offset if is_flushed else log.flushed,
        )

    def _is_full(self, batch: Batch, config: LogConfig) -> bool:
        # Kafka: LogSegment.shouldRoll. The age is a difference of timestamps, not of append times.
        if not self.segments:
            return True
        last = self.segments[-1]
        first_ms = last.batches[0].header.max_timestamp_ms
        is_old = batch.header.max_timestamp_ms - first_ms > config.max_segment_ms
        is_large = last.size + len(batch.data) > min(config.segment_bytes, SEGMENT_BYTES)
        return is_large or len(last.batches) >= SEGMENT_BATCHES or (is_old and first_ms >= 0)

    def _rolled(self, producers: ProducerStates) -> PartitionLog:
        segments = self.segments.plus(Segment())
        return replace(self.with_snapshot(producers), segments=segments)

    def is_dirty(self, segment: Segment) -> bool:
        """Returns True if the segment has records that no compaction has processed."""
        return segment.next_offset > self.cleaned

    def with_snapshot(self, producers: ProducerStates) -> PartitionLog:
        if self.end_offset == FIRST_OFFSET:
            return self
        earlier = self.snapshots
        if earlier and earlier[-1].offset >= self.end_offset:
            earlier = Chain(kept for kept in earlier if kept.offset < self.end_offset)
        newest = Snapshot(self.end_offset, producers.with_newest_batches())
        return replace(self, snapshots=earlier.plus(newest))

    def producers(self) -> ProducerStates:
        start, known = self.snapshots[-1] if self.snapshots else NO_SNAPSHOT
        return known.after_all(self.batches(start))

    def leave_hole(self, offsets: int) -> PartitionLog:
        """Returns the log with a log end that is higher by `offsets`. These offsets have no
        records.
        """
        return replace(self, end_offset=Offset(self.end_offset + offsets))

    def truncate_to(self, offset: Offset) -> PartitionLog:
        """Returns the log without the records from `offset` on. If `offset` is in the middle of a
        record batch, the whole batch is removed.

        If the log start is above the new log end, it is lowered to the new log end. If `offset` is
        below the first segment, the log becomes empty and starts at `offset`.
        """
        if offset >= self.end_offset:
            return self
        if offset < self.first_offset:
            return self.truncate_fully_and_start_at(offset)
        kept = bisect_left(self.segments, offset, key=_last_offset_of)
        segments, end = self.segments[:kept], offset
        if kept < len(self.segments):
            truncated = self.segments[kept]
            at = truncated.position(offset)
            end = min(offset, truncated.batches[at].header.base_offset)
            segments = segments.plus(Segment.of(tuple(truncated.batches[:at]))) if at else segments
        return replace(
            self,
            segments=segments,
            epochs=tuple(entry for entry in self.epochs if entry.start_offset < end),
            snapshots=Chain(kept for kept in self.snapshots if kept.offset <= end),
            log_start=min(self.log_start, end),
            cleaned=min(self.cleaned, end),
            end_offset=end,
            high_watermark=min(self.high_watermark, end),
            checkpoint=min(self.checkpoint, end),
            flushed=min(self.flushed, end),
            timed_flush=TimedFlush(self.timed_flush.at_ms, min(self.timed_flush.end_offset, end)),
        )

    def truncate_fully_and_start_at(self, offset: Offset) -> PartitionLog:
        """Returns an empty log without producer state, which starts at `offset`."""
        return PartitionLog(
            first_offset=offset,
            log_start=offset,
            end_offset=offset,
            high_watermark=offset,
            checkpoint=min(self.checkpoint, offset),
            start_checkpoint=min(self.start_checkpoint, offset),
            flushed=offset,
            incarnation=self.incarnation,
        )

    def with_log_start(self, offset: Offset) -> PartitionLog:
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
        """Returns the log without its `count` oldest segments. If no segment remains, the log
        starts at its former end.
        """
        if not count:
            return self
        log = self.with_snapshot(producers) if count == len(self.segments) else self
        left = log.segments[count:]
        first = left[0].base_offset if left else log.end_offset
        return replace(
            log.with_log_start(first),
            segments=left,
            snapshots=Chain(kept for kept in log.snapshots if kept.offset >= first),
            first_offset=first,
            flushed=max(log.flushed, first),
        )

    def end_of_epoch(self, leader_epoch: LeaderEpoch) -> EpochEndOffset:
        """Returns the largest leader epoch of the log that is not above `leader_epoch`, and its end
        offset. If all epochs of the log are larger, returns `leader_epoch` and the start of the
        first epoch. If the log has no epochs, returns the epoch -1 and the log end.
        """
        if not self.epochs:
            return EpochEndOffset(end_offset=self.end_offset)
        at = bisect_right(self.epochs, leader_epoch, key=lambda entry: entry.leader_epoch)
        # All epochs of the log are larger.
        if at == 0:
            return EpochEndOffset(leader_epoch=leader_epoch, end_offset=self.epochs[0].start_offset)
        end = self.epochs[at].start_offset if at < len(self.epochs) else self.end_offset
        return EpochEndOffset(leader_epoch=self.epochs[at - 1].leader_epoch, end_offset=end)

    def batches(self, start: Offset = FIRST_OFFSET) -> Iterator[Batch]:
        """Yields the record batches from an offset on: `start`, or the log start if the log start
        is higher. The first batch contains this offset or follows it, so the batch may begin below
        this offset.
        """
        start = max(start, self.log_start)
        first = bisect_left(self.segments, start, key=_last_offset_of)
        for segment in self.segments[first : first + 1]:
            yield from segment.batches[segment.position(start) :]
        for segment in self.segments.since(first + 1):
            yield from segment.batches

    def read(
        self, start: Offset, *, below: Offset, max_bytes: int, cuts_last: bool = False
    ) -> bytes:
        """Returns the bytes of the record batches that contain or follow `start`, and that end
        below the offset `below`.

        The first batch is returned even if it is larger than `max_bytes`. A later batch that
        exceeds this limit is left out. If `cuts_last` is True, this batch is returned up to the
        limit.

        Kafka: LogSegment.read.
        """
        found: list[bytes] = []
        size = 0
        for batch in self.batches(start):
            if batch.header.next_offset > below:
                break
            left = max_bytes - size
            size += len(batch.data)
            if found and size > max_bytes:
                found += [batch.data[: max(0, left)]] if cuts_last else []
                break
            found.append(batch.data)
        return b"".join(found)

    def with_high_watermark(self, high_watermark: Offset) -> PartitionLog:
        """Returns the log with the new high watermark. A high watermark below the log start is
        raised to the log start. A high watermark above the log end is lowered to the log end.
        """
        within = max(self.log_start, min(high_watermark, self.end_offset))
        return replace(self, high_watermark=within)

    def on_disk(self) -> PartitionLog:
        """Returns the log after a flush and a checkpoint, so that a power loss removes nothing.
        Returns the same object if nothing has changed since the previous checkpoint.
        """
        if (self.checkpoint, self.start_checkpoint, self.flushed) == (
            self.high_watermark,
            self.log_start,
            self.end_offset,
        ):
            return self
        return replace(
            self,
            checkpoint=self.high_watermark,
            start_checkpoint=self.log_start,
            flushed=self.end_offset,
        )

    def flushed_at(self, now_ms: int, flush_ms: int) -> PartitionLog:
        """Returns the log after the flush that flush.ms requires. If the flush is not due at
        `now_ms`, no further record is flushed.

        The flush is due if the log end has changed, and if `flush_ms` have passed since the
        previous flush. Before the first flush, the time is measured from the first call that found
        records.
        """
        last = self.timed_flush
        if last.end_offset == self.end_offset:
            return self
        if last == NEVER_CHECKED:
            return replace(self, timed_flush=TimedFlush(now_ms))
        if now_ms - last.at_ms < flush_ms:
            return self
        timed = TimedFlush(now_ms, self.end_offset)
        return replace(self, flushed=self.end_offset, timed_flush=timed)

    def after_process_crash(self) -> PartitionLog:
        """Returns the log after a crash of the process. Only the high watermark and the log start
        change, to the values of the newest checkpoint.
        """
        # Without a checkpoint, the log starts at the oldest segment.
        start = min(max(self.start_checkpoint, self.first_offset), self.log_start)
        return replace(self, log_start=start).with_high_watermark(self.checkpoint)

    def after_power_loss(self, kept: Offset) -> PartitionLog:
        """Returns the log after a power loss. It has all flushed records, and the unflushed records
        below the offset `kept`.
        """
        left = self.after_process_crash()
        left = left.truncate_to(max(kept, self.flushed))
        return replace(left, flushed=left.end_offset)  # only what was on the disk remains


def _last_offset_of(segment: Segment) -> Offset:
    return segment.last_offset
