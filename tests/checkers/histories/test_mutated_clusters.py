"""A split history has the same result, with one batch or many, split anywhere."""

from __future__ import annotations

import random
from collections import Counter

from checkers.histories.io.recorded import SCHEMA, as_table
from tests.checkers.histories.mutated_clusters import changed, cut

H = changed(1, steps=(400,))
ROWS = as_table(H).num_rows


def test_one_batch_has_the_whole_history() -> None:
    table = as_table(H)
    for seed in range(20):
        pieces = cut(H, random.Random(seed), files=12).partitions
        read = [row for batch in pieces for row in batch.read(SCHEMA.names).to_pylist()]
        assert read == table.to_pylist()


def test_splits_are_many_or_none_and_often_close_together() -> None:
    counts, near = Counter[int](), 0
    for seed in range(200):
        pieces = cut(H, random.Random(seed), files=12).partitions
        counts[len(pieces)] += 1
        inner = pieces[1:-1]
        near += len(inner) > 3 and sum(batch.rows for batch in inner) < ROWS // 4

    assert {1, 2, 5, 9} <= counts.keys()
    assert near > 10


def test_an_empty_history_can_be_split() -> None:
    assert [cut((), random.Random(seed)).partitions for seed in range(9)] == [()] * 9
