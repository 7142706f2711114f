"""The validator names file, row and column; the documented format is the one that it accepts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.histories.io.checking import check, lines
from checkers.histories.io.locations import location
from checkers.histories.io.operation_rows import KINDS, SCHEMA, as_table
from checkers.histories.io.reading import whole
from checkers.histories.io.unreadable import UnreadableHistory
from model.history_notation import history
from tools.history_format import EXAMPLES, MEANING_OF_KINDS, PAGE, examples, page

DATA = Path(__file__).parents[3] / "data"
TABLE = as_table(history("p1 txn k=a k=b -> ok @0 @1\np2 poll -> ok k=a@0\np2 poll -> ok"))


def written(folder: Path, column: str, cells: list[object]) -> Path:
    odd = TABLE.set_column(
        SCHEMA.get_field_index(column), column, pa.array(cells, SCHEMA.field(column).type)
    )
    pq.write_table(odd, folder / "b.parquet")
    return folder / "b.parquet"


def test_operations_are_counted_by_function_and_rows_by_kind(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 1), tmp_path / "a.parquet")  # the first operation continues in b
    pq.write_table(TABLE.slice(1), tmp_path / "b.parquet")
    assert [*lines(check(tmp_path))] == [
        "files       2",
        "operations  3: poll 2, txn 1",
        "rows        4: send 2, poll 1, none 1",
    ]


@pytest.mark.parametrize("name", ["apache_kafka/safe", "jepsen/001-lost.edn"])
def test_real_histories_keep_the_format(name: str) -> None:
    checked = check(DATA / name)
    assert not checked.broken
    assert checked.operations == len(set(whole(DATA / name)["op"].to_pylist()))


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ("offset", [0, 1, -1, None], "row 3: column offset is negative: clients use -1 and"),
        ("kind", ["send", "sent", "poll", "none"], "row 2: column kind is none of send, poll"),
        ("value", ["a", None, "a", None], "row 2: column value is null, and a row of kind send"),
        ("outcome", ["ok", "ok", "ok", "good"], "row 4: column outcome is none of ok, fail, info"),
        ("process", [1, 1, None, 2], "row 3: column process is null, and needs a value"),
    ],
)
def test_a_broken_row_is_named(
    tmp_path: Path, column: str, cells: list[object], message: str
) -> None:
    file = written(tmp_path, column, cells)
    checked = check(file)
    assert checked.broken_rows == 1
    (broken,) = checked.broken
    assert broken.startswith(f"{file}, {message}")
    assert broken.endswith("; fix that row")


def test_rows_are_counted_in_each_file(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    written(tmp_path, "offset", [0, -1, -5, None])
    checked = check(location(f"{tmp_path}/*.parquet"))
    assert checked.broken_rows == 2
    assert [one.partition(": ")[0] for one in checked.broken] == [f"{tmp_path}/b.parquet, row 2"]


def test_an_unknown_column_is_named_with_the_nearest(tmp_path: Path) -> None:
    pq.write_table(TABLE.rename_columns({"offset": "ofset"}), tmp_path / "h.parquet")
    with pytest.raises(UnreadableHistory, match="no column ofset; if you mean offset, rename it"):
        check(tmp_path / "h.parquet")


# ---------------------------------------------------------------- the page


def test_the_page_is_up_to_date() -> None:
    assert (Path(__file__).parents[4] / PAGE).read_text() == page()


def test_each_kind_has_an_example_that_the_validator_accepts(tmp_path: Path) -> None:
    assert set(EXAMPLES) == set(MEANING_OF_KINDS) == {*KINDS, "none"}
    (tmp_path / "h.ndjson").write_text("\n".join(examples()) + "\n")
    checked = check(tmp_path / "h.ndjson")
    assert not checked.broken
    assert checked.by_kind == dict.fromkeys(EXAMPLES, 1)
