"""Occupied offsets are counted and found as in a Python set, even if they are far apart."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from checkers.histories.columnar.pairs import NO_PAIRS
from checkers.histories.facts.occupied_offsets import (
    KEY_WORDS,
    OccupiedOffsets,
    OffsetCounts,
    occupied_offsets,
)
from checkers.histories.facts.record_locations import shuffle_kernels
from checkers.histories.io.operation_rows import as_table
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.stage import Source
from model.history_notation import history
from properties.anomalies.declarations import NOTHING_DECLARED

OFFSETS = st.integers(-200, 200) | st.integers(-(2**60), 2**60)
NOBODY = np.zeros(0, dtype=np.int64)
ORDER = ("key", "offset", "value")


def words(text: str) -> pa.Table:
    records = shuffle_kernels(NOTHING_DECLARED)[Source.RECORD_LOCATIONS].run(
        Batch(as_table(history(text)))
    )
    return occupied_offsets(NOBODY, NO_PAIRS).kernel(
        Batch(records.sort_by([(name, "ascending") for name in ORDER]))
    )


def occupied(of_keys: dict[int, set[int]]) -> OffsetCounts:
    rows = [
        {"key": key, "word": offset >> 6, "bits": _signed(1 << (offset & 63)), "clean": True}
        for key, offsets in of_keys.items()
        for offset in offsets
    ]
    return OffsetCounts.of(pa.Table.from_pylist(rows, schema=KEY_WORDS))


def _signed(bits: int) -> int:
    return bits - 2**64 if bits >= 2**63 else bits


@given(
    of_keys=st.dictionaries(st.integers(-5, 5), st.sets(OFFSETS), max_size=4),
    key=st.integers(-6, 6),
    first=OFFSETS,
    end=OFFSETS,
)
def test_records_between_offsets_are_counted_and_the_next_record_is_found(
    of_keys: dict[int, set[int]], key: int, first: int, end: int
) -> None:
    log, offsets = occupied(of_keys), sorted(of_keys.get(key, ()))
    at = [np.array([number]) for number in (key, first, end)]
    between = bisect_left(offsets, end) - bisect_left(offsets, first)
    assert log.between(*at).tolist() == [max(0, between)]
    if offsets and first <= offsets[-1]:
        assert log.next_from(*at[:2]).tolist() == [offsets[bisect_left(offsets, first)]]


def test_an_offset_is_occupied_if_its_record_was_polled_or_its_send_took_effect() -> None:
    log = OffsetCounts.of(
        words("""
            p1  send k=a  -> ok @0
            p1  send k=b  -> info @1
            p1  send k=c  -> fail @2
            c1  poll      -> fail k=d@3
            c1  poll      -> ok k=e@? j=f@5
        """)
    )
    assert log.before[-1] == 3  # 0 and 3 of k, 5 of j


def test_offsets_that_only_read_uncommitted_showed_are_not_clean() -> None:
    log = OccupiedOffsets.of(
        words("""
            c1  poll{isolation=read_uncommitted}  -> ok k=a@0 k=b@1
            c2  poll                              -> ok k=a@0
        """)
    )
    assert (log.clean.before[-1], log.everything.before[-1]) == (1, 2)


def test_a_dense_log_takes_a_word_for_64_offsets() -> None:
    text = "\n".join(f"p1 send k=v{n} -> ok @{n}" for n in range(1000))
    assert words(text).num_rows == -(-1000 // 64)
