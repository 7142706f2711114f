"""A piece travels with its rows, and without what was made of them."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from checkers.histories.pieces.piece import Piece


def test_a_piece_travels_without_its_views() -> None:
    piece = Piece(pa.table({"op": [1, 2]}), number=3, salt=4)
    piece.derived(("something large",), lambda it: [it.ints("op")] * 1000)
    again = pickle.loads(pickle.dumps(piece))
    assert again == piece
    assert (again.number, again.salt) == (3, 4)
    assert again._seen == {}


def test_of_a_piece_of_which_nothing_is_wanted_nothing_is_held() -> None:
    keys = pa.array(["a", "b"] * 500).dictionary_encode()
    piece = Piece(pa.table({"op": range(1000), "key": keys}), number=0, salt=0)
    nothing = piece.where(np.zeros(1000, dtype=np.bool_))
    assert nothing.table.schema == piece.table.schema
    assert nothing.table.get_total_buffer_size() < 100 < piece.table.get_total_buffer_size()


@given(st.lists(st.integers(0, 20)).map(sorted), st.sets(st.integers(-2, 22)).map(sorted))
def test_rows_of_operations_are_found_where_they_begin(ops: list[int], wanted: list[int]) -> None:
    rows = Piece(pa.table({"op": pa.array(ops, pa.int64())})).rows_of(np.array(wanted, np.int64))
    assert rows.tolist() == [row for row, op in enumerate(ops) if op in wanted]
