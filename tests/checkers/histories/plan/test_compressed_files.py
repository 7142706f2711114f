"""Temporary files are compressed where the disk has little room; the rows stay the same."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from checkers.histories.plan.column_cache import ColumnCache
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.shuffle import SHUFFLE_KEY
from checkers.histories.plan.spill import (
    BYTES_OF_ROW,
    OnDisk,
    codec_for,
    spill,
    spill_whole,
    spilled_whole,
)
from checkers.spark.tasks import merge_files

SCHEMA = pa.schema([(SHUFFLE_KEY, pa.int64()), ("n", pa.int64())])
BY_N = Kernel("split", (), SCHEMA, lambda it: it.table, order=("n",))


class Usage(NamedTuple):
    free: int


def test_files_are_compressed_if_they_might_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(free=1_000 * BYTES_OF_ROW))
    assert codec_for(1_000, tmp_path) is None
    assert codec_for(1_001, tmp_path) == "lz4"


def test_a_compressed_file_is_smaller_and_has_the_same_rows(tmp_path: Path) -> None:
    table = pa.table({"n": np.arange(100_000) // 1_000, "value": ["a"] * 100_000})
    plain = spill(table, tmp_path / "plain")
    small = spill(table, tmp_path / "small", "lz4")
    assert small.read(["n", "value"]) == plain.read(["n", "value"]) == table
    assert 3 * small.size < plain.size


def test_a_cached_column_in_a_compressed_file_is_the_same(tmp_path: Path) -> None:
    cache = ColumnCache(tmp_path, room=0, codec="lz4")
    column = pa.chunked_array([np.arange(100_000) // 1_000])
    assert cache.keep("0-n", column).cast(pa.int64()) == column
    assert (tmp_path / "0-n").stat().st_size < 100_000 / 3
    again = cache.column("0-n")
    assert again is not None
    assert again.cast(pa.int64()) == column


def test_a_file_has_its_name_only_when_it_is_complete(tmp_path: Path) -> None:
    table = pa.table({"n": [1, 2]})
    (tmp_path / f"whole of {os.getpid()}").write_text("remains of an interrupted attempt")
    whole = spill_whole(table, tmp_path / "whole", "lz4")
    assert [file.name for file in tmp_path.iterdir()] == ["whole"]
    assert whole == spilled_whole(tmp_path / "whole")
    assert whole.read(["n"]) == table


def merged(parts: list[OnDisk], folder: Path) -> list[OnDisk]:
    """Runs the merging task for shuffle partition 0, and returns the files with the rows of this
    partition.
    """
    numbered = [[(0, part) for part in parts]]
    rows: Iterable[pa.RecordBatch] = merge_files(
        [BY_N], numbered, folder, None, [pa.record_batch({"target": [0]})]
    )
    return [pickle.loads(row["cell"]) for batch in rows for row in batch.to_pylist()]


def test_merged_files_are_removed_and_a_repeated_task_keeps_its_result(tmp_path: Path) -> None:
    in_transit = tmp_path / "in transit"
    in_transit.mkdir()
    parts = [
        spill(pa.table({"n": ns}), in_transit / name)
        for ns, name in (([5, 1], "one"), ([4], "one"), ([2], "other"))
    ]
    (first,) = merged(parts, tmp_path)
    assert first.read(["n"])["n"].to_pylist() == [1, 2, 4, 5]
    assert not [*in_transit.iterdir()]
    assert merged(parts, tmp_path) == [first]  # though its parts are gone


def test_a_partition_without_rows_has_no_file(tmp_path: Path) -> None:
    assert merged([], tmp_path) == []
    assert not [*tmp_path.iterdir()]
