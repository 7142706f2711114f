"""Reads the records of a batch in runs: neighbouring records whose bytes have the same layout.

The records of a producer are often alike: their keys, values and headers have equal lengths. So
their fields begin at the same positions. Such records are a *run*: a table with one record in each
row. A slice of the bytes is one column of the table, so a whole column is compared at once.

    length  attributes  timestamp delta  offset delta  key length  ...
    ------  ----------  ---------------  ------------  ----------
      1c        00            00              00           01
      1c        00            02              02           01           a run of three records
      1c        00            04              04           01
      1e        00            04              06           01           a longer record ends the run

In a run, all lengths and counts are equal, and all timestamp deltas have equally many bytes. Each
offset delta is the position of its record. Records outside of runs are read one by one.

The module `validation` reads each record by itself, and so defines the result. `facts_by_runs`
returns the same result, or None if it cannot decide. It never raises an exception.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from reference_impl.log.varint import read_varint, read_varlong
from reference_impl.protocol.record_facts import RecordFacts

_INT64: Final = 2**63
_LIKE: Final = 3  # so many records must have the size of the one before them: a run may follow
_FEWEST: Final = 8  # records of a run that was worth the comparison of its columns
_FIRST_WINDOW: Final = 32
_LONGEST_PAUSE: Final = 64
_TIMESTAMP_BYTES: Final = 4  # the most that a timestamp delta in a run has
_TIMESTAMP_MS: Final = 1 << (7 * _TIMESTAMP_BYTES - 1)
_LOW_BITS: Final = bytes(byte & 0x7F for byte in range(256))
_HIGH_BIT: Final = bytes(byte & 0x80 for byte in range(256))

# The bytes of the offset deltas 0 to 8191 as varints, by their position in the varint.
_DELTAS: Final = 8192
_ONLY: Final = bytes(range(0, 0x80, 2))
_FIRST: Final = bytes(range(0x80, 0x100, 2)) * (_DELTAS // 64)
_LAST_OF_TWO: Final = b"".join(bytes([high]) * 64 for high in range(128))
_SECOND_OF_THREE: Final = bytes(byte | 0x80 for byte in _LAST_OF_TWO)


class _Read(NamedTuple):
    at: int = 0
    records: int = 0
    singles: int = 0  # the records that were read one by one
    largest_ms: int = -_INT64  # of the timestamp deltas
    smallest_ms: int = _INT64
    lacks_keys: bool = False
    is_in_sequence: bool = True
    last_size: int = 0  # of the last record


def facts_by_runs(
    body: bytes, count: int, base_timestamp_ms: int, most_singles: int
) -> RecordFacts | None:
    """Returns the facts about a batch's records, or None if they must be read one by one.

    The result is None if a record is malformed, a timestamp is outside of int64, or the batch is
    empty. It is also None if more than `most_singles` records belong to no run: a series of records
    whose bytes have the same layout.
    """
    read = _Read()
    pause = longer_pause = 0
    try:
        while read.records < count:
            read = _singles(body, read, min(count, read.records + most_singles + 1), pause)
            if read.singles > most_singles:
                return None
            if read.records == count:
                break
            before = read.records
            read = _run(body, read, count - before)
            # After a short run, columns are compared less often.
            is_short = read.records - before < _FEWEST
            longer_pause = min(2 * longer_pause + _FEWEST, _LONGEST_PAUSE)
            longer_pause = pause = longer_pause if is_short else 0
    except (IndexError, _Malformed):
        return None
    earliest_ms = base_timestamp_ms + read.smallest_ms
    latest_ms = base_timestamp_ms + read.largest_ms
    if not count or read.at != len(body) or earliest_ms < -_INT64 or latest_ms >= _INT64:
        return None
    return RecordFacts(latest_ms, read.lacks_keys, read.is_in_sequence)


# ---------------------------------------------------------------- one by one


class _Malformed(Exception):
    """Raised for a malformed record."""


def _singles(body: bytes, read: _Read, until: int, pause: int) -> _Read:  # noqa: C901 - no calls
    """Reads records one by one until four in a row have the same size."""
    # At least `pause` records, but none from number `until` on. Raises _Malformed or IndexError.
    # Calls are slow, so numbers of one or two bytes are decoded here.
    at, number, singles, largest_ms, smallest_ms, lacks_keys, is_in_sequence, _ = read
    equal = size = 0  # how many records in a row had the same size
    earliest_run = number + pause
    while number < until and (equal < _LIKE or number < earliest_run):
        start = at
        length = body[at]
        at += 1
        if length > 0x7F:
            length, at = _unsigned_int32(body, at, length)
        end = at + (length >> 1)
        if length & 1 or end > len(body):
            raise _Malformed
        delta_ms = body[at + 1]  # behind the attributes
        if delta_ms < 0x80:
            delta_ms, at = (delta_ms >> 1) ^ -(delta_ms & 1), at + 2
        elif (high := body[at + 2]) < 0x80:
            delta_ms, at = delta_ms & 0x7F | high << 7, at + 3
            delta_ms = (delta_ms >> 1) ^ -(delta_ms & 1)
        else:
            delta_ms, at = read_varlong(body, at + 1)
        offset_delta = body[at]
        at += 1
        if offset_delta > 0x7F:
            high = body[at]
            if high < 0x80:
                offset_delta, at = offset_delta & 0x7F | high << 7, at + 1
            else:
                offset_delta, at = _unsigned_int32(body, at, offset_delta)
        key_length = body[at]
        at += 1
        if key_length > 0x7F:
            key_length, at = _unsigned_int32(body, at, key_length)
        if key_length & 1:
            lacks_keys = True
        else:
            at += key_length >> 1
        value_length = body[at]
        at += 1
        if value_length > 0x7F:
            value_length, at = _unsigned_int32(body, at, value_length)
        if not value_length & 1:
            at += value_length >> 1
        at += 1
        if body[at - 1] or at != end:
            at = _after_headers(body, at - 1, end, _ignore)
            if at != end:
                raise _Malformed
        if offset_delta != 2 * number:
            is_in_sequence = False
        if delta_ms > largest_ms:
            largest_ms = delta_ms
        if delta_ms < smallest_ms:
            smallest_ms = delta_ms
        if end - start == size:
            equal += 1
        else:
            size = end - start
            equal = 0
        number += 1
    singles += number - read.records
    return _Read(at, number, singles, largest_ms, smallest_ms, lacks_keys, is_in_sequence, size)


def _unsigned_int32(body: bytes, at: int, low: int) -> tuple[int, int]:
    # `low` is the varint's first byte, `at` the place of the second; bit 0 is the sign.
    high = body[at]
    if high < 0x80:
        return low & 0x7F | high << 7, at + 1
    number, at = read_varint(body, at - 1)
    return (number << 1) ^ (number >> 31), at


def _ignore(begin: int, end: int) -> None:
    del begin, end


def _after_headers(body: bytes, at: int, end: int, visit: Callable[[int, int], object]) -> int:
    """Returns the position after the headers, or -1 for an invalid count or length."""
    start = at
    count, at = read_varint(body, at)
    # counts and lengths are equal in all records of a run
    visit(start, at)
    if not 0 <= count <= end - at:
        return -1
    for _ in range(count):
        start = at
        name_length, at = read_varint(body, at)
        visit(start, at)
        if name_length < 0:
            return -1
        start = at + name_length
        value_length, at = read_varint(body, start)
        visit(start, at)
        at += max(value_length, 0)
    return at


# ---------------------------------------------------------------- runs


def _run(body: bytes, read: _Read, left: int) -> _Read:
    """Reads on while records have the layout of the last one read; at most `left` records."""
    size, number = read.last_size, read.records - 1
    start = read.at - size
    fixed, times, deltas = _columns(body, start, read.at)
    # A window ends where the offset deltas get more bytes, or another third byte.
    limit = 64 - number if number < 64 else _DELTAS - number % _DELTAS
    limit = min(limit, left + 1, (len(body) - start) // size)
    expected = _offset_columns(number, limit)
    if len(expected) != len(deltas) or len(times) > _TIMESTAMP_BYTES:
        return read
    largest_ms = read.largest_ms
    rows, window = 0, min(limit, _FIRST_WINDOW)
    while window:
        begin, end = start + rows * size, start + (rows + window) * size
        columns = [body[begin + place : end : size] for place in times]
        equal = min(
            *(
                _equal(
                    body[begin + place : end : size],
                    body[start + place : start + place + 1] * window,
                )
                for place in fixed
            ),
            *(
                _equal(body[begin + place : end : size], part[rows : rows + window])
                for place, part in zip(deltas, expected, strict=True)
            ),
            *(
                _equal(column.translate(_HIGH_BIT), (b"\x80" if more else b"\x00") * window)
                for more, column in zip(range(len(times) - 1, -1, -1), columns, strict=True)
            ),
        )
        if equal:
            largest_ms = max(largest_ms, _largest([column[:equal] for column in columns]))
        rows += equal
        window = min(8 * window, limit - rows) if equal == window else 0
    if not rows:
        return read  # not even the last record has the offset delta that a run must have
    return read._replace(
        at=start + rows * size,
        records=number + rows,
        largest_ms=largest_ms,
        smallest_ms=min(read.smallest_ms, -_TIMESTAMP_MS),
    )


def _columns(body: bytes, start: int, end: int) -> tuple[list[int], range, range]:
    """Returns the positions of three groups of bytes in a valid record.

    The groups are the lengths and counts, the timestamp delta, and the offset delta.
    """
    fixed: list[int] = []

    def add(begin: int, end: int) -> None:
        fixed.extend(range(begin - start, end - start))

    _, at = read_varint(body, start)
    add(start, at)
    times_at = at + 1
    _, deltas_at = read_varlong(body, times_at)
    _, at = read_varint(body, deltas_at)
    times, deltas = range(times_at - start, deltas_at - start), range(deltas_at - start, at - start)
    for _ in ("key", "value"):
        begin = at
        length, at = read_varint(body, begin)
        add(begin, at)
        at += max(length, 0)
    _after_headers(body, at, end, add)
    return fixed, times, deltas


def _offset_columns(number: int, count: int) -> tuple[bytes, ...]:
    """Returns the varints of `count` offset deltas from `number` on, as columns of bytes.

    The first column has the first byte of each varint. Empty for varints of more than three bytes.
    """
    if number < 64:
        return (_ONLY[number : number + count],)
    low = number % _DELTAS
    rows = slice(low, low + count)
    if number < _DELTAS:
        return _FIRST[rows], _LAST_OF_TWO[rows]
    if number < _DELTAS << 7:
        return _FIRST[rows], _SECOND_OF_THREE[rows], bytes([number // _DELTAS]) * count
    return ()


def _equal(column: bytes, expected: bytes) -> int:
    """Returns how many bytes at the begin of two columns are equal."""
    if column == expected:
        return len(column)
    differ = int.from_bytes(column, "big") ^ int.from_bytes(expected, "big")
    return len(column) - (differ.bit_length() + 7) // 8


def _largest(columns: list[bytes]) -> int:
    count = len(columns[0])
    if all(column == column[:1] * count for column in columns):
        return _signed(int.from_bytes(bytes(column[0] & 0x7F for column in columns), "little"))
    rows = bytearray(_TIMESTAMP_BYTES * count)
    for place, column in enumerate(columns):
        rows[place::_TIMESTAMP_BYTES] = column.translate(_LOW_BITS)
    numbers = struct.unpack(f"<{count}I", rows)
    if not any(map((1).__and__, columns[0])):  # none is negative
        return _signed(max(numbers))
    return max(map(_signed, set(numbers)))


def _signed(four: int) -> int:
    rest = sum((four >> 8 * place & 0x7F) << 7 * place for place in range(_TIMESTAMP_BYTES))
    return (rest >> 1) ^ -(rest & 1)
