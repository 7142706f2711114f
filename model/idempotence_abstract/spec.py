"""The idempotent producer on one partition: retries and reordering at will, leaders that change.

What a leader knows of a producer is a function of its log, so every new leader knows it again. A
record is appended where it continues what the log holds of its producer; a retry of one that is
already there does not, and is not appended.

Source: KIP-98; KIP-360.
Simplified: one log, which is the present leader's, and a new leader's log is a beginning of it;
batches of one record; sequences do not wrap; the producer is never forgotten (in Kafka it expires,
after which any sequence is accepted: KAFKA-15591).
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Map,
    Ordered,
    Record,
    Scope,
    Sort,
    Spec,
    action,
    all_of,
    exists,
    forall,
    implies,
    invariant,
    lemma,
    when,
    witness,
)


class Producer(Sort):
    """A producer id."""


class ProducerEpoch(Ordered):
    """Of a producer: who has the larger one is the newer instance."""


class Sequence(Ordered):
    """Numbers the records of one producer epoch."""


class Offset(Ordered):
    """A position in the log."""


class Stamp(Record):
    """What a record carries of its producer."""

    producer: Producer
    producer_epoch: ProducerEpoch
    sequence: Sequence


class IdempotentProducer(Spec):
    """A record is appended where it continues what the log holds of its producer."""

    producers: Annotated[int, range(1, 10)] = 2
    epochs: Annotated[int, range(1, 10)] = 2
    sequences: Annotated[int, range(1, 10)] = 2
    offsets: Annotated[int, range(2, 10)] = 4

    stamp: Map[Offset, Stamp]
    end_offset: Offset
    high_watermark: Offset
    acked: Map[Producer, Map[ProducerEpoch, Map[Sequence, Bool]]]

    def scope(s) -> Scope:
        return {
            Producer: s.producers,
            ProducerEpoch: s.epochs,
            Sequence: s.sequences,
            Offset: s.offsets,
        }

    def init(s, someone: Producer) -> None:
        """The log is empty."""
        for offset in Offset:
            s.stamp[offset].producer = someone  # without meaning from the end offset on

    # ---- words

    def holds(s, offset: Offset, producer: Producer) -> Bool:
        return (offset < s.end_offset) & (s.stamp[offset].producer == producer)

    def same_session(s, a: Offset, b: Offset) -> Bool:
        return all_of(
            s.stamp[a].producer == s.stamp[b].producer,
            s.stamp[a].producer_epoch == s.stamp[b].producer_epoch,
        )

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

    # ---- what is claimed

    @invariant
    def in_order_without_duplicates(s) -> Bool:
        """Records of a producer epoch are in the log in the order of their sequences, each once."""
        return forall(
            implies(
                all_of(a < b, b < s.end_offset, s.same_session(a, b)),
                s.stamp[a].sequence < s.stamp[b].sequence,
            )
            for a in Offset
            for b in Offset
        )

    @invariant
    def without_gaps(s) -> Bool:
        """Before a record, the log holds the one with the sequence before."""
        return forall(
            implies(
                (b < s.end_offset) & s.stamp[b].sequence.is_next_after(before),
                exists(
                    all_of(a < b, s.same_session(a, b), s.stamp[a].sequence == before)
                    for a in Offset
                ),
            )
            for b in Offset
            for before in Sequence
        )

    @invariant
    def epochs_do_not_go_back(s) -> Bool:
        """After a record of a new instance comes none of an older one."""
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
        """What was acknowledged is in the log, and committed."""
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

    # ---- what must be possible

    @witness
    def a_session_goes_on(s) -> Bool:
        """A record is acknowledged that is not the first of its producer epoch."""
        return exists(
            s.acked[p][e][q] & (Sequence.least() < q)
            for p in Producer
            for e in ProducerEpoch
            for q in Sequence
        )

    @witness
    def a_new_instance_writes(s) -> Bool:
        """The log holds records of two instances of a producer."""
        return exists(
            all_of(
                s.holds(a, p),
                s.holds(b, p),
                s.stamp[a].producer_epoch < s.stamp[b].producer_epoch,
            )
            for p in Producer
            for a in Offset
            for b in Offset
        )

    @witness
    def a_newer_record_was_cut_off(s) -> Bool:
        """Behind the end lies a record of a newer instance than one that the log still holds."""
        return exists(
            all_of(
                a < s.end_offset,
                s.end_offset <= b,
                s.stamp[a].producer == s.stamp[b].producer,
                s.stamp[a].producer_epoch < s.stamp[b].producer_epoch,
            )
            for a in Offset
            for b in Offset
        )

    # ---- why it is true

    @lemma
    def committed_is_written(s) -> Bool:
        """The high watermark is within the log.

        True because it advances no further than the end, and a new leader has what is committed.
        """
        return s.high_watermark <= s.end_offset
