"""What is told of rows of places is what a loop over the rows tells."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from checkers.histories.columns.fingerprints import Ints
from checkers.histories.columns.order import begins
from checkers.histories.inquiries.places import ROW, any_of, by_key, first_of, heads, place_of
from checkers.histories.pieces.piece import Piece

PLACES = st.lists(st.tuples(*[st.integers(0, 2)] * 3, st.integers(0, 9), st.integers(0, 4)))


@given(rows=PLACES)
def test_rows_of_a_value_at_an_offset_are_one_place(rows: list[tuple[int, ...]]) -> None:
    rows.sort()
    cells = [dict(zip(ROW.names, row, strict=True)) for row in rows]
    piece = Piece(pa.Table.from_pylist(cells, schema=ROW))
    places = [[*group] for _, group in groupby(range(len(rows)), key=lambda n: rows[n][:3])]
    assert heads(piece).tolist() == [place[0] for place in places]
    of_row = [number for number, place in enumerate(places) for _ in place]
    assert place_of(piece).tolist() == of_row


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.booleans())))
def test_a_run_is_flagged_if_one_of_its_rows_is(rows: list[tuple[int, bool]]) -> None:
    keys = np.array([key for key, _ in rows], dtype=np.int64)
    flags = np.array([flag for _, flag in rows], dtype=np.bool_)
    runs = [any(flag for _, flag in run) for _, run in groupby(rows, key=lambda row: row[0])]
    starts = begins(keys)
    assert any_of(flags, starts).tolist() == runs
    first = [next(n for n in range(at, len(rows)) if flags[n]) for at in starts[runs].tolist()]
    assert first_of(flags, starts[runs]).tolist() == first


@given(keys=st.lists(st.integers(0, 3)))
def test_what_is_known_of_keys_is_known_of_each_row(keys: list[int]) -> None:
    asked: list[int] = []

    def square(some: Ints) -> Ints:
        asked.extend(some.tolist())
        return some * some

    told = by_key(np.array(keys, dtype=np.int64), square)
    assert told.tolist() == [key * key for key in keys]
    assert asked == [key for key, _ in groupby(keys)]
