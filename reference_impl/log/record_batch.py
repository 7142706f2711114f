"""Record batches of version 2. These are the bytes that producers send, that logs store and that
fetches return.

The records are compressed as one block, which a broker need not parse. The checksum covers only the
bytes after the leader epoch, so a broker can change the base offset and the leader epoch without a
new checksum.

The module does not use the codec of the library kio, for three reasons: kio's codec always parses
all records, cannot read compressed records, and drops the milliseconds of the timestamps.

Source: Kafka documentation, "Message Format"; KIP-98.
Simplified: batches with magic 0 or 1 are rejected, as in Kafka 4. `encode` numbers the records
without gaps. `filter_records`, which compaction uses, does not change the offsets of the remaining
records. Their offsets may have gaps, which `decode` accepts.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple, NoReturn

import google_crc32c

from model.vocabulary import (
    NO_PRODUCER_ID,
    UNKNOWN_LEADER_EPOCH,
    LeaderEpoch,
    Offset,
    ProducerEpoch,
    ProducerId,
)
from model.vocabulary import Sequence as SequenceNumber
from reference_impl.log.compression import (
    COMPRESSIONS,
    BadCompression,
    Compression,
    compress,
    decompress,
)
from reference_impl.log.record import Record, read_record, write_record

MAGIC: Final = 2
SEQUENCE_NUMBERS: Final = 2**31  # sequence numbers wrap to 0 after the largest int32

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE: Final = _HEADER.size
PREFIX: Final = struct.Struct(">qi")  # base offset, and how many bytes follow
_LEADER_EPOCH: Final = struct.Struct(">i")
_LEADER_EPOCH_AT: Final = 12
_CRC: Final = struct.Struct(">I")
_CRC_AT: Final = 17
_SIGNED_FROM: Final = 21  # the checksum covers everything from the attributes on
_ATTRIBUTES: Final = struct.Struct(">h")
_TIMESTAMP: Final = struct.Struct(">q")
_MAX_TIMESTAMP_AT: Final = 35

_COMPRESSION_BITS: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_DELETE_HORIZON: Final = 0x40


class CorruptBatch(ValueError):
    """Raised if the bytes are not a valid record batch. The message has the position of the
    fault.
    """


class Header(NamedTuple):
    """The header of a record batch: the first 61 bytes of the batch. The fields are in the order of
    these bytes.
    """

    base_offset: Offset
    length: int  # bytes that follow this field
    leader_epoch: LeaderEpoch
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    base_sequence: SequenceNumber
    record_count: int

    @property
    def size(self) -> int:
        return PREFIX.size + self.length

    @property
    def last_offset(self) -> Offset:
        return Offset(self.base_offset + self.last_offset_delta)

    @property
    def next_offset(self) -> Offset:
        return Offset(self.last_offset + 1)

    @property
    def last_sequence(self) -> SequenceNumber:
        """The sequence number of the last record, or -1 if the batch has no sequence numbers."""
        if self.base_sequence < 0:
            return self.base_sequence
        return SequenceNumber((self.base_sequence + self.last_offset_delta) % SEQUENCE_NUMBERS)

    @property
    def compression(self) -> Compression:
        """The compression codec of the records. Raises CorruptBatch if the codec's number is
        unknown.
        """
        number = self.attributes & _COMPRESSION_BITS
        if number >= len(COMPRESSIONS):
            corrupt(
                _SIGNED_FROM, f"compression codec {number}; the largest is {len(COMPRESSIONS) - 1}"
            )
        return COMPRESSIONS[number]

    @property
    def has_known_compression(self) -> bool:
        return self.attributes & _COMPRESSION_BITS < len(COMPRESSIONS)

    @property
    def has_plain_attributes(self) -> bool:
        """True if no attribute is set other than the compression codec and the transactional
        bit.
        """
        return not self.attributes & ~(_COMPRESSION_BITS | _TRANSACTIONAL)

    @property
    def is_log_append_time(self) -> bool:
        """True if the largest timestamp is the time at which a broker appended the batch. Only
        brokers may set this bit.
        """
        return bool(self.attributes & _LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """True if the batch is a control batch, which contains a transaction marker. Applications
        do not receive control batches.
        """
        return bool(self.attributes & _CONTROL)

    @property
    def delete_horizon_ms(self) -> int | None:
        """The time from which compaction may delete the tombstones of the batch (KIP-534), or None
        if the batch has no such time.
        """
        return self.base_timestamp_ms if self.attributes & _DELETE_HORIZON else None


# ---------------------------------------------------------------- a batch as bytes


def unchecked_header(data: bytes) -> Header:
    """Returns the first 61 bytes as the header of a record batch, without any check of its
    fields.
    """
    return Header._make(_HEADER.unpack_from(data))


def header(batch: bytes) -> Header:
    """Returns the header of the record batch, without a check of its checksum. Raises CorruptBatch
    if the header is malformed.
    """
    if len(batch) < _HEADER.size:
        corrupt(len(batch), f"the header ends after {len(batch)} of its {_HEADER.size} bytes")
    head = unchecked_header(batch)
    if head.magic != MAGIC:
        corrupt(16, f"magic {head.magic}; only version {MAGIC} is supported, as by Kafka 4")
    if head.size != len(batch):
        corrupt(8, f"the header claims {head.size} bytes, the batch has {len(batch)}")
    if head.last_offset_delta < 0 or head.record_count < 0:
        corrupt(23, f"{head.record_count} records over a delta of {head.last_offset_delta} offsets")
    return head


def verified(batch: bytes) -> Header:
    """Returns the header of the record batch. Raises CorruptBatch if the header is malformed or the
    checksum is wrong.
    """
    head = header(batch)
    if not has_valid_checksum(batch, head):
        actual = google_crc32c.value(batch[_SIGNED_FROM:])
        corrupt(_CRC_AT, f"checksum {head.crc:08x}, the bytes have {actual:08x}")
    return head


def has_valid_checksum(batch: bytes, head: Header) -> bool:
    checksum: int = google_crc32c.value(batch[_SIGNED_FROM:])
    return checksum == head.crc


def stamped(batch: bytes, *, base_offset: Offset, leader_epoch: LeaderEpoch) -> bytes:
    """Returns the record batch with the base offset and the leader epoch that the leader
    assigns.
    """
    return b"".join(
        (
            PREFIX.pack(base_offset, len(batch) - PREFIX.size),
            _LEADER_EPOCH.pack(leader_epoch),
            batch[_LEADER_EPOCH_AT + _LEADER_EPOCH.size :],
        )
    )


def with_timestamp(
    batch: bytes, head: Header, max_timestamp_ms: int, *, log_append_time: bool = False
) -> bytes:
    """Returns a copy of the record batch in which the field of the largest timestamp is
    `max_timestamp_ms`. The timestamp type of the copy is LogAppendTime if `log_append_time` is
    True, otherwise CreateTime.

    Kafka: DefaultRecordBatch.setMaxTimestamp.
    """
    is_same_type = head.is_log_append_time == log_append_time
    if is_same_type and head.max_timestamp_ms == max_timestamp_ms:
        return batch
    changed = bytearray(batch)
    attributes = head.attributes & ~_LOG_APPEND_TIME | _LOG_APPEND_TIME * log_append_time
    _ATTRIBUTES.pack_into(changed, _SIGNED_FROM, attributes)
    _TIMESTAMP.pack_into(changed, _MAX_TIMESTAMP_AT, max_timestamp_ms)
    return sealed(bytes(changed))


# ---------------------------------------------------------------- records


def encode(
    records: Sequence[Record],
    *,
    base_offset: Offset = Offset(0),  # noqa: B008 - an int by another name
    leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH,
    producer_id: ProducerId = NO_PRODUCER_ID,
    producer_epoch: ProducerEpoch = ProducerEpoch(-1),  # noqa: B008 - the same
    base_sequence: SequenceNumber = SequenceNumber(-1),  # noqa: B008 - the same
    compression: Compression = "none",
    level: int | None = None,
    transactional: bool = False,
    control: bool = False,
) -> bytes:
    """Returns a record batch with the records, which are numbered without gaps. Raises ValueError
    if `records` is empty.

    If `level` is None, the codec uses its default compression level.
    """
    if not records:
        raise ValueError("a batch has at least one record")
    base_timestamp_ms = records[0].timestamp_ms
    body = bytearray()
    for delta, record in enumerate(records):
        write_record(body, record, delta, record.timestamp_ms - base_timestamp_ms)
    packed = compress(compression, bytes(body), level)
    attributes = (
        COMPRESSIONS.index(compression) | _TRANSACTIONAL * transactional | _CONTROL * control
    )
    head = _HEADER.pack(
        base_offset,
        _HEADER.size - PREFIX.size + len(packed),
        leader_epoch,
        MAGIC,
        0,
        attributes,
        len(records) - 1,
        base_timestamp_ms,
        max(record.timestamp_ms for record in records),
        producer_id,
        producer_epoch,
        base_sequence,
        len(records),
    )
    return sealed(head + packed)


def filter_records(
    batch: bytes, kept: Sequence[tuple[Offset, Record]], delete_horizon_ms: int | None
) -> bytes:
    """Returns the record batch with only the records in `kept`. The offset range of the batch does
    not change.

    If `delete_horizon_ms` is not None, the header gets this time as its base timestamp (KIP-534).
    """
    head = header(batch)
    attributes = head.attributes
    base_timestamp_ms = head.base_timestamp_ms
    if delete_horizon_ms is not None:
        attributes, base_timestamp_ms = attributes | _DELETE_HORIZON, delete_horizon_ms
    body = bytearray()
    for offset, record in kept:
        delta = offset - head.base_offset
        write_record(body, record, delta, record.timestamp_ms - base_timestamp_ms)
    packed = compress(head.compression, bytes(body))
    return sealed(
        _HEADER.pack(
            head.base_offset,
            _HEADER.size - PREFIX.size + len(packed),
            head.leader_epoch,
            MAGIC,
            0,
            attributes,
            head.last_offset_delta,
            base_timestamp_ms,
            head.max_timestamp_ms,
            head.producer_id,
            head.producer_epoch,
            head.base_sequence,
            len(kept),
        )
        + packed
    )


def with_records(head: Header, packed: bytes, compression: Compression) -> bytes:
    """Returns a record batch with the fields of `head` and the compressed records `packed`. The
    size, the codec and the checksum in the header are adapted.
    """
    attributes = head.attributes & ~_COMPRESSION_BITS | COMPRESSIONS.index(compression)
    length = _HEADER.size - PREFIX.size + len(packed)
    changed = head._replace(length=length, attributes=attributes)
    return sealed(_HEADER.pack(*changed) + packed)


def sealed(data: bytes) -> bytes:
    """Returns the record batch with the correct checksum."""
    batch = bytearray(data)
    _CRC.pack_into(batch, _CRC_AT, google_crc32c.value(data[_SIGNED_FROM:]))
    return bytes(batch)


def decode(batch: bytes) -> tuple[tuple[Offset, Record], ...]:
    """Returns the records of the batch, with their offsets. Raises CorruptBatch if the batch is
    malformed or its checksum is wrong.
    """
    return records_in(batch, verified(batch))


def records_in(batch: bytes, head: Header) -> tuple[tuple[Offset, Record], ...]:
    """Returns the records of the batch, with their offsets. The checksum is not checked. If the
    batch has the timestamp type LogAppendTime, all records get the largest timestamp of the
    batch. Raises CorruptBatch if the records are malformed.
    """
    try:
        body = decompress(head.compression, batch[_HEADER.size :])
    except BadCompression as error:
        raise CorruptBatch(f"byte {_HEADER.size}: {head.compression} records: {error}") from error
    found: list[tuple[Offset, Record]] = []
    at = 0
    for number in range(head.record_count):
        try:
            delta, record, at = read_record(body, at, head.base_timestamp_ms)
        except IndexError as error:
            raise CorruptBatch(f"byte {at} of the records: record {number}: {error}") from error
        found.append((Offset(head.base_offset + delta), record))
    if at != len(body):
        corrupt(at, f"{len(body) - at} bytes follow the last of {head.record_count} records")
    if head.is_log_append_time:
        at_ms = head.max_timestamp_ms
        return tuple((offset, replace(record, timestamp_ms=at_ms)) for offset, record in found)
    return tuple(found)


def corrupt(at: int, what: str) -> NoReturn:
    raise CorruptBatch(f"byte {at}: {what}")
