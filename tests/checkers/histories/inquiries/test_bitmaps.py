"""Offsets of owners in bits are sets of offsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.inquiries.bitmaps import WORDS, Bitmaps, count, offsets, without, words

OFFSET = st.integers(0, 200) | st.integers(2**40, 2**40 + 3)
ROW = st.tuples(st.integers(-1, 1), st.integers(-1, 1), OFFSET)
ROWS = st.lists(ROW, max_size=30)


def columns(rows: list[tuple[int, int, int]]) -> list[Any]:
    return [np.array([row[n] for row in rows], dtype=np.int64) for n in range(3)]


def of_pieces(pieces: list[list[tuple[int, int, int]]]) -> Bitmaps:
    told = []
    for piece, rows in enumerate(pieces):
        owner, key, offset = columns(rows)
        told.append(words(owner, key, offset, piece))
    return Bitmaps.of(pa.concat_tables([WORDS.empty_table(), *told]))


def rows_of(made: Bitmaps, *, again: bool = False) -> set[tuple[int, int, int]]:
    row, offset = offsets(made.word, made.again if again else made.bits)
    told = (made.owner[row].tolist(), made.key[row].tolist(), offset.tolist())
    return set(zip(*told, strict=True))


@settings(deadline=None)
@given(pieces=st.lists(ROWS, max_size=4), asked=ROWS)
def test_what_pieces_show_joined(
    pieces: list[list[tuple[int, int, int]]], asked: list[tuple[int, int, int]]
) -> None:
    made = of_pieces(pieces)
    everything = [row for rows in pieces for row in rows]
    twice = {row for row in everything if everything.count(row) > 1}
    assert rows_of(made) == set(everything)
    assert rows_of(made, again=True) == twice
    assert count(made.bits) == len(set(everything))
    assert made.has(*columns(asked)).tolist() == [row in everything for row in asked]
    for owner in (-1, 0, 1):
        repeats = [
            number
            for number, rows in enumerate(pieces)
            for at, row in enumerate(rows)
            if row[0] == owner
            if row in rows[:at] or any(row in earlier for earlier in pieces[:number])
        ]
        firsts = made.repeated_in[(made.owner == owner) & (made.repeated_in >= 0)]
        assert firsts.min(initial=99) == min(repeats, default=99)


@settings(deadline=None)
@given(rows=ROWS, places=ROWS)
def test_without_places(
    rows: list[tuple[int, int, int]], places: list[tuple[int, int, int]]
) -> None:
    _, key, offset = columns(places)
    gone = {place[1:] for place in places}
    owners, keys, all_offsets = columns(rows)
    left = Bitmaps.of(without(words(owners, keys, all_offsets, 0), key, offset))
    assert rows_of(left) == {row for row in rows if row[1:] not in gone}


@settings(deadline=None)
@given(rows=ROWS, owner=st.integers(-1, 1), key=st.integers(-1, 1), low=OFFSET, high=OFFSET)
def test_what_lies_between_two_offsets(
    rows: list[tuple[int, int, int]], owner: int, key: int, low: int, high: int
) -> None:
    made = of_pieces([rows])
    asked = (np.array([number]) for number in (owner, key, low, high))
    _, row, bits = made.within(*asked)
    _, found = offsets(made.word[row], bits)
    wanted = {row[2] for row in rows if row[:2] == (owner, key) and low <= row[2] < high}
    assert sorted(found.tolist()) == sorted(wanted)
