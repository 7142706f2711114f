"""Every file format yields the same tables; a malformed file causes one clear error."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.histories.io.jepsen import operations
from checkers.histories.io.reading import parquet_parts, whole
from checkers.histories.io.recorded import (
    METADATA,
    SCHEMA,
    UnreadableHistory,
    as_operations,
    as_table,
    completion_line,
    invocation_line,
)
from model.histories import (
    COLUMNS,
    NEW_IN_2,
    SCHEMA_VERSION,
    Assigned,
    Operation,
    Poll,
    Rebalanced,
    Send,
)
from model.history_notation import history

SAMPLES = Path(__file__).parents[3] / "data" / "jepsen"
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
        "folder",
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
    wide = narrow.append_column("mine", pa.repeat("x", narrow.num_rows))
    pq.write_table(wide, tmp_path / "h.parquet")
    assert whole(tmp_path / "h.parquet").equals(TABLE)


def test_an_empty_file_is_an_empty_history(tmp_path: Path) -> None:
    for suffix in ("edn", "ndjson"):
        (tmp_path / f"h.{suffix}").touch()
        assert whole(tmp_path / f"h.{suffix}").num_rows == 0


# ---------------------------------------------------------------- malformed files


def assert_refused(path: Path, pattern: str) -> None:
    with pytest.raises(UnreadableHistory, match=re.escape(str(path))) as fault:
        whole(path)
    message = str(fault.value)
    assert re.search(pattern, message), message
    assert "\n" not in message


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


def test_the_error_of_a_missing_column_lists_all_columns(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    pq.write_table(TABLE.drop_columns(["offset"]), path)
    assert_refused(
        path, f"no column offset; add it: a history has the columns {', '.join(COLUMNS)}"
    )
    with pytest.raises(UnreadableHistory, match="no column offset"):
        parquet_parts(path, tmp_path / "parts")


def test_a_column_of_another_type(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    pq.write_table(TABLE.set_column(1, "process", pa.repeat("p1", TABLE.num_rows)), path)
    assert_refused(path, "column process has the type string instead of int64 .*; cast the column")


def test_a_truncated_parquet_file(tmp_path: Path) -> None:
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


def test_a_missing_file_and_an_unknown_format(tmp_path: Path) -> None:
    assert_refused(tmp_path / "nowhere.edn", "no such file or folder; check the path")
    assert_refused(tmp_path, "the folder contains neither history.json nor .*.parquet")
    (tmp_path / "h.txt").write_text("once upon a time")
    assert_refused(tmp_path / "h.txt", "unknown format: the file begins neither as Parquet")


# ---------------------------------------------------------------- Jepsen


def jepsen(tmp_path: Path, text: str) -> tuple[Operation, ...]:
    path = tmp_path / "h.edn"
    path.write_text(text)
    return tuple(operations(path))


EVENTS = """
{:index 0 :time 10 :type :invoke :process 0 :f :assign :value [:k "k"] :seek-to-beginning? true}
{:index 4, :time 11, :type :ok, :process 0, :f :assign, :value [:k "k"]}
{:index 5 :time 12 :type :invoke :process 0 :f :txn :value [[:send :k "v"] [:poll] [:send "k" :v]]}
{:index 6 :time 13 :type :info :process :nemesis :f :kill :value {:n1 [:a #{1}]}}
{:index 7 :time 14 :type :ok :process 0 :f :txn :rebalance-log [{:keys [:k]}]
 :value [[:send :k [3 "v"]] [:poll {1 [[0 :v] [2 "v"]], :k []}] [:send "k" [nil :v]]]}
{:index 8 :time 15 :type :invoke :process 0 :f :crash :value nil}
{:index 9 :time 16 :type :info :process 0 :f :crash :error [:oops {:a "b"}]}
{:index 10 :time 17 :type :invoke :process 5 :f :debug-topic-partitions :value [:k]}
{:index 11 :time 18 :type :ok :process 5 :f :debug-topic-partitions :value {:k {:isr [1 2]}}}
{:index 12 :time 19 :type :invoke :process 6 :f :send :value [[:send 1 nil]]}
"""


@pytest.mark.parametrize("around", ["{}", "[{}]", "#jepsen.History [{}]", "; a comment\n({})"])
def test_events_become_operations(around: str, tmp_path: Path) -> None:
    assign, txn, crash, debug, never = jepsen(tmp_path, around.replace("{}", EVENTS))
    assert (assign.f, assign.invoked_ns, assign.completed_ns) == ("assign", 10, 11)
    assert assign.did == (Assigned(":k"), Assigned('"k"'))
    assert txn.did == (
        Send(":k", '"v"', 3),
        Poll("1", 0, ":v"),
        Poll("1", 2, '"v"'),
        Send('"k"', ":v", None),
        Rebalanced(":k"),
    )
    assert (crash.outcome, crash.error) == ("info", '[:oops {:a "b"}]')
    assert (debug.process, debug.did) == (5, ())
    assert (never.completed_ns, never.outcome, never.did) == (None, "info", (Send("1", "nil"),))


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


def test_tagged_events_are_events(tmp_path: Path) -> None:
    event = "#jepsen.history.Op{:time 1 :type :invoke :process 0 :f :poll :value [[:poll]]}"
    assert len(jepsen(tmp_path, event)) == 1


def test_a_completion_without_a_value_keeps_the_invoked_one(tmp_path: Path) -> None:
    (send,) = jepsen(
        tmp_path,
        "{:type :invoke :process 0 :f :send :value [[:send 1 2]]}"
        "{:type :info :process 0 :f :send :value nil :error :timeout}",
    )
    assert (send.outcome, send.did, send.error) == ("info", (Send("1", "2"),), ":timeout")


def test_a_completion_without_a_value_keeps_its_rebalances(tmp_path: Path) -> None:
    (txn,) = jepsen(
        tmp_path,
        "{:type :invoke :process 0 :f :txn :value [[:send 1 2] [:poll]]}"
        "{:type :info :process 0 :f :txn :rebalance-log [{:keys [1 7]} {:keys [7]}]}",
    )
    assert txn.did == (Send("1", "2"), Rebalanced("1"), Rebalanced("7"))


@pytest.mark.parametrize(
    ("value", "offset"), [("[1 2]", None), ("[5 [1 2]]", 5), ("[nil [1 2]]", None)]
)
def test_a_sent_value_may_be_a_vector(value: str, offset: int | None, tmp_path: Path) -> None:
    """The completion `[5 [1 2]]` has the offset 5 and the value `[1 2]`."""
    (send,) = jepsen(
        tmp_path,
        "{:type :invoke :process 0 :f :send :value [[:send 1 [1 2]]]}"
        f"{{:type :info :process 0 :f :send :value [[:send 1 {value}]]}}",
    )
    assert send.did == (Send("1", "[1 2]", offset),)


def test_a_sent_value_may_have_any_number_of_digits(tmp_path: Path) -> None:
    digits = "7" * 5000
    (send,) = jepsen(
        tmp_path, f"{{:type :invoke :process 0 :f :send :value [[:send {digits} {digits}]]}}"
    )
    assert send.did == (Send(digits, digits),)


def test_characters_beyond_16_bits_survive_the_table(tmp_path: Path) -> None:
    path = tmp_path / "h.edn"
    escaped = r'[[:send "\ud83d\ude00" "\ud83d"]]'
    path.write_text("{:type :invoke :process 0 :f :send :value " + escaped + "}")
    (send,) = as_operations(whole(path))
    assert send.did == (Send('"😀"', r'"\ud83d"'),)


def test_without_times_the_position_is_the_time(tmp_path: Path) -> None:
    (poll,) = jepsen(
        tmp_path,
        "{:type :invoke :process 0 :f :poll}{:type :ok :process 0 :f :poll :value [[:poll]]}",
    )
    assert (poll.invoked_ns, poll.completed_ns) == (1, 2)


def test_a_sample_survives_the_table() -> None:
    path = SAMPLES / "005-reorder.edn"
    assert tuple(as_operations(whole(path))) == tuple(operations(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{:time 1 :type :ok :process 0 :f :send}",
            "line 1: process 0 completes an operation that it never invoked",
        ),
        ("\n{:time 1 :type :maybe :process 0}", "line 2: :type is :maybe"),
        (
            "{:type :invoke :process 0 :f :poll :time :soon}",
            "line 1: :time is :soon, not an integer",
        ),
        (
            "{:type :invoke :process 0 :f :poll :time 99999999999999999999}",
            "not an integer of 64 bits",
        ),
        (
            f"\n{{:time 1 :type :invoke :process {'7' * 5000} :f :poll}}",
            "line 2: :process is 7{60}, not an integer of 64 bits; fix that line",
        ),
        (
            "{:type :invoke :process 0 :f :send :value [[:send 1 2]]}\n"
            "{:type :ok :process 0 :f :send :value [[:send 1 [:a 2]]]}",
            "line 2: an offset is :a, not an integer",
        ),
        (
            "{:type :invoke :process 0 :f :send :value [[:send 1 2]]}\n"
            "{:type :ok :process 0 :f :send :value [[:send 1 [3 4 5]]]}",
            r"line 2: \[:send 1 \[3 4 5\]\] is neither",
        ),
        (
            "{:type :invoke :process 0 :f :poll :value {:a 1}}\n"
            "{:type :ok :process 0 :f :poll :value [[:poll]] :rebalance-log [{:keys 7}]}",
            "line 1: :value of poll is {:a 1}, not a vector",
        ),
        (
            "{:type :invoke :process 0 :f :debug :value {:a 1}}\n"
            "{:type :ok :process 0 :f :poll :value [[:poll]] :rebalance-log [{:keys 7}]}",
            "line 2: :keys of a rebalance is 7, not a vector",
        ),
        (":a", "line 1: :a is not a map"),
        ("{:time 1 :type :invoke :process 0 :f :txn :value 7}", ":value of txn is 7, not a vector"),
        ("{:time 1 :type :invoke :process 0 :f :txn :value [[:r 7]]}", r"\[:r 7\] is neither"),
        (
            "{:time 1 :type :invoke :process 0 :f :poll :value [[:poll {1 [7]}]]}",
            "a record of a poll is 7, not .offset",
        ),
        (
            "{:time 1 :type :invoke :process 0 :f :poll :value [[:poll {1 7}]]}",
            "records of a poll are 7, not a vector of",
        ),
        ("{:time 1 :process 0 :f :poll}", "line 1: :type is nil, not :invoke, :ok, :fail or :info"),
        ("\n{:time 1 :type :invoke :f :poll}", "line 2: :process is nil, not an integer"),
        ('{:time 1 :type :invoke :process "0" :f :poll}', ':process is "0", not an integer'),
        ("{:time 1 :type :invoke :process 0}", "line 1: the event of process 0 has no :f"),
        ("\0\x1b", r"line 1: \\u0000\\u001b is not a map, and an event is one; fix that line"),
        (f"{{:time {2**63 - 1} :type :invoke :process 0 :f :poll}}", "not an integer of 64 bits"),
        ("{:time 1", "line 1, column 1: '{' is never closed: the text is cut short; copy the file"),
    ],
)
def test_a_malformed_jepsen_history_is_an_error_with_its_line(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "h.edn"
    path.write_text(text)
    assert_refused(path, message)


def test_a_file_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "h.edn"
    path.write_bytes(b"; \n\n\xff\xfe{")
    assert_refused(path, "line 3: invalid start byte; EDN is UTF-8 text")
