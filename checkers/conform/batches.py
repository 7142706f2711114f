"""Builds record batches from descriptions. Some of the batches are damaged on purpose.

A description is a mapping. Each line below explains one field of it:

    records     the number of records
    key         the key of every record, or null
    value       a text; the value of a record is this text and the record's position
    pad         the number of bytes added to every value
    timestamp   the time of the first record; each next record is one millisecond later
    damage      the kind of damage, such as `wrong checksum`; absent for a valid batch

The description can also have the fields `producer_id`, `producer_epoch`, `base_sequence`,
`transactional` and `compression`. Their values become the fields of the batch with the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import google_crc32c

from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode

_CRC = slice(17, 21)
_SIGNED_FROM: Final = 21
_ATTRIBUTES: Final = 22  # its low byte
_LAST_OFFSET_DELTA = slice(23, 27)
_RECORD_COUNT = slice(57, 61)
_MAGIC: Final = 16
_BASE_OFFSET = slice(0, 8)


def _sealed(batch: bytearray) -> None:
    batch[_CRC] = google_crc32c.value(bytes(batch[_SIGNED_FROM:])).to_bytes(4, "big")


def _with_checksum(change: Callable[[bytearray], None]) -> Callable[[bytearray], None]:
    def damage(batch: bytearray) -> None:
        change(batch)
        _sealed(batch)

    return damage


def _wrong_checksum(batch: bytearray) -> None:
    batch[_CRC.start] ^= 0xFF


def _older_magic(batch: bytearray) -> None:
    batch[_MAGIC] = 1


def _newer_magic(batch: bytearray) -> None:
    batch[_MAGIC] = 3


def _cut_short(batch: bytearray) -> None:
    del batch[-3:]


def _control(batch: bytearray) -> None:
    batch[_ATTRIBUTES] |= 0x20


def _long_delta(batch: bytearray) -> None:
    batch[_LAST_OFFSET_DELTA] = (99).to_bytes(4, "big")


def _large_count(batch: bytearray) -> None:
    batch[_RECORD_COUNT] = (99).to_bytes(4, "big")


def _unknown_codec(batch: bytearray) -> None:
    batch[_ATTRIBUTES] |= 0x07


def _append_time(batch: bytearray) -> None:
    batch[_ATTRIBUTES] |= 0x08


def _base_offset_77(batch: bytearray) -> None:
    batch[_BASE_OFFSET] = (77).to_bytes(8, "big")


def _mangled_record(batch: bytearray) -> None:
    batch[-1] ^= 0x55


DAMAGES: Final[Mapping[str, Callable[[bytearray], None]]] = {
    "wrong checksum": _wrong_checksum,
    "magic 1": _older_magic,
    "magic 3": _newer_magic,
    "cut short": _cut_short,
    "control bit": _with_checksum(_control),
    "last offset delta 99": _with_checksum(_long_delta),
    "record count 99": _with_checksum(_large_count),
    "codec 7": _with_checksum(_unknown_codec),
    "append-time bit": _with_checksum(_append_time),
    "base offset 77": _base_offset_77,
    "mangled record": _with_checksum(_mangled_record),
}


def batch(described: Mapping[str, Any]) -> bytes:
    """Returns the bytes of the record batch that `described` describes. Returns no bytes if the
    description has no records.
    """
    count: int = described["records"]
    if not count:
        return b""
    records = [
        Record(
            value=f"{described.get('value', 'v')}{position}".encode()
            + b"x" * described.get("pad", 0),
            key=None if described.get("key") is None else described["key"].encode(),
            timestamp_ms=described.get("timestamp", 0) + position,
        )
        for position in range(count)
    ]
    made = bytearray(
        encode(
            records,
            producer_id=described.get("producer_id", -1),
            producer_epoch=described.get("producer_epoch", -1),
            base_sequence=described.get("base_sequence", -1),
            compression=described.get("compression", "none"),
            transactional=described.get("transactional", False),
        )
    )
    if "damage" in described:
        DAMAGES[described["damage"]](made)
    return bytes(made)
