"""Tasks of a local master read their arrays from one mapped file, and return large tables as files.

The results are those of the same kernels in this process.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.histories.plan.batch import Batch
from checkers.histories.plan.in_process import LocalDataset
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.partition import InMemory
from checkers.histories.plan.spill import Codec, OnDisk, mapped_file
from checkers.spark import dataset
from checkers.spark.cells import COST, IN_FILE, table_of
from checkers.spark.dataset import SparkDataset
from checkers.spark.session import session
from checkers.spark.shared_files import shared
from checkers.spark.tasks import LARGE, process

ROWS = 3 * LARGE // 8  # a column of them is three times as large as a table that needs no file
TABLE = pa.table({"op": np.arange(ROWS), "process": np.zeros(ROWS, np.int64)})
SCHEMA = pa.schema([("op", pa.int64()), ("n", pa.int64())])

arrays = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9).map(
    lambda numbers: np.array(numbers, np.int64)
)


# workers cannot import this file: a lambda is pickled with the globals that it needs
SQUARES_OF = np.arange(1_000) ** 2
SQUARES = Kernel(
    "squares",
    ("op",),
    SCHEMA,
    lambda it: pa.table({"op": it.ints("op"), "n": SQUARES_OF[it.ints("op") % len(SQUARES_OF)]}),
)
FEW = Kernel("few", ("op",), SCHEMA, lambda it: SQUARES(it).slice(0, 3))


class Usage(NamedTuple):
    free: int


def bytes_of(row: dict[str, Any]) -> bytes:
    """Returns the bytes of one result. Several results share a file."""
    spilled: OnDisk = pickle.loads(row["cell"])
    return Path(spilled.path).read_bytes()[spilled.at :][: spilled.size]


def has_written_to(array: Any) -> bool:
    array[0] = 1
    return True


@given(st.lists(st.one_of(arrays, st.text(), arrays.map(lambda it: pa.table({"n": it})))))
def test_an_object_is_loaded_as_it_was(values: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        loaded = shared(values, Path(folder) / "task").load()
        assert [type(one) for one in loaded] == [type(one) for one in values]
        for one, before in zip(loaded, values, strict=True):
            assert one.tolist() == before.tolist() if isinstance(one, np.ndarray) else one == before


def test_an_array_of_the_file_is_read_only(tmp_path: Path) -> None:
    loaded = shared(np.arange(3), tmp_path / "task").load()
    with pytest.raises(ValueError, match="read-only"):
        has_written_to(loaded)
    assert loaded.tolist() == [0, 1, 2]


def processed(kernels: list[Kernel], folder: Path, codec: Codec) -> list[dict[str, Any]]:
    """Runs a task on one partition. Returns its rows that contain tables: one row for each
    kernel.
    """
    batches = [pa.record_batch({"id": [0]})]
    cells = process([(0, InMemory(TABLE))], kernels, 0, None, folder, codec, batches)
    return [row for batch in cells for row in batch.to_pylist() if row["kernel"] != COST]


def test_a_large_table_goes_through_a_file_and_a_small_one_does_not(tmp_path: Path) -> None:
    rows = processed([SQUARES, FEW], tmp_path, None)
    assert [row["target"] == IN_FILE for row in rows] == [True, False]
    assert len(rows[0]["cell"]) < 1_000
    assert [table_of(row) for row in rows] == [kernel(Batch(TABLE)) for kernel in (SQUARES, FEW)]


def test_a_compressed_result_is_smaller_and_has_the_same_rows(tmp_path: Path) -> None:
    ((plain,), (small,)) = (processed([SQUARES], tmp_path, codec) for codec in (None, "lz4"))
    assert 3 * len(bytes_of(small)) < 2 * len(bytes_of(plain))
    assert table_of(small) == table_of(plain) == SQUARES(Batch(TABLE))


@pytest.mark.parametrize("free", [0, 2**60])
def test_spark_and_this_process_collect_the_same_tables(
    free: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    maps: list[str] = []
    sizes: list[int] = []

    def mapped(path: str) -> pa.Buffer:
        maps.append(path)
        sizes.append(Path(path).stat().st_size)
        return mapped_file(path)

    monkeypatch.setattr(dataset, "mapped_file", mapped)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(free))
    partitions = tuple(InMemory(TABLE) for _ in range(40))
    with session() as spark:
        found = SparkDataset(spark, partitions).collect([SQUARES, FEW])
    assert 0 < len(maps) < len(partitions)  # a file has tables of several partitions
    assert len(maps) == len(set(maps))
    is_compressed = 3 * sum(sizes) < 2 * len(partitions) * SQUARES(Batch(TABLE)).nbytes
    assert is_compressed == (free == 0)  # so that they fit on the disk
    assert found == LocalDataset(partitions).collect([SQUARES, FEW])
