"""Reads and writes varints and byte strings, in the encoding of the records of a record batch.

Unsigned varints are used only in tagged fields and in flexible messages, not in records.

Source: Kafka documentation, "Message Format"; the varints of Protocol Buffers.
"""

from __future__ import annotations

from typing import Final

_INT64: Final = 2**63


def write_varint(out: bytearray, number: int) -> None:
    rest = (number << 1) ^ (number >> 63)
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def write_unsigned_varint(out: bytearray, number: int) -> None:
    """Appends the number as an unsigned varint. The number must not be negative."""
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def read_unsigned_varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns the number at the position `at`, and the position after the number. The number is
    below 2**35.

    Raises IndexError if the bytes end too early, or if the number has more than five bytes.
    """
    return _unsigned(data, at, 5)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns the int32 at the position `at`, and the position after the number. Raises IndexError
    if the bytes end too early, or if the number has more than five bytes.

    Kafka: ByteUtils.readVarint, which drops the bits above 32.
    """
    rest, at = _unsigned(data, at, 5)
    rest &= 0xFFFFFFFF
    return (rest >> 1) ^ -(rest & 1), at


def read_varlong(data: bytes, at: int) -> tuple[int, int]:
    """Returns the int64 at the position `at`, and the position after the number. Raises IndexError
    if the bytes end too early, or if the number has more than ten bytes.

    Kafka: ByteUtils.readVarlong, which drops the bits above 64.
    """
    rest, at = _unsigned(data, at, 10)
    rest &= 0xFFFFFFFFFFFFFFFF
    return (rest >> 1) ^ -(rest & 1), at


def _unsigned(data: bytes, at: int, most: int) -> tuple[int, int]:
    rest = shift = 0
    for place in range(at, at + most):
        byte = data[place]
        rest |= (byte & 0x7F) << shift
        if byte < 0x80:
            return rest, place + 1
        shift += 7
    raise IndexError(f"a varint has more than {most} bytes")


def as_int64(number: int) -> int:
    """Returns the number as a Java `long`: its lowest 64 bits, as a signed number."""
    return (number + _INT64) % (2 * _INT64) - _INT64


def write_bytes(out: bytearray, value: bytes | None) -> None:
    """Appends the length of `value`, and `value` itself. None is written as the length -1."""
    if value is None:
        write_varint(out, -1)
        return
    write_varint(out, len(value))
    out += value


def read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    """Returns the byte string at the position `at`, and the position after the byte string. A
    negative length stands for None. Raises IndexError if the bytes end too early.
    """
    length, at = read_varint(data, at)
    if length < 0:
        return None, at
    if at + length > len(data):
        raise IndexError(f"a field claims {length} bytes, but only {len(data) - at} are left")
    return data[at : at + length], at + length
