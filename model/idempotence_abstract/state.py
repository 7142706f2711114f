"""The state of the abstract idempotent producer: one log, and the acknowledged records.

Source: KIP-98; KIP-360.
Simplified: the spec has one log, which is the log of the present leader. The log of a new leader is
a prefix of this log. A batch is one record, and sequences do not wrap. The leader never forgets a
producer. In Kafka a producer expires, and the leader then accepts any sequence (KAFKA-15591). Only
the version `with-restarts`, and the bugs of this version, have clients and restarts.
"""

from __future__ import annotations

from typing import Annotated

from model.language import Bool, Map, Ordered, Record, Scope, Sort, Spec, all_of


class Producer(Sort):
    """A producer id."""


class ProducerEpoch(Ordered):
    """The epoch of an instance of a producer. A newer instance has a larger epoch."""


class Sequence(Ordered):
    """The number of a record within a producer epoch."""


class Offset(Ordered):
    """A position in the log."""


class Stamp(Record):
    """The producer, the producer epoch and the sequence that a record carries."""

    producer: Producer
    producer_epoch: ProducerEpoch
    sequence: Sequence


class AbstractIdempotenceState(Spec):
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
        for offset in Offset:
            s.stamp[offset].producer = someone  # unused from the end offset on

    def holds(s, offset: Offset, producer: Producer) -> Bool:
        return (offset < s.end_offset) & (s.stamp[offset].producer == producer)

    def same_session(s, a: Offset, b: Offset) -> Bool:
        return all_of(
            s.stamp[a].producer == s.stamp[b].producer,
            s.stamp[a].producer_epoch == s.stamp[b].producer_epoch,
        )
