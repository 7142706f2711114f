"""Numbers and byte strings as the records of a batch have them.

Source: Kafka documentation, "Message Format"; the varints of Protocol Buffers.
"""

from __future__ import annotations


def write_varint(out: bytearray, number: int) -> None:
    """Zigzag, 64 bits: a small number is short whatever its sign."""
    rest = (number << 1) ^ (number >> 63)
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at this place, and the place behind it; IndexError."""
    rest = shift = 0
    while True:
        byte = data[at]
        at += 1
        rest |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (rest >> 1) ^ -(rest & 1), at
        shift += 7
        if shift > 63:
            raise IndexError("a varint of more than ten bytes")


def write_bytes(out: bytearray, value: bytes | None) -> None:
    """The length and the bytes; -1 for None."""
    if value is None:
        write_varint(out, -1)
        return
    write_varint(out, len(value))
    out += value


def read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    """The bytes at this place, and the place behind them; IndexError."""
    length, at = read_varint(data, at)
    if length < 0:
        return None, at
    if at + length > len(data):
        raise IndexError(f"a field of {length} bytes, {len(data) - at} are left")
    return data[at : at + length], at + length
