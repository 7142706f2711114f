"""A bitset behaves as a Python set of numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.columnar.bitset import WORDS, Bitset, packed, repeated

OPS = st.lists(st.integers(0, 200) | st.integers(2**40, 2**40 + 70), max_size=40)


@settings(deadline=None)
@given(batches=st.lists(OPS, max_size=4), wanted=OPS)
def test_the_union_of_packed_words_is_the_union_of_the_sets(
    batches: list[list[int]], wanted: list[int]
) -> None:
    words = [packed(np.array(ops, dtype=np.int64)) for ops in batches]
    united = Bitset.of(pa.concat_tables([WORDS.empty_table(), *words]))
    everything = {op for ops in batches for op in ops}
    assert len(united) == len(everything)
    assert united.has(np.array(wanted, dtype=np.int64)).tolist() == [
        op in everything for op in wanted
    ]


@settings(deadline=None)
@given(batches=st.lists(OPS, max_size=4))
def test_repeated_numbers_are_in_several_of_the_sets(batches: list[list[int]]) -> None:
    words = [packed(np.array(ops, dtype=np.int64)) for ops in batches]
    several = Bitset.of(repeated(pa.concat_tables([WORDS.empty_table(), *words])))
    everything = sorted({op for ops in batches for op in ops})
    assert several.has(np.array(everything, dtype=np.int64)).tolist() == [
        sum(op in ops for ops in batches) > 1 for op in everything
    ]
