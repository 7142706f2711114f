"""What was unpacked once is what is read again: from memory, from files, or from the piece."""

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
class Watched:
    """A piece that tells which columns were read of it."""

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
def test_a_column_is_read_once_if_there_is_a_place_for_it(
    tmp_path: Path, room: int, on_disk: bool
) -> None:
    watched = Watched(TABLE)
    batch = CachedPartition(watched, 7, ColumnCache(tmp_path if on_disk else None, room))
    for names in (["op"], ["key", "op"], [*TABLE.schema.names], ["value"]):
        table = batch.read(names)
        assert table.schema.names == names
        assert table.to_pydict() == TABLE.select(names).to_pydict()
    once = sorted(watched.read_columns) == sorted(TABLE.schema.names)
    assert once == (on_disk or room > 1_000)


def test_few_texts_have_narrow_numbers(tmp_path: Path) -> None:
    batch = CachedPartition(Watched(TABLE), 0, ColumnCache(tmp_path, 0))
    for _ in range(2):
        types = batch.read(["key", "outcome"]).schema.types
        assert [str(it.index_type) for it in types] == ["int16", "int8"]


@pytest.mark.parametrize("room", [0, 1 << 20])
@pytest.mark.parametrize("numbers", [[*range(5)], [2**62, -(2**63)], [0, 0], []])
def test_what_was_made_of_a_piece_is_not_made_again(
    tmp_path: Path, numbers: list[int], room: int
) -> None:
    made: list[str] = []

    def make() -> Ints:
        made.append("made")
        return np.array(numbers, dtype=np.int64)

    shelf = ColumnCache(tmp_path, room)
    for number in (1, 1, 2):
        kept = CachedPartition(Watched(TABLE), number, shelf).cached_ints("five", make)
        assert (kept.itemsize, kept.tolist()) == (8, numbers)
    assert len(made) == 2


@pytest.mark.parametrize("ours", [False, True])
def test_a_half_written_column_is_none(tmp_path: Path, ours: bool) -> None:
    (tmp_path / f"0-op of {os.getpid() if ours else 77}").write_bytes(b"half")
    batch = CachedPartition(Watched(TABLE), 0, ColumnCache(tmp_path, 0))
    for _ in range(2):
        assert batch.read(["op"])["op"].to_pylist() == list(range(400))


def of_ops(*ops: int, column: str = "op", looks: list[list[int]]) -> Kernel:
    """A kernel that needs these operations, and tells of which it was shown a piece."""

    def run(batch: Batch) -> pa.Table:
        looks.append(batch.table["op"].to_pylist())
        return batch.where(np.isin(batch.ints("op"), ops)).table.select([column])

    schema = pa.schema([TABLE.schema.field(column)])
    return Kernel("some", ("op", column), schema, run, ops=np.array(ops))


def test_who_needs_some_operations_is_shown_what_lies_near_them() -> None:
    stretches = [TableRows(TABLE.slice(at, 50)) for at in range(0, 400, 50)]
    history = LocalDataset(partitions_of(stretches, 200))
    looks: list[list[int]] = []
    (told,) = history.collect([of_ops(5, 99, 300, looks=looks)])
    assert told["op"].to_pylist() == [5, 99, 300]
    assert looks == [[*range(100)], [*range(300, 350)]]
    assert history.collect([of_ops(400, 1_000, looks=looks)])[0].num_rows == 0
    assert len(looks) == 2


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("ops", [(5, 300), (5, 60, 110, 160)])
def test_nothing_is_unpacked_again_for_many_operations(on_disk: bool, ops: tuple[int, ...]) -> None:
    stretches = [TableRows(TABLE.slice(at, 50)) for at in range(0, 400, 50)]
    looks: list[list[int]] = []
    with LocalDataset(partitions_of(stretches, 200)).cached(on_disk=on_disk) as history:
        (told,) = history.collect([of_ops(*ops, column="value", looks=looks)])
    assert told["value"].to_pylist() == [str(op - 1) for op in ops]
    assert [*map(len, looks)] == ([200] if len(ops) == 4 else [200, 200] if on_disk else [50, 50])


def test_who_needs_some_operations_looks_at_all_if_others_read_them_all() -> None:
    looks: list[list[int]] = []
    everything = Kernel("all", ("op",), pa.schema([("op", pa.int64())]), lambda it: it.table)
    history = LocalDataset(
        partitions_of([TableRows(TABLE.slice(at, 50)) for at in range(0, 400, 50)], 200)
    )
    some, whole = history.collect([of_ops(7, looks=looks), everything])
    assert (some["op"].to_pylist(), whole.num_rows) == ([7], 400)
    assert [*map(len, looks)] == [200]
