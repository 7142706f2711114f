"""A transaction marker: a control batch with one record that ends a producer's transaction.

The record's key contains the result, commit or abort. Its value contains the coordinator epoch,
which is the leader epoch of the coordinator's partition of `__transaction_state`.

Source: KIP-98; Kafka documentation, "Message Format", control batches.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from model.vocabulary import ProducerEpoch, ProducerId
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, encode
from reference_impl.protocol.transactions import TxnResult

_KEY: Final = struct.Struct(">hh")  # version, type
_VALUE: Final = struct.Struct(">hi")  # version, coordinator epoch
_TYPES: Final = (TxnResult.ABORT, TxnResult.COMMIT)  # by their number


class Marker(NamedTuple):
    result: TxnResult
    coordinator_epoch: int


def encoded(
    marker: Marker, *, producer_id: ProducerId, producer_epoch: ProducerEpoch, timestamp_ms: int
) -> bytes:
    """Returns the control batch of the marker. The leader assigns its offset and its leader epoch
    later.
    """
    record = Record(
        key=_KEY.pack(0, _TYPES.index(marker.result)),
        value=_VALUE.pack(0, marker.coordinator_epoch),
        timestamp_ms=timestamp_ms,
    )
    return encode(
        [record],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def read(batch: bytes) -> Marker:
    ((_, record),) = decode(batch)
    _, kind = _KEY.unpack_from(record.key or b"")
    _, coordinator_epoch = _VALUE.unpack_from(record.value or b"")
    return Marker(_TYPES[kind], coordinator_epoch)
