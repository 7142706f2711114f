"""A written Parquet part is read back unchanged; no row group splits an operation."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.histories.io import parquet_layout
from checkers.histories.io.operation_rows import SCHEMA, as_table
from checkers.histories.io.parquet_layout import FEW_TEXTS, write_part
from model.history_notation import history

SOME = as_table(history("p0 send a=x -> ok @0\np1 poll -> ok a=x@0\np2 send a=y -> info"))


def test_a_part_reads_back_as_written(tmp_path: Path) -> None:
    write_part(SOME, tmp_path / "part.parquet")
    assert pq.read_table(tmp_path / "part.parquet").cast(SCHEMA).equals(SOME)


def test_dictionary_columns_are_stored_as_strings(tmp_path: Path) -> None:
    coded = SOME
    for name in FEW_TEXTS:
        at = coded.schema.get_field_index(name)
        coded = coded.set_column(at, name, coded[name].dictionary_encode())
    write_part(coded, tmp_path / "part.parquet")
    assert pq.read_schema(tmp_path / "part.parquet").types == SCHEMA.types


@given(sizes=st.lists(st.integers(1, 9), max_size=20), at_most=st.integers(1, 12))
def test_no_operation_is_split_across_row_groups(sizes: list[int], at_most: int) -> None:
    table = pa.table({"op": [op for op, size in enumerate(sizes) for _ in range(size)]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_layout, "ROWS_PER_GROUP", at_most)
        groups = [group["op"].to_pylist() for group in parquet_layout._groups(table)]
    assert [op for group in groups for op in group] == table["op"].to_pylist()
    assert all(left[-1] < right[0] for left, right in pairwise(groups))
    for group in groups:
        assert len(group) <= at_most or len({*group}) == 1
    for left, right in pairwise(groups):
        assert len(left) + right.count(right[0]) > at_most  # each row group is as long as possible
