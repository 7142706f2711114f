"""A bitset behaves as a Python set of numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.columnar.bitset import (
    COUNTED,
    WORDS,
    Bitset,
    combined_counts,
    counted,
    packed,
)

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
@given(batches=st.lists(OPS, max_size=4), parts=st.integers(0, 4))
def test_numbers_are_counted_as_once_or_more_often(batches: list[list[int]], parts: int) -> None:
    """The counts of some batches may be combined before those of the others."""
    counts = [counted(np.array(ops, dtype=np.int64)) for ops in batches]
    early = combined_counts(pa.concat_tables([COUNTED.empty_table(), *counts[:parts]]))
    found = combined_counts(pa.concat_tables([early, *counts[parts:]]))
    expected = Counter(op for ops in batches for op in ops)
    everything = np.array([*expected], dtype=np.int64)
    for name, least in (("once", 1), ("twice", 2)):
        some = Bitset.of(found, name)
        assert some.has(everything).tolist() == [expected[op] >= least for op in everything]
        assert len(some) == sum(n >= least for n in expected.values())
    assert len(set(found["word"].to_pylist())) == found.num_rows
