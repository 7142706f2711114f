"""The idempotent producer on one partition: retries and reordering at will, leader changes that cut off what is not committed.

What a leader knows of a producer is a function of its log, so every new leader knows it again.

Source: KIP-98; KIP-360. Simplified: one log, which is the present leader's; batches of one record.
"""

from __future__ import annotations

from model.language.words import Bool, Ordered, Sort, all_of, exists, forall, implies
from model.language.places import Map, Record
from model.language.spec import Spec, action, invariant, lemma, when


class Producer(Sort):
    """A producer id."""


class ProducerEpoch(Ordered):
    """Of a producer: who has the larger one is the newer instance."""


class Sequence(Ordered):
    """Numbers the records of one producer epoch."""


class Offset(Ordered):
    """A position in the log."""


class Stamp(Record):
    producer: Producer
    producer_epoch: ProducerEpoch
    sequence: Sequence


class IdempotentProducer(Spec):
    """A record is appended where it continues what the log holds of its producer."""

    stamp: Map[Offset, Stamp]
    end_offset: Offset
    high_watermark: Offset
    acked: Map[Producer, Map[ProducerEpoch, Map[Sequence, Bool]]]

    def init(s, someone: Producer) -> None:
        for offset in Offset:
            s.stamp[offset].producer = someone  # without meaning from the end offset on

    def holds(s, offset: Offset, producer: Producer) -> Bool:
        return (offset < s.end_offset) & (s.stamp[offset].producer == producer)

    def same_session(s, a: Offset, b: Offset) -> Bool:
        return all_of(
            s.stamp[a].producer == s.stamp[b].producer,
            s.stamp[a].producer_epoch == s.stamp[b].producer_epoch,
        )

    @action
    def append_first(s, producer: Producer, epoch: ProducerEpoch, end: Offset) -> None:
        """The first record of a producer epoch is larger in epoch than all that the log holds of the producer."""
        when(
            end.is_next_after(s.end_offset),
            forall(implies(s.holds(o, producer), s.stamp[o].producer_epoch < epoch) for o in Offset),
        )
        s.stamp[s.end_offset] = Stamp(producer=producer, producer_epoch=epoch, sequence=Sequence.least())
        s.end_offset = end

    @action
    def append_next(s, producer: Producer, sequence: Sequence, latest: Offset, end: Offset) -> None:
        """A record that comes next after the latest of its producer."""
        when(
            end.is_next_after(s.end_offset),
            s.holds(latest, producer),
            forall(implies(s.holds(o, producer), o <= latest) for o in Offset),
            sequence.is_next_after(s.stamp[latest].sequence),
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
        """The new leader has what is committed, and perhaps more."""
        when(s.high_watermark <= end, end <= s.end_offset)
        s.end_offset = end

    @action
    def acknowledge(s, offset: Offset) -> None:
        """The producer learns that a committed record is."""
        when(offset < s.high_watermark)
        stamp = s.stamp[offset]
        s.acked[stamp.producer][stamp.producer_epoch][stamp.sequence] = True

    @invariant
    def in_order_without_duplicates(s) -> Bool:
        return forall(
            implies(all_of(a < b, b < s.end_offset, s.same_session(a, b)), s.stamp[a].sequence < s.stamp[b].sequence)
            for a in Offset
            for b in Offset
        )

    @invariant
    def without_gaps(s) -> Bool:
        return forall(
            implies(
                (b < s.end_offset) & s.stamp[b].sequence.is_next_after(before),
                exists(all_of(a < b, s.same_session(a, b), s.stamp[a].sequence == before) for a in Offset),
            )
            for b in Offset
            for before in Sequence
        )

    @invariant
    def epochs_do_not_go_back(s) -> Bool:
        return forall(
            implies(
                all_of(a < b, b < s.end_offset, s.stamp[a].producer == s.stamp[b].producer),
                s.stamp[a].producer_epoch <= s.stamp[b].producer_epoch,
            )
            for a in Offset
            for b in Offset
        )

    @invariant
    def acknowledged_is_durable(s) -> Bool:
        return forall(
            implies(
                s.acked[p][e][q],
                exists(
                    all_of(
                        o < s.high_watermark,
                        s.stamp[o].producer == p,
                        s.stamp[o].producer_epoch == e,
                        s.stamp[o].sequence == q,
                    )
                    for o in Offset
                ),
            )
            for p in Producer
            for e in ProducerEpoch
            for q in Sequence
        )

    @lemma
    def committed_is_written(s) -> Bool:
        return s.high_watermark <= s.end_offset
