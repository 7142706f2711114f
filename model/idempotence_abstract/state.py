"""DOC idempotence_abstract state"""

from __future__ import annotations

from typing import Annotated

from model.language import Bool, Map, Ordered, Record, Scope, Sort, Spec, all_of


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


class AbstractIdempotenceState(Spec):
    """DOC AbstractIdempotenceState"""

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

    def holds(s, offset: Offset, producer: Producer) -> Bool:
        return (offset < s.end_offset) & (s.stamp[offset].producer == producer)

    def same_session(s, a: Offset, b: Offset) -> Bool:
        return all_of(
            s.stamp[a].producer == s.stamp[b].producer,
            s.stamp[a].producer_epoch == s.stamp[b].producer_epoch,
        )
