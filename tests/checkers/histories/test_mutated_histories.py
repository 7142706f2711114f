"""If a mutated history is divided at random into partitions, they contain together each row once
and in order.
"""

from __future__ import annotations

import random
from collections import Counter

from checkers.histories.io.operation_rows import SCHEMA, as_table
from tests.checkers.histories.mutated_histories import changed, partitioned

H = changed(1, steps=(400,))
ROWS = as_table(H).num_rows


def test_each_row_is_in_one_partition() -> None:
    table = as_table(H)
    for seed in range(20):
        partitions = partitioned(H, random.Random(seed), files=12).partitions
        read = [row for partition in partitions for row in partition.read(SCHEMA.names).to_pylist()]
        assert read == table.to_pylist()


def test_histories_have_one_or_many_partitions_and_often_many_small_ones() -> None:
    counts, near = Counter[int](), 0
    for seed in range(200):
        partitions = partitioned(H, random.Random(seed), files=12).partitions
        counts[len(partitions)] += 1
        inner = partitions[1:-1]
        near += len(inner) > 3 and sum(partition.rows for partition in inner) < ROWS // 4

    assert {1, 2, 5, 9} <= counts.keys()
    assert near > 10


def test_an_empty_history_has_no_partition() -> None:
    assert [partitioned((), random.Random(seed)).partitions for seed in range(9)] == [()] * 9
