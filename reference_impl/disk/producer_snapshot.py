"""A snapshot of the producer state as a file, in Kafka's format. The file has these fields, and one
bracket for each producer:

    version   checksum   count   [id, epoch, last sequence, last offset, offset delta, timestamp,
    i16       u32        i32      coordinator epoch, first offset of the open transaction] ...

The numbers of a producer are those of its newest record batch. The file has no index of aborted
transactions.

Source: ProducerStateManager.writeSnapshot and readSnapshot, ProducerSnapshot.json.
"""

from __future__ import annotations

import struct
from typing import Final

import google_crc32c

from model.vocabulary import Offset, ProducerEpoch, ProducerId, Sequence
from reference_impl.log.open_transactions import PartitionTransactions
from reference_impl.log.producer_state import AppendedBatch, Producer, ProducerStates
from reference_impl.log.record_batch import SEQUENCE_NUMBERS

_HEADER: Final = struct.Struct(">hIi")
_PRODUCER: Final = struct.Struct(">qhiqiqiq")
_SIGNED_FROM: Final = 6
_VERSION: Final = 1
_NONE: Final = -1


def encoded(states: ProducerStates) -> bytes:
    open_since = states.transactions.open
    body = b"".join(
        _entry(producer_id, producer, open_since.get(producer_id, _NONE))
        for producer_id, producer in states.producers.items()
    )
    count = len(states.producers)
    unsigned = _HEADER.pack(_VERSION, 0, count) + body
    return _HEADER.pack(_VERSION, google_crc32c.value(unsigned[_SIGNED_FROM:]), count) + body


def decoded(data: bytes) -> ProducerStates | None:
    """Returns the producer states in the file's content. Returns None if the content is incomplete,
    has a wrong checksum, or has another version of the format.
    """
    if len(data) < _HEADER.size:
        return None
    version, crc, count = _HEADER.unpack_from(data)
    is_whole = len(data) == _HEADER.size + count * _PRODUCER.size
    if version != _VERSION or not is_whole or google_crc32c.value(data[_SIGNED_FROM:]) != crc:
        return None
    producers: dict[ProducerId, Producer] = {}
    open_since: dict[ProducerId, Offset] = {}
    for entry in _PRODUCER.iter_unpack(data[_HEADER.size :]):
        producer_id, epoch, last_sequence, last, delta, timestamp_ms, coordinator, first = entry
        newest: tuple[AppendedBatch, ...] = ()
        if last != _NONE:
            first_sequence = (last_sequence - delta) % SEQUENCE_NUMBERS
            newest = (
                AppendedBatch(
                    Sequence(first_sequence),
                    Sequence(last_sequence),
                    Offset(last - delta),
                    Offset(last + 1),
                    timestamp_ms,
                ),
            )
        producers[ProducerId(producer_id)] = Producer(
            ProducerEpoch(epoch), newest, coordinator, timestamp_ms
        )
        if first != _NONE:
            open_since[ProducerId(producer_id)] = Offset(first)
    ordered = dict(sorted(open_since.items(), key=lambda entry: entry[1]))
    return ProducerStates(producers, PartitionTransactions(open=ordered))


def _entry(producer_id: ProducerId, producer: Producer, open_since: int) -> bytes:
    newest = producer.batches[-1] if producer.batches else None
    return _PRODUCER.pack(
        producer_id,
        producer.producer_epoch,
        newest.last_sequence if newest else _NONE,
        newest.next_offset - 1 if newest else _NONE,
        newest.next_offset - 1 - newest.base_offset if newest else 0,
        producer.timestamp_ms,
        producer.coordinator_epoch,
        open_since,
    )
