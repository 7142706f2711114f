"""An Iceberg table is read as the rows of a snapshot; the package pyiceberg agrees."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import Table
from pyiceberg.types import StringType

from checkers.histories.io import iceberg, parquet_files
from checkers.histories.io.converting import convert
from checkers.histories.io.locations import FileSet
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.reading import parquet_parts, whole
from checkers.histories.io.unreadable import UnreadableHistory
from model.history_notation import history
from tests.checkers.histories.io.iceberg_tables import (
    Tables,
    delete_rows,
    folder_of,
    iceberg_tables,
    rewrite,
)
from tools.history_format import examples

RECORDED = Path(__file__).parents[3] / "data" / "iceberg" / "operations"
TABLE = as_table(
    history("""
        p1 send k=a -> ok @0
        p1 send k=b -> ok @1
        p2 poll     -> ok k=a@0 k=b@1
    """)
)
DAYS = ("2026-11-28", "a b", "50%/x", "ü=1:2", None)


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[Tables]:
    with iceberg_tables(tmp_path) as found:
        yield found


def in_order(table: pa.Table) -> pa.Table:
    return table.sort_by([("op", "ascending"), ("position", "ascending")])


def numbered(numbers: range, day: str | None) -> pa.Table:
    some = TABLE.take([number % TABLE.num_rows for number in numbers])
    some = some.set_column(0, TABLE.schema.field("op"), pa.array(numbers, pa.int64()))
    return some.append_column("day", pa.array([day] * len(numbers), pa.string()))


def ops(history: Path | FileSet) -> list[int]:
    found: list[int] = in_order(whole(history))["op"].to_pylist()
    return found


def newest(table: Table) -> Path:
    return Path(table.metadata_location.removeprefix("file://"))


def stored_rows(table: Table) -> dict[int, tuple[str, int]]:
    """Returns the data file and the position of each operation, also of deleted ones."""
    return {
        op: (task.file.file_path, position)
        for task in table.scan().plan_files()
        for position, op in enumerate(op_column(task.file.file_path))
    }


def op_column(path: str) -> list[int]:
    found: list[int] = pq.read_table(path.removeprefix("file://"), columns=["op"])["op"].to_pylist()
    return found


# ---------------------------------------------------------------- as the package reads it


def take(rng: random.Random, table: Table, number: int) -> None:
    """Makes one change of the table, which has rows already."""
    names, there = table.schema().column_names, table.scan().to_arrow()["op"].to_pylist()
    rows = numbered(range(10 * number, 10 * number + 3), rng.choice(DAYS))
    rows = rows.rename_columns(names[: rows.num_columns])
    kinds = ("append", "append", "overwrite", "delete", "rename", "add")
    match rng.choice(kinds + 3 * ("delete rows",) * (table.metadata.format_version == 2)):
        case "append":
            table.append(rows)
        case "overwrite":
            table.overwrite(rows, f"op >= {rng.choice(there)}")
        case "delete":
            table.delete(f"op == {rng.choice(there)}")
            if len(there) == 1:
                table.append(rows)
        case "rename":
            old = rng.choice(names[5:])
            with table.update_schema() as changed:
                changed.rename_column(old, f"{old}_" if rng.random() < 0.5 else f"new{number}")
        case "delete rows":
            path = stored_rows(table)[rng.choice(there)][0]
            alike = [row for row in stored_rows(table).values() if row[0] == path]
            earlier = rng.randrange(1, table.metadata.next_sequence_number())
            delete_rows(table, rng.choices(alike, k=2), sequence=rng.choice((None, None, earlier)))
            if not table.scan().to_arrow().num_rows:
                table.append(rows)
        case _:
            with table.update_schema() as changed:
                changed.add_column(f"more{number}", StringType())


@pytest.mark.parametrize("seed", range(4))
def test_every_snapshot_has_the_rows_that_the_package_reads(tables: Tables, seed: int) -> None:
    rng = random.Random(seed)
    by = "day" if seed % 2 else None
    table = tables.create(
        "t", numbered(range(3), "first"), partitioned_by=by, version=1 + seed // 2
    )
    for number in range(1, 12):
        take(rng, table, number)
    snapshots: list[int | None] = [one.snapshot_id for one in table.history()]
    compared = 0
    for snapshot in [*snapshots, None]:
        expected = table.scan(snapshot_id=snapshot).to_arrow().sort_by("op")
        if not expected.num_rows:
            continue
        files = iceberg.files_of(folder_of(table), snapshot)
        assert files.reader is not None
        found = pa.concat_tables(
            [part.cast(expected.schema) for file in files.files for part in files.reader(file)]
        )
        assert found.sort_by("op").equals(expected)
        compared += 1
    assert compared > 6


def test_files_of_the_newest_columns_are_read_in_place(tables: Tables, tmp_path: Path) -> None:
    table = tables.create("t", TABLE.slice(0, 2))
    table.append(TABLE.slice(2))
    parts = parquet_parts(folder_of(table), tmp_path / "parts")
    assert {*parts} == {*folder_of(table).glob("data/*.parquet")}
    assert in_order(whole(folder_of(table))).equals(TABLE)
    first = table.history()[0].snapshot_id
    files = iceberg.files_of(folder_of(table), first)
    assert str(files) == f"{folder_of(table)}, snapshot {first}"
    assert ops(files) == TABLE["op"].to_pylist()[:2]


def test_a_renamed_column_is_found_by_its_id(tables: Tables, tmp_path: Path) -> None:
    older = TABLE.rename_columns(["text" if it == "value" else it for it in TABLE.column_names])
    table = tables.create("t", older.slice(0, 2))
    with table.update_schema() as changed:
        changed.rename_column("text", "value")
    table.append(TABLE.slice(2))
    assert in_order(whole(folder_of(table))).equals(TABLE)
    parts = parquet_parts(folder_of(table), tmp_path / "parts")
    copied = pa.concat_tables([pq.read_table(part) for part in parts])
    assert in_order(copied).equals(TABLE)
    with pytest.raises(UnreadableHistory, match="a history has no column text; delete it"):
        whole(iceberg.files_of(folder_of(table), table.history()[0].snapshot_id))


def test_a_column_that_was_dropped_and_added_again_is_another_one(tables: Tables) -> None:
    table = tables.create("t", with_error("old", 0))
    with table.update_schema() as changed:
        changed.delete_column("error")
    with table.update_schema() as changed:
        changed.add_column("error", StringType())
    table.append(with_error("new", 7))
    errors = in_order(whole(folder_of(table)))["error"].to_pylist()
    assert errors == [None] * TABLE.num_rows + ["new"] * TABLE.num_rows


def with_error(error: str, op: int) -> pa.Table:
    """Returns the rows of TABLE as one operation with the number `op` and the error `error`."""
    errors, numbers = pa.array([error] * TABLE.num_rows), pa.array([op] * TABLE.num_rows)
    table = TABLE.set_column(11, TABLE.schema.field("error"), errors)
    return table.set_column(0, TABLE.schema.field("op"), numbers)


def test_unknown_columns_are_refused_or_left_out_and_counted(
    tables: Tables, tmp_path: Path
) -> None:
    table = tables.create("t", numbered(range(3), "a"), partitioned_by="day")
    with pytest.raises(UnreadableHistory, match=r"\.parquet: a history has no column day; delete"):
        whole(folder_of(table))
    converted = convert(folder_of(table), tmp_path / "out")
    assert converted.unmapped == {"column day": 3}
    assert ops(tmp_path / "out") == [0, 1, 2]


def test_a_table_that_spark_wrote_is_read_by_its_ids() -> None:
    """The test reads a copy of a table that Spark wrote. The metadata still has Spark's paths,
    which begin with /mnt/warehouse.
    """
    content = json.loads((RECORDED / "metadata" / "v5.metadata.json").read_bytes())
    first, inserted, deleted = (one["snapshot-id"] for one in content["snapshots"])
    expected = [json.loads(line) for line in examples()]
    for row in expected:
        row["error"] = "early" if row["op"] < 5 else "late"
    rows = in_order(whole(iceberg.files_of(RECORDED, inserted)))
    assert rows.equals(pa.Table.from_pylist(expected, rows.schema))
    with pytest.raises(UnreadableHistory, match="a history has no column reason; delete it"):
        whole(iceberg.files_of(RECORDED, first))
    remaining = pa.Table.from_pylist([row for row in expected if row["op"] != 8], rows.schema)
    for snapshot in (deleted, None):
        assert in_order(whole(iceberg.files_of(RECORDED, snapshot))).equals(remaining)


# ---------------------------------------------------------------- position deletes


def test_deleted_rows_are_read_neither_in_place_nor_from_a_copy(
    tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "ROWS_AT_ONCE", 2)  # the positions are those of the file
    table = tables.create("t", numbered(range(7), "a").drop_columns(["day"]))
    stored = stored_rows(table)
    delete_rows(table, [stored[op] for op in (0, 3, 4)])
    delete_rows(table, [stored[op] for op in (3, 6)])  # one of them again
    table.append(numbered(range(7, 9), "a").drop_columns(["day"]))
    assert ops(folder_of(table)) == [1, 2, 5, 7, 8]
    parts = parquet_parts(folder_of(table), tmp_path / "parts")
    assert sorted(op for part in parts for op in op_column(str(part))) == [1, 2, 5, 7, 8]
    convert(folder_of(table), tmp_path / "out")
    assert ops(tmp_path / "out") == [1, 2, 5, 7, 8]


def test_a_delete_file_counts_for_data_files_that_are_not_newer(tables: Tables) -> None:
    table = tables.create("t", TABLE)
    table.append(with_error("new", 7))  # the second commit
    stored = stored_rows(table)
    delete_rows(table, [stored[0]], sequence=1)
    delete_rows(table, [stored[7]], sequence=1)
    expected = [1, 2, 2, 7, 7, 7, 7]
    assert ops(folder_of(table)) == expected
    assert sorted(table.scan().to_arrow()["op"].to_pylist()) == expected
    delete_rows(table, [stored[1], stored[7]], sequence=1)
    assert ops(folder_of(table)) == [2, 2, 7, 7, 7, 7]


def test_a_delete_file_may_name_a_file_that_left_the_table(table: Table) -> None:
    old = stored_rows(table)[0]
    delete_rows(table, [old])
    table.overwrite(with_error("new", 7))
    delete_rows(table, [old, stored_rows(table)[7]])
    assert ops(folder_of(table)) == [7, 7, 7]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"pos": [1, 9]}, "deletes row 9, and the file has 4 rows; copy the whole table again"),
        ({"pos": [-1, 1]}, "deletes row -1, and the file has 4 rows; copy the whole table again"),
        ({"pos": [None, 1]}, "-deletes.parquet: a position delete has a null; copy the whole"),
        ({"pos": ["a", "b"]}, "-deletes.parquet: this is no complete Parquet file (Failed to par"),
        ({"position": [0, 1]}, "-deletes.parquet: no column pos of position deletes; copy the who"),
    ],
)
def test_a_damaged_delete_file_is_refused(
    table: Table, changes: dict[str, list[Any]], why: str
) -> None:
    path, _ = stored_rows(table)[0]
    file = delete_rows(table, [(path, 0)])
    pq.write_table(pa.table({"file_path": [path, path], **changes}), file)
    with pytest.raises(UnreadableHistory) as fault:
        whole(folder_of(table))
    assert why in str(fault.value)


# ---------------------------------------------------------------- where a table is


@pytest.fixture
def table(tables: Tables) -> Table:
    return tables.create("t", TABLE)


def test_a_copy_of_a_table_reads_its_own_files(table: Table, tmp_path: Path) -> None:
    shutil.copytree(folder_of(table), tmp_path / "copy")
    shutil.rmtree(folder_of(table))
    assert ops(tmp_path / "copy") == TABLE["op"].to_pylist()


def test_a_file_elsewhere_is_read_by_its_whole_path(table: Table, tmp_path: Path) -> None:
    (file,) = (folder_of(table) / "data").iterdir()
    file.rename(elsewhere := tmp_path / "a%20b.parquet")
    (manifest,) = (folder_of(table) / "metadata").glob("*-m0.avro")
    for path in (f"file://{elsewhere}", f"file:{elsewhere}", str(elsewhere)):
        rewrite(manifest, partial(with_path, path))
        assert ops(folder_of(table)) == TABLE["op"].to_pylist()


def with_path(path: str, entry: dict[str, Any]) -> None:
    entry["data_file"]["file_path"] = path


@pytest.mark.parametrize(
    "name", ["v7.metadata.json", "v7.gz.metadata.json", "8-x.metadata.json.gz"]
)
def test_names_of_metadata_files(table: Table, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = newest(table).read_bytes()
    table.append(TABLE.slice(0, 1))
    folder = folder_of(table)
    (folder / "metadata" / name).write_bytes(gzip.compress(content) if "gz" in name else content)
    assert ops(folder) == TABLE["op"].to_pylist()  # it is the newest
    assert ops(folder / "metadata" / name) == TABLE["op"].to_pylist()
    monkeypatch.chdir(folder / "metadata")
    assert ops(Path(name)) == TABLE["op"].to_pylist()
    assert len(ops(newest(table))) == TABLE.num_rows + 1


def test_two_files_of_one_version_are_refused(table: Table) -> None:
    newest(table).with_name("00001-a.metadata.json").write_bytes(newest(table).read_bytes())
    with pytest.raises(
        UnreadableHistory, match=r"are both version 1 of .* the one that the catalo"
    ):
        whole(folder_of(table))
    assert ops(newest(table)) == TABLE["op"].to_pylist()


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"format-version": 3}, "its format version is 3; write its current rows as Parquet"),
        ({"format-version": "2"}, "this is no metadata of an Iceberg table: it needs format-vers"),
        ({"current-snapshot-id": -1}, "the table has no rows yet; write some, then run again"),
        ({"current-snapshot-id": 5}, "the table has no snapshot 5; its last ones are "),
        ({"snapshots": [7]}, "its last ones are none; name one by --table-version"),
        ({"schemas": []}, "its metadata has no schema of the snapshot; copy the whole table"),
        ({"current-schema-id": None}, "its metadata has no schema of the snapshot; copy the whole"),
    ],
)
def test_metadata_that_urteil_cannot_read_is_refused(
    table: Table, changes: dict[str, Any], why: str
) -> None:
    content = json.loads(newest(table).read_bytes())
    newest(table).write_text(json.dumps(content | changes))
    with pytest.raises(UnreadableHistory) as fault:
        whole(folder_of(table))
    assert str(fault.value).startswith(str(newest(table)))
    assert why in str(fault.value)


def test_a_snapshot_without_a_manifest_list_is_refused(table: Table) -> None:
    content = json.loads(newest(table).read_bytes())
    for one in content["snapshots"]:
        one["manifests"] = [one.pop("manifest-list")]
    newest(table).write_text(json.dumps(content))
    with pytest.raises(UnreadableHistory, match="the snapshot has no manifest list; write its"):
        whole(folder_of(table))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"content": 3}, "it has content 3; rewrite the data files of the table, or write its"),
        ({"file_format": "ORC"}, "its format is ORC; write its current rows as Parquet files"),
        ({"key_metadata": b"k"}, "it is encrypted; write its current rows as Parquet files"),
        ({"file_path": "a\0b"}, "not an entry of a manifest: {'status': 1, "),
    ],
)
def test_a_file_whose_rows_are_not_those_of_the_table_is_refused(
    table: Table, changes: dict[str, Any], why: str
) -> None:
    (manifest,) = (folder_of(table) / "metadata").glob("*-m0.avro")
    rewrite(manifest, lambda entry: entry["data_file"].update(changes))
    with pytest.raises(UnreadableHistory) as fault:
        whole(folder_of(table))
    assert str(fault.value).startswith(str(manifest))
    assert why in str(fault.value)
    rewrite(manifest, lambda entry: entry.update(status=2))  # a later snapshot removed the file
    with pytest.raises(UnreadableHistory, match="it has no rows; name another one by --table-ver"):
        whole(folder_of(table))


def test_a_file_whose_columns_have_no_ids_is_refused(table: Table) -> None:
    (file,) = (folder_of(table) / "data").rglob("*.parquet")
    pq.write_table(TABLE, file)
    with pytest.raises(UnreadableHistory, match="its columns have no field ids; rewrite the data"):
        whole(folder_of(table))


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("metadata/*-m0.avro", "m0.avro: no such file; if the snapshot expired, name a newer one"),
        ("metadata/snap-*.avro", ".avro: no such file; if the snapshot expired, name a newer one"),
        ("data/*.parquet", ".parquet: no such file; "),
    ],
)
def test_a_missing_file_is_named(table: Table, pattern: str, why: str) -> None:
    (file,) = folder_of(table).glob(pattern)
    file.unlink()
    with pytest.raises(UnreadableHistory, match=why):
        whole(folder_of(table))


def test_a_table_that_refers_to_an_unknown_store_is_refused(table: Table) -> None:
    metadata = json.loads(newest(table).read_bytes())
    metadata["snapshots"][0]["manifest-list"] = "ftp://a/b.avro"
    newest(table).write_text(json.dumps(metadata))
    with pytest.raises(UnreadableHistory) as fault:
        whole(folder_of(table))
    assert str(fault.value).startswith(
        f"{newest(table)}: the table refers to ftp://a/b.avro: unknown scheme ftp://; "
    )
    assert str(fault.value).endswith("; copy the whole table again")


@pytest.mark.parametrize("content", [b"[" * 100_000, b"[]", b"\x1f\x8b", b"{}", b"\xff"])
def test_hostile_metadata_is_refused(table: Table, content: bytes) -> None:
    newest(table).write_bytes(content)
    with pytest.raises(UnreadableHistory) as fault:
        whole(folder_of(table))
    assert str(fault.value).startswith(f"{newest(table)}: ")
