"""A history is read back after its writer finished, was killed, or wrote an incomplete line."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.io.operation_rows import SCHEMA, as_operations, as_table
from checkers.histories.io.recorded import metadata, operations, tables, tail_path
from checkers.histories.io.unreadable import UnreadableHistory
from checkers.record.store import Described, HistoryWriter
from model.histories import COLUMNS, CommitOffset, EndOffset, Operation, Outcome, Poll, Send

DESCRIBED = Described(workload="append", clients={"librdkafka": "2.16.1"}, settings={}, seed=7)

keys = st.sampled_from(["a-0", "a-1", "b-0"])
offsets = st.integers(0, 2**62)
values = st.text(max_size=6)
micros = (
    st.builds(Send, keys, values, st.none() | offsets)
    | st.builds(Poll, keys, offsets, values)
    | st.builds(EndOffset, keys, offsets)
)
outcomes: st.SearchStrategy[Outcome] = st.sampled_from(["ok", "fail", "info"])
steps = st.lists(  # of a script: a process, what it does, and how its last operation ended
    st.tuples(st.integers(0, 3), outcomes, st.lists(micros, max_size=3).map(tuple)), max_size=30
)
Step = tuple[int, Outcome, tuple[Send | Poll | EndOffset, ...]]


def write(folder: Path, script: list[Step], *, rows_per_part: int) -> HistoryWriter:
    """Writes a history from a script; returns the writer, which is still open.

    The first entry of a process in the script invokes an operation, and its next entry completes
    the operation.
    """
    writer = HistoryWriter(folder, DESCRIBED, rows_per_part=rows_per_part).__enter__()
    opened: dict[int, int] = {}
    for process, outcome, did in script:
        if process in opened:
            writer.complete(opened.pop(process), outcome, did, error=None)
        else:
            opened[process] = writer.invoke(process, "mixed", did)
    return writer


def expected(script: list[Step]) -> list[tuple[int, str, tuple[object, ...]]]:
    opened: dict[int, Step] = {}
    ended: list[Step] = []
    for step in script:
        if step[0] in opened:
            del opened[step[0]]
            ended.append(step)
        else:
            opened[step[0]] = (step[0], "info", step[2])
    return [*ended, *opened.values()]


def seen(folder: Path) -> list[tuple[int, str, tuple[object, ...]]]:
    return [(op.process, op.outcome, op.did) for op in operations(folder)]


@settings(deadline=None)
@given(steps, st.sampled_from([1, 2, 5, 1000]))
def test_a_finished_history_is_read_back_from_its_parts(script: list[Step], rows: int) -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "history"
        write(folder, script, rows_per_part=rows).__exit__(None, None, None)

        assert seen(folder) == expected(script)
        assert metadata(folder)["finished"] is True
        assert not list(folder.glob("tail-*"))
        assert not list(folder.glob("*.new"))
        numbers = [n for table in tables(folder) for n in table["op"].unique().to_pylist()]
        assert numbers == list(range(len(expected(script))))


@settings(deadline=None)
@given(steps, st.sampled_from([1, 2, 5, 1000]))
def test_a_killed_recorder_has_lost_nothing(script: list[Step], rows: int) -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "history"
        write(folder, script, rows_per_part=rows)  # never closed: as if killed

        assert seen(folder) == expected(script)
        assert metadata(folder)["finished"] is False
        assert all(table.schema == SCHEMA for table in tables(folder))


def test_unread_partitions_are_recorded_before_the_last_tail_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    writer = write(folder, [], rows_per_part=1000)
    writer.unread = ("t-1",)
    assert [path.name for path in folder.glob("tail-*")] == ["tail-00000.ndjson"]
    writer.__exit__(None, None, None)
    assert not list(folder.glob("tail-*"))
    assert (metadata(folder)["finished"], metadata(folder)["unread"]) == (False, ["t-1"])


@settings(deadline=None)
@given(steps, st.data())
def test_a_torn_last_line_is_left_out_and_all_before_it_is_kept(
    script: list[Step], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "history"
        write(folder, script, rows_per_part=1000)
        tail = tail_path(folder, 0)
        lines = tail.read_bytes().splitlines(keepends=True)
        if not lines:
            return
        kept = data.draw(st.integers(0, len(lines) - 1), label="whole lines")
        torn = data.draw(st.integers(0, len(lines[kept]) - 1), label="bytes of the torn line")
        tail.write_bytes(b"".join(lines[:kept]) + lines[kept][:torn])

        assert seen(folder) == expected(script[:kept])


def test_a_recorder_killed_between_two_parts_is_read_once(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    script: list[Step] = [
        (0, "info", (Send("a-0", "x"),)),
        (1, "info", (Send("a-0", "y"),)),
        (0, "ok", (Send("a-0", "x", 0),)),
    ]
    write(before, script, rows_per_part=1000)
    write(after, script, rows_per_part=1)
    assert [path.name for path in sorted(after.iterdir())] == [
        "history.json", "part-00000.parquet", "tail-00001.ndjson",
    ]  # fmt: skip
    moments = {
        "next tail": (before / "tail-00000.ndjson", after / "tail-00001.ndjson"),
        "part": (*before.glob("tail*"), *after.glob("part*"), *after.glob("tail*")),
    }
    for moment, files in moments.items():
        folder = tmp_path / moment
        folder.mkdir()
        for file in (before / "history.json", *files):
            shutil.copy(file, folder)
        assert seen(folder) == seen(after) == expected(script), moment


def test_a_part_that_replaces_its_tail_while_the_folder_is_listed_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "history"
    script: list[Step] = [(0, "ok", (Send("a-0", "x", 0),)), (1, "ok", (Poll("a-0", 0, "x"),))]
    writer = write(folder, script, rows_per_part=1000)
    listed = Path.glob

    def then_the_tail_is_replaced(path: Path, pattern: str) -> list[Path]:
        found = list(listed(path, pattern))
        monkeypatch.undo()
        writer.__exit__(None, None, None)
        return found

    monkeypatch.setattr(Path, "glob", then_the_tail_is_replaced)
    assert seen(folder) == expected(script)


@settings(deadline=None)
@given(st.lists(st.tuples(outcomes, st.lists(micros, max_size=3).map(tuple)), max_size=9))
def test_rows_and_operations_convert_into_each_other(
    script: list[tuple[Outcome, tuple[Send | Poll | EndOffset, ...]]],
) -> None:
    history = [
        Operation(process=0, f="f", outcome=outcome, invoked_ns=n, completed_ns=n + 1, did=did)
        for n, (outcome, did) in enumerate(script)
    ]
    table = as_table(history, first_op=5)

    assert table.schema.names == list(COLUMNS)
    assert list(as_operations(table)) == history


def test_times_of_completions_never_go_back(tmp_path: Path) -> None:
    script: list[Step] = [(p, "ok", ()) for p in (0, 1, 1, 0, 2, 2)]
    write(tmp_path / "h", script, rows_per_part=2).__exit__(None, None, None)

    history = operations(tmp_path / "h")
    times = [op.completed_ns for op in history]
    assert times == sorted(times, key=lambda ns: ns or 0)
    assert all(op.completed_ns and op.invoked_ns <= op.completed_ns for op in history)


def test_a_process_with_an_operation_open_cannot_invoke_another(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path / "h", DESCRIBED) as writer:
        writer.invoke(3, "send")
        with pytest.raises(ValueError, match="process 3 has an operation open"):
            writer.invoke(3, "send")


def test_an_operation_is_on_disk_before_it_begins(tmp_path: Path) -> None:
    with HistoryWriter(tmp_path / "h", DESCRIBED) as writer:
        writer.invoke(0, "send", (Send("a-0", "x"),))
        (open_,) = operations(tmp_path / "h")

    assert (open_.outcome, open_.completed_ns) == ("info", None)
    assert open_ == replace(*operations(tmp_path / "h"))


@pytest.mark.parametrize("rows_per_part", [1, 1000])
def test_a_transaction_records_its_sends_before_it_sends_them(
    rows_per_part: int, tmp_path: Path
) -> None:
    writer = HistoryWriter(tmp_path / "h", DESCRIBED, rows_per_part=rows_per_part).__enter__()
    txn = writer.invoke(0, "txn", transactional_id="x", group="g", isolation="read_committed")
    read, sent = Poll("in-0", 3, "a"), Send("out-0", "b")
    writer.update(txn, (sent, read))
    writer.complete(writer.invoke(1, "poll"), "ok")
    (killed,) = (op for op in operations(tmp_path / "h") if op.f == "txn")
    writer.update(txn, (sent, read, CommitOffset("in-0", 4)), end_asked_ns=17)
    did = (Send("out-0", "b", 9), read, CommitOffset("in-0", 4))
    (ending,) = (op for op in operations(tmp_path / "h") if op.f == "txn")
    writer.complete(txn, "ok", did)
    writer.__exit__(None, None, None)

    assert (killed.outcome, killed.did, killed.end_asked_ns) == ("info", (sent, read), None)
    assert (ending.outcome, ending.end_asked_ns) == ("info", 17)
    last = operations(tmp_path / "h")[-1]
    assert (last.did, last.outcome, last.end_asked_ns) == (did, "ok", 17)
    assert (last.transactional_id, last.group, last.isolation) == ("x", "g", "read_committed")
    assert last.invoked_ns == killed.invoked_ns


def test_unreadable_histories_are_rejected_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnreadableHistory, match=r"the folder has no history\.json; pass a folder"):
        metadata(tmp_path)

    folder = tmp_path / "h"
    write(folder, [(0, "ok", ()), (0, "ok", ())], rows_per_part=1000)
    tail = tail_path(folder, 0)
    whole = tail.read_bytes()
    tail.write_bytes(b"{broken\n" + whole)
    with pytest.raises(UnreadableHistory, match=r"tail-00000\.ndjson, line 1: "):
        operations(folder)
    tail.write_bytes(whole.splitlines(keepends=True)[1])
    with pytest.raises(
        UnreadableHistory, match=r"tail-00000\.ndjson, line 1: operation 0 was never invoked"
    ):
        operations(folder)

    tail.rename(tail_path(folder, 2))
    with pytest.raises(UnreadableHistory, match="part 0 is missing; copy the whole folder again"):
        operations(folder)

    (folder / "history.json").write_text(json.dumps({"schema_version": 99}))
    with pytest.raises(UnreadableHistory, match="schema_version is 99"):
        operations(folder)

    (tail_path(folder, 2)).rename(folder / "part-00000.parquet")
    (folder / "history.json").write_text(json.dumps({"schema_version": 1}))
    with pytest.raises(UnreadableHistory, match=r"part-00000\.parquet: "):
        operations(folder)
