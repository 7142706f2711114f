"""A data file may lack a column by which it is partitioned; the package pyiceberg agrees."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import Table

from checkers.histories.io import iceberg
from checkers.histories.io.iceberg_manifests import Content, Partition, TableFile
from checkers.histories.io.iceberg_partitions import partition_specs, values_of_partitions
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.reading import whole
from checkers.histories.io.unreadable import UnreadableHistory
from model.history_notation import history
from tests.checkers.histories.io.iceberg_tables import Tables, folder_of, iceberg_tables

TABLE = as_table(
    history("""
        p1 send k=a -> ok @0
        p1 send l=b -> ok @0
        p2 poll     -> ok k=a@0 l=b@0
    """)
)


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[Tables]:
    with iceberg_tables(tmp_path) as found:
        yield found


def without(column: str, table: Table) -> None:
    """Takes a column out of each data file of the table."""
    for file in (folder_of(table) / "data").rglob("*.parquet"):
        pq.write_table(pq.read_table(file, partitioning=None).drop_columns([column]), file)


def rows(metadata: Path) -> pa.Table:
    files = iceberg.files_of(metadata)
    assert files.reader is not None
    return in_order(pa.concat_tables([part for it in files.files for part in files.reader(it)]))


def in_order(table: pa.Table) -> pa.Table:
    return table.sort_by([("op", "ascending"), ("position", "ascending")])


def change_metadata(table: Table, change: Callable[[dict[str, Any]], object]) -> Path:
    newest = Path(table.metadata_location.removeprefix("file://"))
    content = json.loads(newest.read_bytes())
    change(content)
    newest.write_text(json.dumps(content))
    return newest


def as_read_by_pyiceberg(table: Table) -> pa.Table:
    return in_order(table.scan().to_arrow().cast(TABLE.schema))


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("column", ["key", "offset", "completed_ns"])
def test_an_identity_partition_gives_the_column(tables: Tables, column: str, version: int) -> None:
    table = tables.create("t", TABLE, partitioned_by=column, version=version)
    without(column, table)
    assert in_order(whole(folder_of(table))).equals(TABLE)
    assert as_read_by_pyiceberg(table).equals(TABLE)


def test_a_null_of_a_partition_is_a_null_of_the_column(tables: Tables) -> None:
    table = tables.create("t", TABLE, partitioned_by="error")
    without("error", table)
    assert in_order(whole(folder_of(table))).equals(TABLE)
    assert as_read_by_pyiceberg(table).equals(TABLE)


def test_the_column_of_a_file_counts_and_not_its_partition(tables: Tables) -> None:
    table = tables.create("t", TABLE, partitioned_by="key")
    for file in (folder_of(table) / "data").rglob("*.parquet"):
        stored = pq.read_table(file, partitioning=None)
        other = pa.array(["m"] * len(stored))
        at = stored.column_names.index("key")
        pq.write_table(stored.set_column(at, stored.schema.field("key"), other), file)
    assert {*whole(folder_of(table))["key"].to_pylist()} == {"m"}


def test_a_file_from_before_the_table_was_partitioned_has_nulls(tables: Tables) -> None:
    table = tables.create("t", TABLE)
    without("value", table)
    with table.update_spec() as spec:
        spec.add_identity("value")
    at = TABLE.column_names.index("value")
    nulls = TABLE.set_column(at, TABLE.schema.field("value"), pa.nulls(len(TABLE), pa.string()))
    assert rows(folder_of(table)).cast(TABLE.schema).equals(nulls)
    assert as_read_by_pyiceberg(table).equals(nulls)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("transform", ["bucket[4]", "truncate[1]", "nothing"])
def test_another_transform_does_not_give_the_column(tables: Tables, transform: str) -> None:
    table = tables.create("t", TABLE, partitioned_by="key")
    newest = change_metadata(
        table, lambda it: it["partition-specs"][1]["fields"][0].update(transform=transform)
    )
    assert in_order(whole(newest)).equals(TABLE)
    without("key", table)
    with pytest.raises(UnreadableHistory) as fault:
        whole(newest)
    assert "the file lacks column key, and its partition has only " + transform in str(fault.value)
    assert str(fault.value).endswith(" of it; rewrite the data files of the table")


def test_a_null_of_another_transform_is_a_null_of_the_column(tables: Tables) -> None:
    table = tables.create("t", TABLE, partitioned_by="error")
    newest = change_metadata(
        table, lambda it: it["partition-specs"][1]["fields"][0].update(transform="bucket[4]")
    )
    without("error", table)
    assert in_order(whole(newest)).equals(TABLE)


@pytest.mark.parametrize("specs", [[], [{"spec-id": 1, "fields": [{"source-id": 9}]}], 5])
def test_a_partition_spec_that_the_metadata_lacks_is_refused(tables: Tables, specs: object) -> None:
    table = tables.create("t", TABLE, partitioned_by="key")
    newest = change_metadata(table, lambda it: it.update({"partition-specs": specs}))
    with pytest.raises(UnreadableHistory, match="lacks its partition spec 1; copy the whole table"):
        whole(newest)


# ---------------------------------------------------------------- values by their types


def value_of(kind: str, value: object, *, fields: int = 1) -> Any:
    """Returns the value of a column of the type `kind` in a file whose partition has the value
    `value`, or the reason why it is unknown.
    """
    field = {"source-id": 3, "field-id": 1000, "name": "a", "transform": "identity"}
    specs = partition_specs({"partition-spec": [field] * fields})
    file = TableFile("f", 1, Content.ROWS, Partition(0, (value,)))
    columns = {3: {"id": 3, "name": "a", "type": kind}}
    found = values_of_partitions([file], specs, columns, Path)[Path("f")][3]
    return found if isinstance(found, str) else found.as_py()


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("long", 5, 5),
        ("int", None, None),
        ("boolean", True, True),
        ("date", 20_000, date(2024, 10, 4)),
        ("time", 3_600_000_000, time(1)),
        ("decimal(9, 2)", b"\xff\x85", Decimal("-1.23")),
        ("string", "ü", "ü"),
        ("fixed[2]", b"ab", b"ab"),
    ],
)
def test_a_value_has_the_type_of_its_column(kind: str, value: object, expected: object) -> None:
    assert value_of(kind, value) == expected


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        ("long", True, "and its partition has True, which is no long"),
        ("int", 2**40, "and its partition has 1099511627776, which is no int"),
        ("string", b"\xff", r"and its partition has b'\xff', which is no string"),
        ("fixed[2]", b"abc", "and its partition has b'abc', which is no fixed[2]"),
        ("decimal(3, 0)", b"\x7f\xff", r"and its partition has b'\x7f\xff', which is no decimal(3"),
        ("double", "0x1.8p+0", "and the value of its partition has the type 'double'"),
    ],
)
def test_a_value_of_another_type_gives_nothing(kind: str, value: object, why: str) -> None:
    assert value_of(kind, value).startswith(why)


def test_a_partition_of_another_length_gives_nothing() -> None:
    assert value_of("long", 1, fields=2) == "and its partition has 1 values instead of 2"
