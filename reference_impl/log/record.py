"""A record in a record batch: its fields, and its encoding as bytes.

The offset and the timestamp are zigzag varints. They are relative to the base offset and the base
timestamp of the batch.

Source: Kafka documentation, "Message Format".
"""

from __future__ import annotations

from dataclasses import dataclass

from reference_impl.log.varint import (
    as_int64,
    read_bytes,
    read_varint,
    read_varlong,
    write_bytes,
    write_varint,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record as an application sent it, without its offset."""

    value: bytes | None
    key: bytes | None = None
    timestamp_ms: int = 0
    headers: tuple[tuple[str, bytes | None], ...] = ()


def write_record(
    out: bytearray, record: Record, offset_delta: int, timestamp_delta_ms: int
) -> None:
    body = bytearray(1)  # record attributes: unused
    write_varint(body, timestamp_delta_ms)
    write_varint(body, offset_delta)
    write_bytes(body, record.key)
    write_bytes(body, record.value)
    write_varint(body, len(record.headers))
    for name, value in record.headers:
        write_bytes(body, name.encode(errors="surrogateescape"))
        write_bytes(body, value)
    write_varint(out, len(body))
    out += body


def read_record(data: bytes, at: int, base_timestamp_ms: int) -> tuple[int, Record, int]:
    """Returns the offset delta, the record at the position `at`, and the position after the record.
    Raises IndexError if the record is malformed.
    """
    length, at = read_varint(data, at)
    end = at + length
    if end > len(data):
        raise IndexError(f"it claims {length} bytes, but only {len(data) - at} are left")
    timestamp_delta_ms, at = read_varlong(data, at + 1)
    offset_delta, at = read_varint(data, at)
    key, at = read_bytes(data, at)
    value, at = read_bytes(data, at)
    header_count, at = read_varint(data, at)
    if header_count < 0:
        raise IndexError(f"it claims {header_count} headers")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(header_count):
        name, at = read_bytes(data, at)
        if name is None:
            raise IndexError("a header has no key")
        # As in Kafka, a name may be any bytes. Bytes that are not UTF-8 become surrogates.
        header_value, at = read_bytes(data, at)
        headers.append((name.decode(errors="surrogateescape"), header_value))
    if at != end:
        raise IndexError(f"it ends at byte {at} and claims to end at {end}")
    timestamp_ms = as_int64(base_timestamp_ms + timestamp_delta_ms)
    return (
        offset_delta,
        Record(value=value, key=key, timestamp_ms=timestamp_ms, headers=tuple(headers)),
        end,
    )
