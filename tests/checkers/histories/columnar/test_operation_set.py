"""A set of operations in bits is the set."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.columnar.operation_set import WORDS, Bitset, words

OPS = st.lists(st.integers(0, 200) | st.integers(2**40, 2**40 + 70), max_size=40)


@settings(deadline=None)
@given(pieces=st.lists(OPS, max_size=4), asked=OPS)
def test_the_union_of_what_pieces_tell(pieces: list[list[int]], asked: list[int]) -> None:
    told = [words(np.array(ops, dtype=np.int64)) for ops in pieces]
    united = Bitset.of(pa.concat_tables([WORDS.empty_table(), *told]))
    everything = {op for ops in pieces for op in ops}
    assert len(united) == len(everything)
    assert united.has(np.array(asked, dtype=np.int64)).tolist() == [
        op in everything for op in asked
    ]
