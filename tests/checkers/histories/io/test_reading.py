"""Every file format yields the same tables; a malformed file causes one clear error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.histories.io.operation_rows import SCHEMA, as_operations, as_table
from checkers.histories.io.reading import parquet_parts, whole
from checkers.histories.io.recorded import METADATA
from checkers.histories.io.tails import completion_line, invocation_line
from checkers.histories.io.unreadable import UnreadableHistory
from model.histories import COLUMNS, NEW_IN_2, SCHEMA_VERSION
from model.history_notation import history
from tests.checkers.histories.io.avro.avro_histories import in_avro
from tests.checkers.histories.io.refusals import assert_refused

HISTORY = history("""
    p1  send k=a j=b  -> ok @0 @?
    c1  poll          -> ok k=a@0
    c1  end_offset k  -> ok @1
    p2  assign        -> ok
    p1  send k=c      -> never
""")
TABLE = as_table(HISTORY)


def lines_of(table: pa.Table) -> str:
    return "".join(json.dumps(row) + "\n" for row in table.to_pylist())


def written(folder: Path, form: str) -> Path:
    path = folder / f"h.{form}"
    match form:
        case "parquet":
            pq.write_table(TABLE, path)
        case "ndjson" | "jsonl":
            path.write_text(lines_of(TABLE))
        case "avro":
            path.write_bytes(in_avro(TABLE))
        case "folder of avro":
            path.mkdir()
            (path / "part-a.avro").write_bytes(in_avro(TABLE.slice(0, 2)))
            (path / "part-b.avro").write_bytes(in_avro(TABLE.slice(2)))
        case "avro without a suffix":
            (path := folder / "h").write_bytes(in_avro(TABLE))
        case "folder":
            path.mkdir()
            pq.write_table(TABLE.slice(0, 2), path / "part-a.parquet")
            pq.write_table(TABLE.slice(2), path / "part-b.parquet")
        case "parquet without a suffix":
            pq.write_table(TABLE, path := folder / "h")
        case "ndjson without a suffix":
            (path := folder / "h").write_text(lines_of(TABLE))
        case "recorded":
            path.mkdir()
            (path / METADATA).write_text(json.dumps({"schema_version": SCHEMA_VERSION}))
            tail = [invocation_line(n, operation) for n, operation in enumerate(HISTORY)]
            tail += [completion_line(n, o) for n, o in enumerate(HISTORY) if o.completed_ns]
            (path / "tail-00000.ndjson").write_bytes(b"".join(tail) + b'{"torn')
    return path


@pytest.mark.parametrize(
    "form",
    [
        "parquet",
        "ndjson",
        "jsonl",
        "avro",
        "folder",
        "folder of avro",
        "avro without a suffix",
        "parquet without a suffix",
        "ndjson without a suffix",
        "recorded",
    ],
)
def test_every_format_yields_the_same_history(form: str, tmp_path: Path) -> None:
    path = written(tmp_path, form)
    table = whole(path)
    assert table.schema.equals(SCHEMA)
    read = table.drop_columns(["error"])  # the tail adds an error to open operations
    assert read.equals(TABLE.drop_columns(["error"]))
    parts = parquet_parts(path, tmp_path / "parts")
    again = pa.concat_tables([pq.read_table(part) for part in parts])
    assert again.drop_columns(["error"]).equals(read)


def test_parquet_files_are_not_copied(tmp_path: Path) -> None:
    path = written(tmp_path, "parquet")
    assert parquet_parts(path, tmp_path / "parts") == [path]
    assert not (tmp_path / "parts").exists()


def test_columns_of_other_types_are_cast_if_no_value_changes(tmp_path: Path) -> None:
    narrow = TABLE.set_column(0, "op", TABLE["op"].cast(pa.int8()))
    pq.write_table(narrow, tmp_path / "h.parquet")
    assert whole(tmp_path / "h.parquet").equals(TABLE)


def test_a_parquet_file_without_rows_is_an_empty_history(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 0), tmp_path / "h.parquet")
    assert whole(tmp_path / "h.parquet").num_rows == 0


@pytest.mark.parametrize("suffix", ["avro", "edn", "ndjson", "parquet"])
def test_an_empty_file_is_no_history(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"h.{suffix}").write_bytes(b"" if suffix in ("avro", "parquet") else b"\n \n")
    assert_refused(tmp_path / f"h.{suffix}", "the file is empty; record the history again")


def test_a_history_of_the_first_schema_is_read(tmp_path: Path) -> None:
    recorded = history("p1 send k=a -> ok @0")
    old = as_table(recorded).drop_columns(list(NEW_IN_2))
    pq.write_table(old, tmp_path / "part-00000.parquet")
    assert tuple(as_operations(whole(tmp_path / "part-00000.parquet"))) == recorded
    (tmp_path / METADATA).write_text(json.dumps({"schema_version": 1}))
    assert tuple(as_operations(whole(tmp_path))) == recorded


def test_fields_of_transactions_and_groups_survive_a_tail(tmp_path: Path) -> None:
    recorded = history("""
        t1  txn{id=x,group=g,isolation=read_committed,end=3} k=e +k@1  -> ok @5 k=a@0 ~k
        c1  fetch_offset{group=g} k j                                  -> ok @1 @none
        c1  assign k                                                   -> ok
        c1  start_offset k                                             -> ok @2
    """)
    (tmp_path / METADATA).write_text(json.dumps({"schema_version": SCHEMA_VERSION}))
    lines = [
        line(number, operation)
        for number, operation in enumerate(recorded)
        for line in (invocation_line, completion_line)
    ]
    (tmp_path / "tail-00000.ndjson").write_bytes(b"".join(lines))
    assert tuple(as_operations(whole(tmp_path))) == recorded


# ---------------------------------------------------------------- malformed files


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"outcome": "maybe"},
            "operation 0: column outcome is none of ok, fail, info; fix that row",
        ),
        ({"kind": "read"}, "operation 0: column kind is none of send, poll, end_offset"),
        ({"process": None}, "operation 0: column process is null"),
        ({"op": None}, "a row without an op: column op is null"),
        ({"key": None}, "operation 0: column key is null, and a row of kind send needs it"),
        ({"value": None}, "operation 0: column value is null, and a row of kind send needs it"),
        ({"offset": -1}, "operation 0: column offset is negative: .*; write null; fix that row"),
        ({"offset": -1001}, "operation 0: column offset is negative: .*; write null; fix that row"),
        ({"kye": "k"}, "line 1: a history has no column kye; if you mean key, rename it"),
        ({"thread": 7}, "line 1: a history has no column thread; delete it"),
    ],
)
def test_an_invalid_row_is_an_error_with_its_operation(
    row: dict[str, Any], message: str, tmp_path: Path
) -> None:
    rows = TABLE.to_pylist()
    rows[0].update(row)
    path = tmp_path / "h.ndjson"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert_refused(path, message)


def test_a_text_that_is_not_utf_8_is_an_error_with_its_operation(tmp_path: Path) -> None:
    rows = "".join(json.dumps(one) + "\n" for one in TABLE.to_pylist()).encode()
    path = tmp_path / "h.ndjson"
    path.write_bytes(rows.replace(b'"key": "', b'"key": "\xff', 1))
    assert_refused(path, "operation 0: column key is not UTF-8 text; fix that row")


def test_an_unknown_column_of_parquet_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    pq.write_table(TABLE.append_column("ofset", TABLE["offset"]), path)
    message = "a history has no column ofset; if you mean offset, rename it; else delete it"
    assert_refused(path, message)
    with pytest.raises(UnreadableHistory, match="no column ofset"):
        parquet_parts(path, tmp_path / "parts")


def test_the_error_of_a_missing_column_lists_all_columns(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    pq.write_table(TABLE.drop_columns(["offset"]), path)
    assert_refused(
        path, f"no column offset; add it: a history has the columns {', '.join(COLUMNS)}"
    )
    with pytest.raises(UnreadableHistory, match="no column offset"):
        parquet_parts(path, tmp_path / "parts")


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    pq.write_table(TABLE.set_column(1, "process", pa.repeat("p1", TABLE.num_rows)), path)
    assert_refused(path, "column process has the type string instead of int64 .*; cast the column")


def test_a_truncated_parquet_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "parquet")
    path.write_bytes(path.read_bytes()[:-20])
    assert_refused(path, "this is no complete Parquet file .*; copy or record it again")
    with pytest.raises(UnreadableHistory, match="no complete Parquet file"):
        parquet_parts(path, tmp_path / "parts")


def test_incomplete_and_malformed_lines_are_errors_with_their_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, "ndjson")
    whole_lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(whole_lines)[:-30])
    assert_refused(path, f"line {len(whole_lines)}, column .*the last line is cut short; delete it")
    path.write_text("".join([whole_lines[0], "{]\n", *whole_lines[1:]]))
    assert_refused(path, "line 2, column 2: .*; fix that line")
    path.write_text(whole_lines[0] + whole_lines[1].replace('"process": 0', '"process": "p1"'))
    assert_refused(path, "line 2: column process is 'p1', not of type int64; fix that value")


def test_a_missing_file_and_an_unknown_format_are_errors(tmp_path: Path) -> None:
    assert_refused(tmp_path / "nowhere.edn", "no such file or folder; check the path")
    assert_refused(tmp_path, "the folder contains neither history.json nor .*.parquet")
    (tmp_path / "h.txt").write_text("once upon a time")
    assert_refused(tmp_path / "h.txt", "unknown format: the file begins neither as Parquet")
