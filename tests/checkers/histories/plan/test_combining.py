"""Each task merges the rows of its partitions. The result is the same as without this merge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from checkers.histories.columnar.bitset import COUNTED, combined_counts, counted
from checkers.histories.plan.combining import Combined, combined_tables, combiners
from checkers.histories.plan.in_process import LocalDataset
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.partition import InMemory
from checkers.spark.dataset import SparkDataset
from checkers.spark.session import session

COUNTS = Kernel(
    "counts", ("op",), COUNTED, lambda it: counted(it.ints("op")), combine=combined_counts
)
OPS = Kernel("ops", ("op",), pa.schema([("op", pa.int64())]), lambda it: it.table.select(["op"]))
PARTITIONS = tuple(InMemory(pa.table({"op": np.arange(n, n + 200)})) for n in range(0, 6_400, 64))


@given(st.lists(st.lists(st.integers(0, 500), max_size=30), min_size=1, max_size=20))
def test_the_merged_rows_are_those_of_all_numbers(batches: list[list[int]]) -> None:
    ((_, found),) = merged(batches, few=5)
    everything = np.array([op for ops in batches for op in ops], dtype=np.int64)
    assert found == counted(everything)


def merged(batches: list[list[int]], few: int) -> list[tuple[int, pa.Table]]:
    some = combiners([None, combined_counts, combined_counts])
    assert [*some] == [1, 2]
    some[1].few = few
    for ops in batches:
        some[1].add(counted(np.array(ops, dtype=np.int64)))
    return [*combined_tables(some)]  # the third function got no table


def test_rows_are_merged_while_they_arrive() -> None:
    some = Combined(combined_counts, few=10)
    held = []
    for first in range(0, 6_400, 64):
        some.add(counted(np.arange(first % 640, first % 640 + 64)))  # one of ten words
        held.append(some.rows)
    assert max(held) <= 20
    assert held[-1] < len(held)


def test_each_spark_task_returns_one_merged_table() -> None:
    kernels = [COUNTS, OPS]
    with session() as spark:
        found, ops = SparkDataset(spark, PARTITIONS).collect(kernels)
    single, all_ops = LocalDataset(PARTITIONS).collect(kernels)
    (apart, _) = LocalDataset(PARTITIONS).collect([replace(COUNTS, combine=None), OPS])
    assert combined_counts(found) == single == combined_counts(apart)
    assert ops == all_ops
    assert single.num_rows <= found.num_rows < apart.num_rows
