"""Each partition of a history has whole operations in order, and every row is in one partition.

This does not depend on how the rows are stored.
"""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.analysis import partitioned
from checkers.histories.io.operation_rows import SCHEMA, as_table
from checkers.histories.io.partitions import (
    HistoryPartition,
    TableRows,
    partition_size,
    partitions_of,
    reads_per_row,
    row_groups,
    sorted_by_operation,
)
from model.history_notation import history


def recorded(operations: int, rng: random.Random) -> pa.Table:
    lines = [
        f"p{n % 3} txn " + " ".join(f"k=v{n}.{m}" for m in range(rng.randrange(1, 5))) + " -> ok"
        for n in range(operations)
    ]
    return as_table(history("\n".join(lines)))


def assert_whole(partitions: tuple[HistoryPartition, ...], table: pa.Table) -> None:
    read = [partition.read(SCHEMA.names).cast(SCHEMA) for partition in partitions]
    assert pa.concat_tables([SCHEMA.empty_table(), *read]).equals(table)
    for partition, rows in zip(partitions, read, strict=True):
        ops = rows["op"].to_pylist()
        assert all(partition.first_op <= op <= partition.last_op for op in ops)
    for earlier, later in pairwise(partitions):
        assert earlier.last_op < later.first_op


@settings(deadline=None)
@given(
    seed=st.integers(0, 999),
    operations=st.integers(0, 20),
    tables=st.integers(1, 5),
    size=st.integers(1, 30),
    mixed=st.booleans(),
)
def test_partitions_contain_the_history(
    seed: int, operations: int, tables: int, size: int, *, mixed: bool
) -> None:
    rng = random.Random(seed)
    table = recorded(operations, rng)
    rows = list(range(table.num_rows))
    if mixed:
        rng.shuffle(rows)
        parts = [rows[n::tables] for n in range(tables)]
    else:
        at = sorted(rng.randrange(len(rows) + 1) for _ in range(tables - 1))
        parts = [rows[a:b] for a, b in zip([0, *at], [*at, len(rows)], strict=True)]
        rng.shuffle(parts)
    row_ranges = [TableRows(table.take(pa.array(part, pa.int64()))) for part in parts]
    assert_whole(partitions_of(row_ranges, size), table)


def test_a_history_in_order_is_read_about_once() -> None:
    table = recorded(400, random.Random(0))
    row_ranges = [TableRows(table.slice(n, 50)) for n in range(0, table.num_rows, 50)]
    partitions = partitions_of(row_ranges, 200)
    assert len(partitions) > 3
    assert reads_per_row(partitions, row_ranges) < 1.4


def test_row_groups_have_operation_numbers_with_and_without_statistics(tmp_path: Path) -> None:
    table = recorded(30, random.Random(1))
    for name, statistics in (("with", True), ("without", False)):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(table, path, row_group_size=11, write_statistics=statistics)
        groups = list(row_groups(path))
        assert [(g.first_op, g.last_op, g.rows) for g in groups] == [
            (rows["op"][0].as_py(), rows["op"][-1].as_py(), rows.num_rows)
            for first in range(0, table.num_rows, 11)
            for rows in [table.slice(first, 11)]
        ]
        assert_whole(partitions_of(groups, 25), table)


def test_an_unordered_history_is_sorted_once(tmp_path: Path) -> None:
    rng = random.Random(2)
    table = recorded(300, rng)
    rows = list(range(table.num_rows))
    rng.shuffle(rows)
    path = tmp_path / "h.parquet"
    pq.write_table(table.take(pa.array(rows)), path, row_group_size=40)
    groups = list(row_groups(path))
    assert reads_per_row(partitions_of(groups, 40), groups) > 5
    assert_whole(partitioned(path, tmp_path / "scratch", 40), table)
    ordered = sorted_by_operation(groups, tmp_path / "ordered", 100)
    assert len(ordered) == -(-table.num_rows // 100)
    again = [group for part in ordered for group in row_groups(part)]
    assert_whole(partitions_of(again, 40), table)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(0, 1 << 18), (1 << 20, 1 << 18), (2_000_000, 500_000), (10**8, 1_000_000)],
)
def test_a_small_history_has_four_partitions_if_they_are_large_enough(
    rows: int, expected: int
) -> None:
    assert partition_size(rows) == expected
