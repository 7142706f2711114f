"""Parses the records of many batches together, with NumPy.

Only a record's own length shows where the record ends. So the first step finds the first record of
every batch, the second step finds the second record of every batch, and so on.

For any bytes, the result equals the result of the parser in `tests/checkers/log_dirs/plain.py`.

Source: Kafka documentation, "Record"; DefaultRecord.readFrom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

SMALLEST: Final = 7  # bytes of an empty record: its length and six empty fields
MIN_BATCHES: Final = 40  # with fewer batches, plain Python is faster than a NumPy step
INT_BYTES: Final = 5
LONG_BYTES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The records of many batches. The fields `payload`, `key`, `value` and `end` are positions in
    the parsed bytes.

    A null key or value has the length -1.
    """

    malformed: Flags  # of each batch
    batch: Ints  # of each record, like all fields below
    offset_delta: Ints
    timestamp_delta_ms: Ints
    payload: Ints
    key: Ints
    key_length: Ints
    value: Ints
    value_length: Ints
    end: Ints


def parsed(data: bytes, starts: Ints, ends: Ints, counts: Ints, last_deltas: Ints) -> Records:
    """Parses many batches together. Returns their records, and a flag for each batch that is
    malformed.

    Each argument after `data` has one element for each batch: the positions where its records begin
    and end, the number of its records, and the offset delta of its last record. A batch is
    malformed if its bytes contradict these numbers. A batch is also malformed if the offset deltas
    of its records do not ascend.
    """
    malformed: Flags = (counts < 0) | (last_deltas < 0) | (counts > (ends - starts) // SMALLEST)
    batches = _Batches(data, starts, ends, np.where(malformed, 0, counts), malformed)
    batches.walk()
    kept = ~malformed[batches.of_record]
    bodies, stops = batches.bodies[kept], batches.stops[kept]
    return _fields(batches.view, batches.of_record[kept], bodies, stops, last_deltas, malformed)


# ---------------------------------------------------------------- record positions


class _Batches:
    def __init__(self, data: bytes, starts: Ints, ends: Ints, counts: Ints, malformed: Flags):
        self.data, self.view = data, np.frombuffer(data or b"\0", np.uint8)
        self.at, self.ends, self.counts = starts.copy(), ends, counts
        self.malformed = malformed
        self.first: Ints = np.cumsum(counts) - counts  # the index of each batch's first record
        self.of_record: Ints = np.repeat(np.arange(len(counts)), counts)
        self.bodies, self.stops = np.zeros((2, len(self.of_record)), np.int64)

    def walk(self) -> None:
        number = 0
        active: Ints = np.flatnonzero(self.counts)
        while len(active) >= MIN_BATCHES:
            active = self._step(active, number)
            number += 1
        for batch in active.tolist():
            self._walk_alone(batch, number)
        self.malformed |= self.at != self.ends

    def _step(self, active: Ints, number: int) -> Ints:
        length, body, bad = _varints(self.view, self.at[active], INT_BYTES)
        end = body + length
        bad |= (length < 0) | (end > self.ends[active])
        self.malformed[active[bad]] = True
        active, good = active[~bad], ~bad
        place = self.first[active] + number
        self.bodies[place], self.stops[place], self.at[active] = body[good], end[good], end[good]
        return active[self.counts[active] > number + 1]

    def _walk_alone(self, batch: int, number: int) -> None:
        at, last, first = int(self.at[batch]), int(self.ends[batch]), int(self.first[batch])
        for place in range(first + number, first + int(self.counts[batch])):
            raw = shift = 0
            byte = 0x80
            while byte >= 0x80 and at < last and shift < 7 * INT_BYTES:
                byte = self.data[at]
                raw |= (byte & 0x7F) << shift
                at, shift = at + 1, shift + 7
            end = at + (raw >> 1)
            if byte >= 0x80 or raw & 1 or raw >> 32 or end > last:
                self.malformed[batch] = True
                return
            self.bodies[place], self.stops[place], at = at, end, end
        self.at[batch] = at


def _varints(view: Bytes, at: Ints, longest: int) -> tuple[Ints, Ints, Flags]:
    """Decodes the variable-length integers that begin at the positions `at`.

    Returns three arrays: the integers, the positions after the integers, and flags. A flag is True
    for a malformed integer.
    """
    last = len(view) - 1
    byte = view[np.minimum(at, last)]
    raw = (byte & 0x7F).astype(np.uint64)
    end = at + 1
    bad = np.zeros(len(at), np.bool_)
    more = np.flatnonzero(byte & 0x80)
    for number in range(1, longest):
        if not len(more):
            break
        byte = view[np.minimum(end[more], last)]
        bits = (byte & 0x7F).astype(np.uint64)
        raw[more] |= bits << np.uint64(7 * number)
        end[more] += 1
        if number == longest - 1:
            bad[more[bits >> np.uint64(4 if longest == INT_BYTES else 1) > 0]] = True
        more = more[byte >= 0x80]
    bad[more] = True
    return (raw >> np.uint64(1)).astype(np.int64) ^ -(raw & np.uint64(1)).astype(np.int64), end, bad


# ---------------------------------------------------------------- record fields


def _fields(
    view: Bytes, batch: Ints, bodies: Ints, stops: Ints, last_deltas: Ints, malformed: Flags
) -> Records:
    timestamp, at, bad = _varints(view, bodies + 1, LONG_BYTES)
    offset, payload, odd = _varints(view, at, INT_BYTES)
    bad |= odd
    key_length, key, odd = _varints(view, payload, INT_BYTES)
    bad |= odd
    at = key + np.maximum(key_length, 0)
    bad |= at > stops
    value_length, value, odd = _varints(view, np.where(bad, bodies, at), INT_BYTES)
    bad |= odd
    at = value + np.maximum(value_length, 0)
    bad |= at > stops
    headers, at, odd = _varints(view, np.where(bad, bodies, at), INT_BYTES)
    bad |= odd | (headers < 0)
    _skip_headers(view, at, headers, stops, bad)
    bad |= at != stops
    follows = np.flatnonzero(batch[1:] == batch[:-1]) + 1
    bad |= (offset < 0) | (offset > last_deltas[batch])
    bad[follows] |= offset[follows] <= offset[follows - 1]
    malformed[batch[bad]] = True
    good = ~malformed[batch]
    return Records(
        malformed=malformed,
        batch=batch[good],
        offset_delta=offset[good],
        timestamp_delta_ms=timestamp[good],
        payload=payload[good],
        key=key[good],
        key_length=np.maximum(key_length[good], -1),
        value=value[good],
        value_length=np.maximum(value_length[good], -1),
        end=stops[good],
    )


def _skip_headers(view: Bytes, at: Ints, headers: Ints, stops: Ints, bad: Flags) -> None:
    left = np.where(bad, 0, headers)
    active: Ints = np.flatnonzero(left)
    while len(active):
        length, place, wrong = _varints(view, at[active], INT_BYTES)
        wrong |= length < 0
        place = np.where(wrong, 0, place + np.maximum(length, 0))
        length, place, odd = _varints(view, place, INT_BYTES)
        place = place + np.maximum(length, 0)
        wrong |= odd | (place > stops[active])
        bad[active[wrong]] = True
        at[active] = place
        left[active] -= 1
        active = active[~wrong & (left[active] > 0)]
