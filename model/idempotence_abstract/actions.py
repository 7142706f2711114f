"""The actions of the abstract idempotent producer: retries, reordering, and changes of the leader.

A leader knows a producer only by the records in its log. It appends a record only if the record
continues the producer's records in the log. The retry of a record that is in the log does not
continue these records.

The table lists all actions (`Next` in TLA+); no action is fair, because only safety is proved. A
retry, or a batch that arrives late, has no action of its own: it is a further step of
`append_first` or `append_next`.

    leader       append_first, append_next, advance_high_watermark, change_leader, acknowledge
"""

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
    # ---- rules against retries and old instances

    def begins_epoch(s, producer: Producer, new_epoch: ProducerEpoch) -> Bool:
        """Returns True if `new_epoch` is larger than the epoch of every record of the producer in
        the log.
        """
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
        return s.high_watermark <= end

    # ---- the leader

    @action
    def append_first(s, producer: Producer, new_epoch: ProducerEpoch, end: Offset) -> None:
        """The leader appends the first record of a producer epoch.

        Kafka: ProducerAppendInfo.checkProducerEpoch and checkSequence.
        Simplified: a batch is one record.

        Without the guard `begins_epoch`, the claim `epochs_do_not_go_back` breaks (bug `any-epoch`,
        2 steps).
        """
        when(end.is_next_after(s.end_offset), s.begins_epoch(producer, new_epoch))
        s.stamp[s.end_offset] = Stamp(
            producer=producer, producer_epoch=new_epoch, sequence=Sequence.least()
        )
        s.end_offset = end

    @action
    def append_next(s, producer: Producer, sequence: Sequence, latest: Offset, end: Offset) -> None:
        """The leader appends the next record of a producer epoch, if the record has the next
        sequence.

        Kafka: ProducerAppendInfo.checkSequence.
        Simplified: the leader finds the producer's latest record in its log, and stores no producer
        state.

        Without the guard that the sequence is the next one (`continues`), the claim
        `in_order_without_duplicates` breaks (bug `any-sequence`, 2 steps).
        """
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
        """The high watermark grows to the offset `offset`, and the records below this offset are
        committed.

        Kafka: Partition.maybeIncrementLeaderHW.
        Simplified: the spec has no followers.

        Without the guard that the new offset is at most the end of the log, the claim
        `acknowledged_is_durable` breaks in 3 steps.
        """
        when(s.high_watermark < offset, offset <= s.end_offset)
        s.high_watermark = offset

    @action
    def change_leader(s, end: Offset) -> None:
        """A replica whose log ends at `end` becomes leader. The records from `end` on are lost.

        Kafka: Partition.makeLeader.
        Simplified: the new leader's log is a prefix of the old leader's log.

        Without the guard that the new leader has every committed record (`may_lead_with`), the
        claim `acknowledged_is_durable` breaks (bug `unclean-election`, 5 steps).
        """
        when(s.may_lead_with(end), end <= s.end_offset)
        s.end_offset = end

    @action
    def acknowledge(s, offset: Offset) -> None:
        """The producer receives the acknowledgement of a committed record.

        Kafka: a Produce response with acks=all.
        Simplified: the acknowledgement may arrive at any later time.

        Without the guard that the record is committed, the claim `acknowledged_is_durable` breaks
        in 1 step.
        """
        when(offset < s.high_watermark)
        stamp = s.stamp[offset]
        s.acked[stamp.producer][stamp.producer_epoch][stamp.sequence] = True
