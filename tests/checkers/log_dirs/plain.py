"""Reads log segments in plain Python, byte by byte; tests compare the fast reader with it.

Source: Kafka documentation, "Record Batch"; DefaultRecordBatch, DefaultRecord, FileLogInputStream.
Simplified: reads only position and offset of messages of magic 0 and 1. The name of a record's
header need not be UTF-8, because Kafka does not check this.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

import google_crc32c

from checkers.log_dirs.compression import NotPacked, unpacked
from checkers.log_dirs.folders import LogDirs
from properties.log_audit.log import (
    Batch,
    CoordinatorEntry,
    Fragment,
    Logs,
    Marker,
    Record,
    ReplicaLog,
    base_offset,
)

PREFIX: Final = struct.Struct(">qi")  # base offset, and how many bytes follow
HEADER: Final = struct.Struct(">qiibIhiqqqhii")
MAGIC_AT: Final = 16
SIGNED_FROM: Final = 21  # the checksum covers everything from the attributes on
SMALLEST: Final = HEADER.size - PREFIX.size  # bytes after the length field of an empty batch
SMALLEST_OLD: Final = 14  # the same of a message of magic 0
LAST_OFFSET: Final = 2**63 - 2
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
LOG_APPEND_TIME: Final = 0x08
MARKERS: Final[tuple[Marker, Marker]] = ("abort", "commit")  # by their number
NO_MARKER: Final[tuple[Marker, int]] = ("", -1)
_MARKER_KEY: Final = struct.Struct(">hh")  # version, kind
_MARKER_VALUE: Final = struct.Struct(">hi")  # version, coordinator epoch


class Malformed(ValueError):
    """The error for bytes that are not well-formed records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A record of a batch; its offset and timestamp are relative to those of the batch header."""

    offset_delta: int
    timestamp_delta_ms: int
    key: bytes | None
    value: bytes | None
    payload: bytes  # key, value and headers, as they are written


def logs(dirs: LogDirs, coordinated: tuple[CoordinatorEntry, ...] = ()) -> Logs:
    replicas: list[ReplicaLog] = []
    for number, metadata in enumerate(dirs.logs):
        batches: list[Batch] = []
        fragments: list[Fragment] = []
        for segment in dirs.segments:
            if segment.log == number:
                for found in read(segment.path.name, segment.path.read_bytes()):
                    if isinstance(found, Batch):
                        batches.append(found)
                    else:
                        fragments.append(found)
        replicas.append(
            ReplicaLog(metadata=metadata, batches=tuple(batches), fragments=tuple(fragments))
        )
    return Logs(replicas=tuple(replicas), coordinated=coordinated)


def read(segment: str, data: bytes) -> Iterator[Batch | Fragment]:
    """Returns the batches of a log segment, and the incomplete bytes at its end."""
    at, next_offset = 0, base_offset(segment)
    while at < len(data):
        size = _size(data, at)
        if size is None or at + size > len(data):
            yield Fragment(
                segment=segment,
                position=at,
                size=len(data) - at,
                offset=next_offset,
                torn=size is not None or not any(data[at:]),
            )
            return
        batch = _batch(segment, at, data[at : at + size])
        yield batch
        at, next_offset = at + size, batch.last_offset + 1


def _size(data: bytes, at: int) -> int | None:
    left = len(data) - at
    if left < PREFIX.size:
        return left + 1
    length = PREFIX.unpack_from(data, at)[1]
    if left <= MAGIC_AT:
        return left + 1 if length >= SMALLEST else None
    magic = data[at + MAGIC_AT]
    least = {0: SMALLEST_OLD, 1: SMALLEST_OLD, 2: SMALLEST}.get(magic)
    return None if least is None or length < least else PREFIX.size + length


def _batch(segment: str, at: int, data: bytes) -> Batch:
    if data[MAGIC_AT] != 2:
        (offset,) = struct.unpack_from(">q", data)
        return Batch(
            segment=segment,
            position=at,
            size=len(data),
            base_offset=offset,
            last_offset=offset,
            fault="old",
        )
    base, _, leader_epoch, _, crc, attributes, delta, base_ms, max_ms, *of_producer, count = (
        HEADER.unpack_from(data)
    )
    head = Batch(
        segment=segment,
        position=at,
        size=len(data),
        base_offset=base,
        last_offset=min(base + max(delta, 0), LAST_OFFSET),
        leader_epoch=leader_epoch,
        max_timestamp_ms=max_ms,
        producer_id=of_producer[0],
        producer_epoch=of_producer[1],
        base_sequence=of_producer[2],
        transactional=bool(attributes & TRANSACTIONAL),
        control=bool(attributes & CONTROL),
    )
    if google_crc32c.value(data[SIGNED_FROM:]) != crc:
        return replace(head, fault="checksum")
    try:
        entries = records(unpacked(attributes, data[HEADER.size :]), count, delta)
    except (NotPacked, Malformed):
        return replace(head, fault="records")
    held = tuple(
        Record(
            offset=base + entry.offset_delta,
            content=_content(
                max_ms if attributes & LOG_APPEND_TIME else base_ms + entry.timestamp_delta_ms,
                entry.payload,
            ),
        )
        for entry in entries
    )
    marker, coordinator_epoch = marker_of(entries) if head.control else NO_MARKER
    return replace(head, records=held, marker=marker, coordinator_epoch=coordinator_epoch)


def entries(data: bytes) -> Iterator[Entry]:
    """Yields the records of all readable batches of a segment."""
    at = 0
    while at < len(data):
        size = _size(data, at)
        if size is None or at + size > len(data):
            return
        batch = data[at : at + size]
        at += size
        if batch[MAGIC_AT] == 2:
            head = HEADER.unpack_from(batch)
            try:
                yield from records(unpacked(head[5], batch[HEADER.size :]), head[-1], head[6])
            except (NotPacked, Malformed):
                continue


def _content(timestamp_ms: int, payload: bytes) -> str:
    return f"{timestamp_ms} {blake2b(payload, digest_size=8).hexdigest()}"


def marker_of(entries: Sequence[Entry]) -> tuple[Marker, int]:
    """Returns the transaction marker of a control batch, and its coordinator epoch."""
    first = entries[0] if entries else None
    if first is None or len(first.key or b"") < _MARKER_KEY.size:
        return NO_MARKER
    _, kind = _MARKER_KEY.unpack_from(first.key or b"")
    if kind not in (0, 1) or len(first.value or b"") < _MARKER_VALUE.size:
        return NO_MARKER
    _, coordinator_epoch = _MARKER_VALUE.unpack_from(first.value or b"")
    return MARKERS[kind], coordinator_epoch


# ---------------------------------------------------------------- records


def records(data: bytes, count: int, last_offset_delta: int) -> list[Entry]:
    """Parses `count` records; their offsets must ascend to the last offset of the batch.

    Raises Malformed if the bytes contain anything else.
    """
    found: list[Entry] = []
    at, least = 0, 0
    for _ in range(max(count, 0)):
        length, at = _varint(data, at)
        end = at + length
        if length < 0 or end > len(data):
            raise Malformed(f"a record of {length} bytes")
        entry = _entry(data[at:end])
        if not least <= entry.offset_delta <= last_offset_delta:
            raise Malformed(f"offset delta {entry.offset_delta}")
        found.append(entry)
        at, least = end, entry.offset_delta + 1
    if count < 0 or last_offset_delta < 0 or at != len(data):
        raise Malformed(f"{count} records in {len(data)} bytes, the last ends at {at}")
    return found


def _entry(data: bytes) -> Entry:
    timestamp_delta_ms, at = _varint(data, 1, longest=10)  # byte 0: attributes, none are defined
    offset_delta, begun = _varint(data, at)
    key, at = _bytes(data, begun)
    value, at = _bytes(data, at)
    headers, at = _varint(data, at)
    if headers < 0:
        raise Malformed(f"{headers} headers")
    for _ in range(headers):
        name, at = _bytes(data, at)
        if name is None:
            raise Malformed("a header without a name")
        _, at = _bytes(data, at)
    if at != len(data):
        raise Malformed(f"a record of {len(data)} bytes that ends at {at}")
    return Entry(
        offset_delta=offset_delta,
        timestamp_delta_ms=timestamp_delta_ms,
        key=key,
        value=value,
        payload=data[begun:],
    )


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = _varint(data, at)
    if length < 0:
        return None, at
    if at + length > len(data):
        raise Malformed(f"a field of {length} bytes")
    return data[at : at + length], at + length


def _varint(data: bytes, at: int, *, longest: int = 5) -> tuple[int, int]:
    raw = 0
    for number in range(longest):
        if at + number >= len(data):
            raise Malformed("a number that is cut")
        byte = data[at + number]
        raw |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            if raw >> (32 if longest == 5 else 64):
                raise Malformed(f"a number of more than {longest} bytes")
            return (raw >> 1) ^ -(raw & 1), at + number + 1
    raise Malformed(f"a number of more than {longest} bytes")
