"""A history goes on after its recorder was killed or interrupted, and nothing kept is lost."""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.io.recorded import METADATA, metadata, operations, tables, tail_path
from checkers.histories.io.tails import completion_line
from checkers.record.kept import Kept, reopened, resumable
from checkers.record.store import HistoryWriter
from model.faults import InputFault
from model.histories import Poll, Send
from tests.checkers.record.test_store import DESCRIBED, Step, expected, seen, steps, write

SCRIPT: list[Step] = [
    (0, "info", (Send("a-0", "x"),)),
    (1, "info", (Send("a-0", "y"),)),
    (0, "ok", (Send("a-0", "x", 0),)),
    (0, "info", ()),
    (0, "ok", (Poll("a-0", 0, "x"),)),
    (2, "info", (Send("a-0", "z"),)),
]
sizes = st.sampled_from([1, 2, 5, 1000])


def kill(writer: HistoryWriter) -> None:
    """Closes the files of the writer without writing anything. So the folder stays as it would be
    after a kill.
    """
    writer._locked.close()
    os.close(writer._tail)


def interrupt(writer: HistoryWriter) -> None:
    writer.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)


def resume(folder: Path, script: list[Step], *, rows_per_part: int = 1000) -> None:
    """Resumes the recording in the folder, carries out the script with new processes, and completes
    the recording.
    """
    with resumable(folder) as kept:
        goes_on(folder, kept, script, rows_per_part).__exit__(None, None, None)


def goes_on(folder: Path, kept: Kept, script: list[Step], rows_per_part: int) -> HistoryWriter:
    writer = HistoryWriter(folder, DESCRIBED, kept=kept, rows_per_part=rows_per_part).__enter__()
    opened: dict[int, int] = {}
    for process, outcome, did in script:
        if process in opened:
            writer.complete(opened.pop(process), outcome, did)
        else:
            opened[process] = writer.invoke(kept.processes + process, "mixed", did)
    return writer


def without_process(history: list[tuple[int, str, tuple[object, ...]]]) -> list[object]:
    return [(outcome, did) for _, outcome, did in history]


def ended_then_open(*scripts: list[Step]) -> list[object]:
    """Returns the expected history: first the operations of all scripts that ended, and then the
    operations that did not end.
    """
    ended: list[Any] = []
    left: list[Any] = []
    for script in scripts:
        all_of_it = expected(script)
        completed = (len(script) - len(all_of_it)) if script else 0
        ended += all_of_it[:completed]
        left += all_of_it[completed:]
    return without_process([*ended, *left])


@settings(deadline=None, max_examples=60)
@given(steps, steps, steps, sizes, sizes, st.booleans(), st.booleans())
def test_a_history_resumed_twice_has_every_operation_once(
    first: list[Step],
    second: list[Step],
    third: list[Step],
    rows: int,
    later_rows: int,
    killed: bool,
    killed_again: bool,
) -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "history"
        (kill if killed else interrupt)(write(folder, first, rows_per_part=rows))
        before = operations(folder)
        with resumable(folder) as kept:
            writer = goes_on(folder, kept, second, later_rows)
            (kill if killed_again else interrupt)(writer)
        assert (kept.operations, kept.endless) == (
            len(before),
            sum(op.completed_ns is None for op in before),
        )
        between = operations(folder)
        resume(folder, third, rows_per_part=rows)

        assert without_process(seen(folder)) == ended_then_open(first, second, third)
        assert set(before) <= set(between) <= set(operations(folder))
        assert all(op.process >= kept.processes for op in between if op not in before)
        assert all(op.invoked_ns > kept.last_ns for op in between if op not in before)
        numbers = [n for table in tables(folder) for n in table["op"].unique().to_pylist()]
        assert numbers == list(range(len(numbers)))
        assert metadata(folder)["finished"] is True
        assert not [*folder.glob("tail-*"), *folder.glob("*.new")]


class Killed(BaseException):
    """Raised in place of a kill."""


@pytest.mark.parametrize("ended", [kill, interrupt], ids=["killed", "interrupted"])
@pytest.mark.parametrize("rows_per_part", [1, 1000])
def test_a_kill_between_any_two_steps_of_a_resumption_loses_nothing(
    ended: Any, rows_per_part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies_at(step: int) -> bool:
        folder = tmp_path / str(step)
        ended(write(folder, SCRIPT, rows_per_part=rows_per_part))
        whole = operations(folder)
        left = step
        with monkeypatch.context() as patched:
            for owner, name in ((Path, "rename"), (Path, "unlink"), (os, "truncate")):
                real = getattr(owner, name)

                def stepping(*args: Any, real: Any = real, **named: Any) -> Any:
                    nonlocal left
                    if left == 0:
                        raise Killed
                    left -= 1
                    return real(*args, **named)

                patched.setattr(owner, name, stepping)
            try:
                reopened(folder)
            except Killed:
                is_dead = True
            else:
                is_dead = False
        assert operations(folder) == whole
        resume(folder, [])
        assert operations(folder) == whole
        return is_dead

    died = [dies_at(step) for step in range(12)]
    assert died.count(True) >= 1
    assert died[-1] is False


@pytest.mark.parametrize("state", ["both tails", "part and both tails", "part and tail"])
def test_a_kill_between_two_parts_is_resumed(state: str, tmp_path: Path) -> None:
    """The recorder writes new rows to a tail, a file of JSON lines. When a tail is full, the
    recorder takes three steps. It begins the next tail, writes the full one as a part (a Parquet
    file), and then removes the full tail. The kill is between two of these steps.
    """
    folder = tmp_path / "history"
    writer = write(folder, SCRIPT[:2], rows_per_part=1000 if state == "part and tail" else 1)
    first = tail_path(folder, 0)
    lines = first.read_bytes()
    if state == "part and tail":  # the last step of an interrupted recording
        interrupt(writer)
    else:
        writer.complete(0, "ok", (Send("a-0", "x", 0),))
        kill(writer)
        lines += completion_line(0, operations(folder)[0])
    first.write_bytes(lines)
    whole = operations(folder)
    if state == "both tails":
        (folder / "part-00000.parquet").unlink()
    (folder / "part-00007.new").touch()
    assert operations(folder) == whole
    resume(folder, [])

    assert operations(folder) == whole
    assert not list(folder.glob("*.new"))


def test_an_incomplete_last_line_is_dropped_and_reported(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    kill(write(folder, SCRIPT, rows_per_part=1000))
    tail = tail_path(folder, 0)
    lines = tail.read_bytes().splitlines(keepends=True)
    tail.write_bytes(b"".join(lines[:-1]) + lines[-1][:9])
    with resumable(folder) as kept:
        assert kept.is_cut
        writer = goes_on(folder, kept, [], 1000)
        assert tail.read_bytes() == b"".join(lines[:-1])
        interrupt(writer)
    assert without_process(seen(folder)) == ended_then_open(SCRIPT[:-1])
    with resumable(folder) as again:
        assert not again.is_cut


@pytest.mark.parametrize(
    ("forward_ns", "resumed_at_ns"), [(5_000, 6_000), (10, 2_001), (-(10**12), 2_001)]
)
def test_the_clock_goes_on_by_the_wall_clock_and_never_back(
    forward_ns: int, resumed_at_ns: int
) -> None:
    clock = {"at_ns": 1_000, "wall_ns": 10**18}
    kept = Kept(described={"clock": clock}, last_ns=2_000)
    assert kept.now_ns(10**18 + forward_ns) == resumed_at_ns
    assert replace(kept, described={}).now_ns(10**18 + forward_ns) == 2_001


def test_a_clock_that_jumps_back_leaves_resumed_operations_after_kept_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "history"
    kill(write(folder, SCRIPT[:3], rows_per_part=1000))
    monkeypatch.setattr(time, "monotonic_ns", lambda: 7)  # the machine was started again
    monkeypatch.setattr(time, "time_ns", lambda: 8)
    resume(folder, [(0, "ok", ()), (0, "ok", ())])
    *kept, new, left = operations(folder)
    assert max(op.completed_ns or 0 for op in (*kept, left)) < new.invoked_ns
    assert new.completed_ns is not None
    assert new.invoked_ns <= new.completed_ns


def test_what_cannot_be_resumed_is_one_error(tmp_path: Path) -> None:
    def refused(folder: Path) -> str:
        with pytest.raises(InputFault) as fault, resumable(folder):
            pass
        return str(fault.value)

    folder = tmp_path / "history"
    assert "nothing was recorded before the end; record again" in refused(folder)
    writer = write(folder, SCRIPT, rows_per_part=1000)
    assert "another process is recording" in refused(folder)
    kill(writer)
    with resumable(folder):
        assert "another process is recording" in refused(folder)
    path = folder / METADATA
    described = json.loads(path.read_text())
    path.write_text(json.dumps({**described, "clock": {"at_ns": "x"}}))
    assert "clock is {'at_ns': 'x'}; remove that line" in refused(folder)
    path.write_text(json.dumps({**described, "finished": True}))
    assert "this recording is complete, nothing is left to record" in refused(folder)


def test_transactions_survive_the_way_from_a_part_back_to_a_tail(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    writer = write(folder, [], rows_per_part=1000)
    numbers = [writer.invoke(process, "txn", transactional_id="x", group="g") for process in (0, 1)]
    for number in numbers:
        writer.update(number, (Send("a-0", f"{number}"),), end_asked_ns=writer.now_ns())
    writer.complete(numbers[0], "fail", error="aborted")
    interrupt(writer)
    before = operations(folder)
    assert [op.end_asked_ns is not None for op in before] == [True, True]
    resume(folder, [])
    assert operations(folder) == before
