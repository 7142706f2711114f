"""Varints and byte strings, as encoded in the records of a batch.

Source: Kafka documentation, "Message Format"; the varints of Protocol Buffers.
"""

from __future__ import annotations


def write_varint(out: bytearray, number: int) -> None:
    """Appends the number as a zigzag varint, in which numbers near 0 take few bytes."""
    rest = (number << 1) ^ (number >> 63)
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns the number at position `at`, and the position after it.

    Raises IndexError if the bytes end too early.
    """
    rest = shift = 0
    while True:
        byte = data[at]
        at += 1
        rest |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (rest >> 1) ^ -(rest & 1), at
        shift += 7
        if shift > 63:
            raise IndexError("a varint has more than ten bytes")


def write_bytes(out: bytearray, value: bytes | None) -> None:
    """Appends the length and then the bytes; None is written as the length -1."""
    if value is None:
        write_varint(out, -1)
        return
    write_varint(out, len(value))
    out += value


def read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    """Returns the byte string at position `at`, and the position after it.

    Raises IndexError if the bytes end too early.
    """
    length, at = read_varint(data, at)
    if length < 0:
        return None, at
    if at + length > len(data):
        raise IndexError(f"a field claims {length} bytes, but only {len(data) - at} are left")
    return data[at : at + length], at + length
