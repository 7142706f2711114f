"""DOC idempotence_abstract actions"""

from __future__ import annotations

from model.idempotence_abstract.state import (
    AbstractIdempotenceState,
    Offset,
    Producer,
    ProducerEpoch,
    Sequence,
    Stamp,
)
from model.language import Bool, action, forall, implies, when


class AbstractIdempotenceActions(AbstractIdempotenceState):
    """DOC AbstractIdempotenceActions"""

    # ---- the rules that tell a record from its retry, and an instance from its successor

    def begins_epoch(s, producer: Producer, new_epoch: ProducerEpoch) -> Bool:
        """Larger than every epoch that the log holds of the producer."""
        return forall(
            implies(s.holds(o, producer), s.stamp[o].producer_epoch < new_epoch) for o in Offset
        )

    def is_latest(s, offset: Offset, producer: Producer) -> Bool:
        return s.holds(offset, producer) & forall(
            implies(s.holds(o, producer), o <= offset) for o in Offset
        )

    def continues(s, sequence: Sequence, latest: Offset) -> Bool:
        return sequence.is_next_after(s.stamp[latest].sequence)

    def may_lead_with(s, end: Offset) -> Bool:
        """A new leader has what is committed."""
        return s.high_watermark <= end

    # ---- the leader

    @action
    def append_first(s, producer: Producer, new_epoch: ProducerEpoch, end: Offset) -> None:
        """The first record of a producer epoch is appended."""
        when(end.is_next_after(s.end_offset), s.begins_epoch(producer, new_epoch))
        s.stamp[s.end_offset] = Stamp(
            producer=producer, producer_epoch=new_epoch, sequence=Sequence.least()
        )
        s.end_offset = end

    @action
    def append_next(s, producer: Producer, sequence: Sequence, latest: Offset, end: Offset) -> None:
        """A record that comes next after the latest of its producer is appended."""
        when(
            end.is_next_after(s.end_offset),
            s.is_latest(latest, producer),
            s.continues(sequence, latest),
        )
        s.stamp[s.end_offset] = Stamp(
            producer=producer,
            producer_epoch=s.stamp[latest].producer_epoch,
            sequence=sequence,
        )
        s.end_offset = end

    @action
    def advance_high_watermark(s, offset: Offset) -> None:
        """Some of the log is committed."""
        when(s.high_watermark < offset, offset <= s.end_offset)
        s.high_watermark = offset

    @action
    def change_leader(s, end: Offset) -> None:
        """A leader with a shorter log takes over; the rest is cut off."""
        when(s.may_lead_with(end), end <= s.end_offset)
        s.end_offset = end

    @action
    def acknowledge(s, offset: Offset) -> None:
        """The producer learns that a committed record is."""
        when(offset < s.high_watermark)
        stamp = s.stamp[offset]
        s.acked[stamp.producer][stamp.producer_epoch][stamp.sequence] = True
