"""The reader leaves out the rows that equality deletes remove. A literal definition and Spark
agree.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from pyiceberg.table import Table

from checkers.histories.io import iceberg
from checkers.histories.io.converting import convert
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.reading import parquet_parts, whole
from checkers.histories.io.unreadable import UnreadableHistory
from model.history_notation import history
from tests.checkers.histories.io import described_tables as described
from tests.checkers.histories.io.iceberg_tables import (
    Tables,
    delete_rows,
    delete_values,
    folder_of,
    iceberg_tables,
)

READ_BY_SPARK = Path(__file__).parents[3] / "data" / "iceberg" / "read-by-spark.ndjson"
TABLE = as_table(
    history("""
        p1 send k=a -> ok @0
        p1 send k=b -> ok @1
        p2 poll     -> ok k=a@0 k=b@1
    """)
)
OP, KEY, OFFSET = (TABLE.column_names.index(it) + 1 for it in ("op", "key", "offset"))  # ids


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with iceberg_tables(tmp_path) as tables:
        yield Tables(tables.catalog).create("t", TABLE)


def ops(metadata: Path) -> list[int]:
    files = iceberg.files_of(metadata)
    assert files.reader is not None
    return sorted(
        op for file in files.files for part in files.reader(file) for op in part["op"].to_pylist()
    )


def values(**columns: list[Any]) -> pa.Table:
    """Returns rows of equality deletes; each column has the type and the id that TABLE gives it."""
    fields = [
        pa.field(
            name,
            TABLE.schema.field(name).type,
            metadata={"PARQUET:field_id": str(TABLE.column_names.index(name) + 1)},
        )
        for name in columns
    ]
    return pa.table(columns, pa.schema(fields))


# ---------------------------------------------------------------- agreement


@given(described.tables())
@settings(max_examples=100)
def test_random_tables_have_the_rows_of_the_literal_definition(table: described.Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert ops(described.written(table, Path(folder) / "t")) == described.remaining(table)


def test_spark_reads_the_same_rows(tmp_path: Path) -> None:
    lines = READ_BY_SPARK.read_text().splitlines()
    assert len(lines) == 40
    for number, line in enumerate(lines):
        read = json.loads(line)
        table = described.from_json(read["files"])
        assert described.remaining(table) == read["remaining"]
        assert ops(described.written(table, tmp_path / str(number))) == read["remaining"]


def test_a_value_that_was_deleted_twice_counts_until_the_later_time(tmp_path: Path) -> None:
    ids = (described.OP, described.KEY, described.OFFSET)
    row = described.File(0, 2, 0, None, ids, ((0, "a", 0), (1, "b", 0)))
    earlier, later = (
        described.File(2, sequence, 0, None, (described.KEY,), (("a",),)) for sequence in (1, 3)
    )
    assert ops(described.written((row, earlier, later), tmp_path / "t")) == [1]


def test_values_of_a_partition_are_compared_with_deleted_values(tmp_path: Path) -> None:
    rows = described.File(0, 2, 1, "a", (described.OP, described.OFFSET), ((0, 0), (1, 1)))
    deleted = described.File(2, 3, 1, "a", (described.KEY, described.OFFSET), (("a", 1),))
    assert ops(described.written((rows, deleted), tmp_path / "t")) == [0]


# ---------------------------------------------------------------- as a history


def test_deleted_values_are_read_neither_in_place_nor_from_a_copy(
    table: Table, tmp_path: Path
) -> None:
    delete_values(table, values(key=["k", "other"], offset=[0, 1]), [OFFSET, KEY])
    rest = TABLE.take([1, 3])
    folder = folder_of(table)
    assert whole(folder).equals(rest)
    (part,) = parquet_parts(folder, tmp_path / "parts")[1:]
    assert pq.read_table(part).equals(rest)
    convert(folder, tmp_path / "out")
    assert whole(tmp_path / "out").equals(rest)
    table.append(TABLE.slice(0, 1))  # newer than the delete file
    assert ops(folder) == [0, 1, 2]
    delete_values(table, values(op=[2], key=["not compared"]), [OP])
    assert ops(folder) == [0, 1]


def test_a_position_counts_the_rows_that_values_delete(table: Table) -> None:
    path = next(iter(table.scan().plan_files())).file.file_path
    delete_rows(table, [(path, 2)])
    delete_values(table, values(op=[0]), [OP])
    assert whole(folder_of(table)).equals(TABLE.take([1, 3]))


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        (None, "its equality deletes have the equality ids None; copy the whole table again"),
        ([], "its equality deletes have the equality ids []; copy the whole table again"),
        ([OP, 99], "it deletes rows by the column with the id 99, and no schema of the table has"),
        ([OP, KEY], f"no column with the id {KEY} (key), by which it deletes rows; copy the whole"),
    ],
)
def test_equality_ids_without_a_column_are_refused(
    table: Table, ids: list[int] | None, why: str
) -> None:
    file = delete_values(table, values(op=[0]), ids)
    with pytest.raises(UnreadableHistory) as fault:
        whole(folder_of(table))
    assert str(file) in str(fault.value)
    assert why in str(fault.value)


@pytest.mark.parametrize(
    "kind",
    [
        "float",
        "double",
        "decimal(39, 0)",
        "decimal(2, 3)",
        "fixed[99999]",
        "nothing",
        5,
        {"type": "list", "element-id": 99, "element": "string", "element-required": False},
    ],
)
def test_a_type_that_cannot_be_compared_is_refused(table: Table, kind: object) -> None:
    file = delete_values(table, values(op=[0]), [OP])
    newest = change_metadata(table, lambda it: it["schemas"][0]["fields"][0].update(type=kind))
    with pytest.raises(UnreadableHistory) as fault:
        whole(newest)
    assert str(fault.value).startswith(f"file://{file}: it deletes rows by the column op of type ")
    assert "which cannot be compared; rewrite the data files of the table, or " in str(fault.value)


def change_metadata(table: Table, change: Any) -> Path:
    newest = Path(table.metadata_location.removeprefix("file://"))
    content = json.loads(newest.read_bytes())
    change(content)
    newest.write_text(json.dumps(content))
    return newest


@pytest.mark.parametrize("specs", [[], None, [{"spec-id": 0, "fields": {}}]])
def test_a_partition_spec_that_the_metadata_lacks_is_refused(table: Table, specs: object) -> None:
    delete_values(table, values(op=[0]), [OP])
    newest = change_metadata(table, lambda it: it.update({"partition-specs": specs}))
    with pytest.raises(UnreadableHistory, match=r"lacks its partition spec 0; copy the whole tab"):
        whole(newest)


def test_values_of_another_type_are_refused(table: Table) -> None:
    file = delete_values(table, values(op=[0]), [OP])
    field = pa.field("op", pa.string(), metadata={"PARQUET:field_id": str(OP)})
    pq.write_table(pa.table([["a"]], pa.schema([field])), file)
    with pytest.raises(UnreadableHistory, match=r"-deletes.parquet: this is no complete Parquet"):
        whole(folder_of(table))


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        ((str(OP), "7"), "two columns have the name op; rewrite"),
        (("x",), "no valid field id; copy"),
    ],
)
def test_columns_that_a_name_or_an_id_does_not_identify_are_refused(
    table: Table, ids: tuple[str, ...], why: str
) -> None:
    file = delete_values(table, values(op=[0]), [OP])
    fields = [pa.field("op", pa.int64(), metadata={"PARQUET:field_id": number}) for number in ids]
    pq.write_table(pa.table([[0]] * len(ids), pa.schema(fields)), file)
    with pytest.raises(UnreadableHistory, match=f"-deletes.parquet: .*{why}"):
        whole(folder_of(table))
