"""A Delta table is read as the rows that its log has at a version; the package deltalake agrees."""

from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from checkers.histories.io import delta
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.reading import parquet_parts, whole
from checkers.histories.io.unreadable import UnreadableHistory
from model.history_notation import history
from tests.checkers.histories.io.damaged_metadata import (
    assert_never_a_crash,
    damaged_bytes,
    with_odd_values,
)

TABLE = as_table(
    history("""
        p1 send k=a -> ok @0
        p1 send k=b -> ok @1
        p2 poll     -> ok k=a@0 k=b@1
    """)
)
STRINGS = pa.list_(pa.string())
DAYS = ("2026-11-28", "a b", "50%/x", "ü=1:2", None)


def in_order(table: pa.Table) -> pa.Table:
    return table.select(TABLE.column_names).cast(TABLE.schema).sort_by("op")


def ops(folder: Path, version: int | None = None) -> list[int]:
    found: list[int] = in_order(whole(delta.files_of(folder, version)))["op"].to_pylist()
    return found


# ---------------------------------------------------------------- as the package reads it


def take(rng: random.Random, folder: Path, number: int) -> None:
    """Makes one random change of an existing table."""
    table = DeltaTable(folder)
    rows = numbered(range(10 * number, 10 * number + 3), rng.choice(DAYS))
    match rng.choice(("append", "append", "overwrite", "delete", "compact", "checkpoint")):
        case "append":
            write_deltalake(folder, rows, mode="append")
        case "overwrite" if rng.random() < 0.5:
            write_deltalake(folder, rows, mode="overwrite")
        case "delete":
            table.delete(f"op % 3 = {rng.randrange(3)}")
        case "compact":
            table.optimize.compact()
        case _:
            table.create_checkpoint()


def numbered(numbers: range, day: str | None) -> pa.Table:
    some = TABLE.take([number % TABLE.num_rows for number in numbers])
    some = some.set_column(0, TABLE.schema.field("op"), pa.array(numbers, pa.int64()))
    return some.append_column("day", pa.array([day] * len(numbers), pa.string()))


@pytest.mark.parametrize("seed", range(4))
def test_every_version_has_the_rows_that_the_package_reads(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    by = ["day"] if seed % 2 else None
    write_deltalake(tmp_path / "t", numbered(range(3), "first"), partition_by=by)
    for number in range(1, 16):
        take(rng, tmp_path / "t", number)
    last = DeltaTable(tmp_path / "t").version()
    for version in range(last + 1):
        theirs = DeltaTable(tmp_path / "t", version=version)
        expected = in_order(theirs.to_pyarrow_table())
        if expected.num_rows == 0:
            continue
        files = delta.files_of(tmp_path / "t", version)
        assert len(files.files) == len(theirs.file_uris())
        found = pa.concat_tables(
            pq.ParquetFile(file).read().select(TABLE.column_names).cast(TABLE.schema)
            for file in files.files
        )
        assert in_order(found).equals(expected)
    assert last > 5


def test_a_table_without_its_old_commits_is_read_from_the_checkpoint(tmp_path: Path) -> None:
    for number in range(4):
        rows = TABLE.slice(number, 1)
        write_deltalake(tmp_path, rows, mode="append")
    DeltaTable(tmp_path).create_checkpoint()
    write_deltalake(tmp_path, numbered(range(7, 8), "").drop_columns("day"), mode="append")
    log = tmp_path / "_delta_log"
    for version in range(4):
        (log / f"{version:020}.json").unlink()
    assert ops(tmp_path) == [0, 1, 2, 2, 7]
    assert ops(tmp_path, 3) == [0, 1, 2, 2]
    with pytest.raises(UnreadableHistory, match="cannot give version 2: it lacks version 0, and"):
        delta.files_of(tmp_path, 2)
    # the same checkpoint in two parts, of which one is missing at first
    checkpoint = log / f"{3:020}.checkpoint.parquet"
    actions = pq.ParquetFile(checkpoint).read()
    checkpoint.unlink()
    for part, rows in enumerate((actions.slice(0, 3), actions.slice(3)), 1):
        with pytest.raises(UnreadableHistory, match="lacks version 0"):
            delta.files_of(tmp_path)
        name = f"{3:020}.checkpoint.{part:010}.{2:010}.parquet"
        pq.write_table(rows, log / name)
    assert ops(tmp_path) == [0, 1, 2, 2, 7]


# ---------------------------------------------------------------- what is refused


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Returns a table of two versions; version 1 has all rows of TABLE."""
    write_deltalake(tmp_path / "t", TABLE.slice(0, 1))
    write_deltalake(tmp_path / "t", TABLE.slice(1), mode="append")
    return tmp_path / "t"


def commit(table: Path, *actions: dict[str, Any]) -> None:
    """Appends a version with these actions to the log, as another writer could."""
    version = len(list((table / "_delta_log").glob("*.json")))
    lines = "".join(json.dumps(action) + "\n" for action in actions)
    (table / "_delta_log" / f"{version:020}.json").write_text(lines)


def added(table: Path) -> dict[str, Any]:
    first = (table / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    return next(json.loads(line)["add"] for line in first if '"add"' in line)


def protocol(reader: int, *features: str) -> dict[str, Any]:
    return {"protocol": {"minReaderVersion": reader, "readerFeatures": [*features]}}


def metadata(*partitions: str, **configuration: str) -> dict[str, Any]:
    return {"metaData": {"partitionColumns": [*partitions], "configuration": configuration}}


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (protocol(4), "its protocol needs a reader of version 4; write its current rows as"),
        (protocol(3, "variantType"), "its protocol needs the feature variantType; write its"),
        (metadata(**{delta.MAPPING: "name"}), "(delta.columnMapping.mode is name); write its"),
        (metadata("day", "key"), "it is partitioned by key, so its files lack this column; write"),
        ({"protocol": {"minReaderVersion": "1"}}, ".json, action 1: not an action of Delta: {'pro"),
        ({"metaData": {}}, "00000000000000000002.json, action 1: not an action of Delta: "),
        ({"add": {"path": "a\0b"}}, "not an action of Delta: {'add': {'path': 'a\\x00b'}}; copy"),
    ],
)
def test_a_version_that_the_files_alone_do_not_hold_is_refused(
    table: Path, action: dict[str, Any], message: str
) -> None:
    commit(table, action)
    with pytest.raises(UnreadableHistory) as fault:
        whole(table)
    assert message in str(fault.value)
    assert ops(table, 1) == [0, 1, 2, 2]


def test_features_that_a_version_does_not_use_are_no_obstacle(table: Path) -> None:
    commit(table, protocol(3, *delta.READER_FEATURES), metadata(**{delta.MAPPING: "none"}))
    assert ops(table) == [0, 1, 2, 2]


def test_deleted_rows_are_refused_until_the_file_is_written_again(table: Path) -> None:
    file = added(table)
    vectors = [
        {
            "storageType": "u",
            "pathOrInlineDv": name,
            "offset": 1,
            "sizeInBytes": 9,
            "cardinality": 1,
        }
        for name in ("one", "two")
    ]
    older, newer = ({**file, "deletionVector": vector} for vector in vectors)
    commit(table, {"add": older}, {"remove": file})
    commit(table, {"remove": older}, {"add": newer})
    for version in (2, 3):
        with pytest.raises(UnreadableHistory, match=r"has deleted rows \(feature deletionV"):
            delta.files_of(table, version)
    commit(table, {"remove": newer})
    assert ops(table) == [1, 2, 2]
    commit(table, {"add": file})
    assert ops(table) == [0, 1, 2, 2]


def test_a_table_without_rows_is_refused(table: Path) -> None:
    DeltaTable(table).delete()
    with pytest.raises(UnreadableHistory, match="at version 2: it has no rows; name an earl"):
        delta.files_of(table)


@pytest.mark.parametrize("form", ["file:", "file://"])
def test_a_shallow_clone_names_files_elsewhere(table: Path, tmp_path: Path, form: str) -> None:
    (tmp_path / "clone" / "_delta_log").mkdir(parents=True)
    place = f"{form}{table}/{added(table)['path']}"
    commit(tmp_path / "clone", protocol(1), metadata(), {"add": {"path": place}})
    assert ops(tmp_path / "clone") == [0]


def test_a_file_that_vacuum_deleted_is_named(table: Path, tmp_path: Path) -> None:
    gone = table / added(table)["path"]
    gone.unlink()
    with pytest.raises(UnreadableHistory, match=f"{gone}: no such file; .* VACUUM"):
        parquet_parts(table, tmp_path / "parts")


def test_a_version_that_does_not_exist_is_refused(table: Path) -> None:
    for unlikely in (2, 10**19):
        with pytest.raises(UnreadableHistory, match=f"version {unlikely}: it lacks version 2, and"):
            delta.files_of(table, unlikely)
    (table / "_delta_log" / f"{10**19}.json").write_text("{}")
    with pytest.raises(UnreadableHistory, match=f"the newest is {10**19}; name another by"):
        delta.files_of(table)


def test_a_checkpoint_of_version_2_is_refused(table: Path) -> None:
    name = f"{1:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    (table / "_delta_log" / name).touch()
    with pytest.raises(UnreadableHistory, match="does not support the feature v2Checkpoint of 0"):
        whole(table)


def test_a_table_inside_a_folder_is_refused(table: Path, tmp_path: Path) -> None:
    assert whole(table).num_rows == TABLE.num_rows
    with pytest.raises(UnreadableHistory, match="t/_delta_log belongs to a Delta table; pass"):
        whole(tmp_path)


def written_by_hand(table: Path) -> tuple[Path, Path]:
    """Returns the checkpoint of version 0 of a new table, and the commit of its version 1.

    Their bytes are the same in each run. So the damage that a seed draws is also the same in each
    run.
    """
    log = table / "_delta_log"
    log.mkdir(parents=True)
    strings = pa.map_(pa.string(), pa.string())
    columns = {
        "protocol": pa.struct({"minReaderVersion": pa.int32(), "readerFeatures": STRINGS}),
        "metaData": pa.struct({"partitionColumns": STRINGS, "configuration": strings}),
        "add": pa.struct(
            {"path": pa.string(), "deletionVector": pa.struct({"offset": pa.int32()})}
        ),
    }
    first = [protocol(3, "timestampNtz"), metadata("day"), {"add": {"path": "a.parquet"}}]
    first[1]["metaData"]["configuration"] = [("delta.appendOnly", "true")]
    checkpoint = log / f"{0:020}.checkpoint.parquet"
    pq.write_table(pa.Table.from_pylist(first, pa.schema(columns)), checkpoint)
    newer = [protocol(1), metadata(), {"add": {"path": "b.parquet"}}, {"remove": {"path": "c"}}]
    newest = log / f"{1:020}.json"
    newest.write_text("\n".join(map(json.dumps, newer)))
    assert [file.name for file in delta.files_of(table).files] == ["a.parquet", "b.parquet"]
    return checkpoint, newest


def test_a_damaged_log_is_refused_or_read_but_never_a_crash(tmp_path: Path) -> None:
    rng, read = random.Random(1), partial(delta.files_of, tmp_path)
    for file in written_by_hand(tmp_path):
        contents = [damaged_bytes(rng, file.read_bytes()) for _ in range(200)]
        assert_never_a_crash(read, file, contents)


def test_a_log_with_an_odd_value_is_refused_or_read_but_never_a_crash(tmp_path: Path) -> None:
    _, newest = written_by_hand(tmp_path)
    actions = [json.loads(line) for line in newest.read_text().splitlines()]
    contents = [
        "\n".join(map(json.dumps, odd)).encode()
        for odd in with_odd_values(actions)
        if isinstance(odd, list)
    ]
    assert_never_a_crash(partial(delta.files_of, tmp_path), newest, contents)


def test_a_table_that_refers_to_an_unknown_store_is_refused(table: Path) -> None:
    commit(table, {"add": {"path": "ftp://a/b.parquet"}})
    with pytest.raises(UnreadableHistory) as fault:
        whole(table)
    assert str(fault.value).startswith(
        f"{table}: version 2 refers to ftp://a/b.parquet: unknown scheme ftp://; "
    )
    assert str(fault.value).endswith("; copy the whole table again")
