"""A piece travels with its rows, and without what was made of them."""

from __future__ import annotations

import pickle

import pyarrow as pa

from checkers.histories.pieces.piece import Piece


def test_a_piece_travels_without_its_views() -> None:
    piece = Piece(pa.table({"op": [1, 2]}), number=3, salt=4)
    piece.derived(("something large",), lambda it: [it.ints("op")] * 1000)
    again = pickle.loads(pickle.dumps(piece))
    assert again == piece
    assert (again.number, again.salt) == (3, 4)
    assert again._seen == {}
