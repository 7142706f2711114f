"""A cached column is read from memory, from a file, or again from the history's partition."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.io.partitions import TableRows, partitions_of
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.column_cache import CachedPartition, ColumnCache
from checkers.histories.plan.in_process import LocalDataset
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.partition import Partition

TEXTS = [f"key {number}" for number in range(200)]
TABLE = pa.table(
    {
        "op": pa.array(range(400), pa.int64()),
        "position": pa.array([0] * 400, pa.int64()),
        "key": pa.array([*TEXTS, *TEXTS[::-1]]).dictionary_encode(),
        "outcome": pa.array(["ok", None] * 200).dictionary_encode(),
        "value": [None, *map(str, range(399))],
    }
)


@dataclass(slots=True)
class Recorded:
    table: pa.Table
    read_columns: list[str] = field(default_factory=list[str])

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    def may_contain(self, ops: object) -> bool:
        raise NotImplementedError

    def containing(self, ops: object) -> Partition:
        raise NotImplementedError

    def read(self, columns: object) -> pa.Table:
        assert isinstance(columns, list)
        self.read_columns += columns
        return self.table.select(columns)


@pytest.mark.parametrize("room", [0, 1_000, 1 << 20])
@pytest.mark.parametrize("on_disk", [False, True])
def test_a_column_is_read_once_if_there_is_room_for_it(
    tmp_path: Path, room: int, on_disk: bool
) -> None:
    recorded = Recorded(TABLE)
    batch = CachedPartition(recorded, 7, ColumnCache(tmp_path if on_disk else None, room))
    for names in (["op"], ["key", "op"], [*TABLE.schema.names], ["value"]):
        table = batch.read(names)
        assert table.schema.names == names
        assert table.to_pydict() == TABLE.select(names).to_pydict()
    once = sorted(recorded.read_columns) == sorted(TABLE.schema.names)
    assert once == (on_disk or room > 1_000)


def test_dictionary_codes_are_stored_narrow(tmp_path: Path) -> None:
    batch = CachedPartition(Recorded(TABLE), 0, ColumnCache(tmp_path, 0))
    for _ in range(2):
        types = batch.read(["key", "outcome"]).schema.types
        assert [str(it.index_type) for it in types] == ["int16", "int8"]


@pytest.mark.parametrize("room", [0, 1 << 20])
@pytest.mark.parametrize("numbers", [[*range(5)], [2**62, -(2**63)], [0, 0], []])
def test_a_derived_column_is_computed_once(tmp_path: Path, numbers: list[int], room: int) -> None:
    computed: list[str] = []

    def compute() -> Ints:
        computed.append("five")
        return np.array(numbers, dtype=np.int64)

    cache = ColumnCache(tmp_path, room)
    for number in (1, 1, 2):
        kept = CachedPartition(Recorded(TABLE), number, cache).cached_ints("five", compute)
        assert (kept.itemsize, kept.tolist()) == (8, numbers)
    assert len(computed) == 2


@pytest.mark.parametrize("ours", [False, True])
def test_an_incomplete_file_is_ignored(tmp_path: Path, ours: bool) -> None:
    (tmp_path / f"0-op of {os.getpid() if ours else 77}").write_bytes(b"half")
    batch = CachedPartition(Recorded(TABLE), 0, ColumnCache(tmp_path, 0))
    for _ in range(2):
        assert batch.read(["op"])["op"].to_pylist() == list(range(400))


def of_ops(*ops: int, column: str = "op", batches: list[list[int]]) -> Kernel:
    def run(batch: Batch) -> pa.Table:
        batches.append(batch.table["op"].to_pylist())
        return batch.where(np.isin(batch.ints("op"), ops)).table.select([column])

    schema = pa.schema([TABLE.schema.field(column)])
    return Kernel("some", ("op", column), schema, run, ops=np.array(ops))


def test_a_kernel_that_needs_some_operations_gets_the_row_ranges_near_them() -> None:
    row_ranges = [TableRows(TABLE.slice(at, 50)) for at in range(0, 400, 50)]
    history = LocalDataset(partitions_of(row_ranges, 200))
    batches: list[list[int]] = []
    (table,) = history.collect([of_ops(5, 99, 300, batches=batches)])
    assert table["op"].to_pylist() == [5, 99, 300]
    assert batches == [[*range(100)], [*range(300, 350)]]
    assert history.collect([of_ops(400, 1_000, batches=batches)])[0].num_rows == 0
    assert len(batches) == 2


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("ops", [(5, 300), (5, 60, 110, 160)])
def test_columns_are_read_whole_if_many_operations_are_needed(
    on_disk: bool, ops: tuple[int, ...]
) -> None:
    row_ranges = [TableRows(TABLE.slice(at, 50)) for at in range(0, 400, 50)]
    batches: list[list[int]] = []
    with LocalDataset(partitions_of(row_ranges, 200)).cached(on_disk=on_disk) as history:
        (table,) = history.collect([of_ops(*ops, column="value", batches=batches)])
    assert table["value"].to_pylist() == [str(op - 1) for op in ops]
    assert [*map(len, batches)] == ([200] if len(ops) == 4 else [200, 200] if on_disk else [50, 50])


def test_a_kernel_that_needs_some_operations_gets_all_rows_that_others_read() -> None:
    batches: list[list[int]] = []
    everything = Kernel("all", ("op",), pa.schema([("op", pa.int64())]), lambda it: it.table)
    history = LocalDataset(
        partitions_of([TableRows(TABLE.slice(at, 50)) for at in range(0, 400, 50)], 200)
    )
    some, whole = history.collect([of_ops(7, batches=batches), everything])
    assert (some["op"].to_pylist(), whole.num_rows) == ([7], 400)
    assert [*map(len, batches)] == [200]
