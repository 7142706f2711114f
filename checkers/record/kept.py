"""Resumes a killed or interrupted recording, and continues its history in the same folder.

A history consists of *parts* (Parquet files) and a *tail* (the lines of the newest operations). A
resumed recording appends lines to the tail, so a stored line is never written again. Operations
that were open when the recording was killed stay open: each of them may have had an effect, but the
recording cannot find out. An interrupted recording has no tail. In this case, its last part is
converted back to a tail. The last rows of this part are the operations that were open at the
interrupt, and they must come after all new operations.

The clock of a history continues by the wall clock. If the wall clock went back, the clock of the
history continues one nanosecond after the last recorded time. So each new operation is after each
stored operation in real time.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from checkers.histories.columnar.arrow import compute
from checkers.histories.io.operation_rows import as_operations
from checkers.histories.io.parquet_layout import write_part
from checkers.histories.io.recorded import (
    METADATA,
    metadata,
    numbers_of,
    part_path,
    tables,
    tail_path,
)
from checkers.histories.io.tails import Tail, completion_line, invocation_line, read_tail
from checkers.scratch import locked
from model.faults import InputFault

TIMES: Final = ("invoked_ns", "completed_ns", "end_asked_ns")
CLOCK: Final = frozenset({"at_ns", "wall_ns"})  # one moment on the history's and on the wall clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A summary of the operations that an earlier recording stored, and the content of its
    `history.json`.
    """

    described: Mapping[str, Any]
    operations: int = 0
    endless: int = 0  # of them, those without a completion
    sends: int = 0
    names: frozenset[str] = frozenset()  # the functions of the operations, such as `poll`
    processes: int = 0  # one more than the highest number
    last_ns: int = 0  # the last time in the history
    is_cut: bool = False  # the kill cut the last line short

    def now_ns(self, wall_ns: int) -> int:
        """Returns the time on the clock of the history at the moment when the wall clock is
        `wall_ns`.

        A recording of an earlier release did not store the wall clock. For such a recording, the
        result is one nanosecond after the last recorded time.
        """
        clock: Mapping[str, int] = self.described.get("clock", {})
        if not clock.keys() >= CLOCK:
            return self.last_ns + 1
        gone_ns = wall_ns - clock["wall_ns"]
        return max(clock["at_ns"] + gone_ns, self.last_ns + 1)


@contextmanager
def resumable(folder: Path) -> Generator[Kept]:
    """Yields what the earlier recording in the folder stored. The folder is locked during the
    `with` block.

    Raises InputFault if the recording is complete, or if a process is still recording. Raises
    UnreadableHistory if the history is damaged.
    """
    if not (folder / METADATA).is_file():
        raise InputFault(f"{folder}: nothing was recorded before the end; record again")
    with lock(folder):
        described = metadata(folder)
        if described.get("finished") is not False:
            raise InputFault(f"{folder}: this recording is complete, nothing is left to record")
        clock = described.get("clock", {})
        if not isinstance(clock, dict) or {type(at) for at in clock.values()} - {int}:
            raise InputFault(f"{folder / METADATA}: clock is {clock!r}; remove that line")
        yield _survey(folder, described)


@contextmanager
def lock(folder: Path) -> Generator[None]:
    """Locks the folder of a history while the history is written. Raises InputFault if another
    process has locked it.
    """
    try:
        held = locked(folder)
    except OSError:  # a file system without locks
        yield
        return
    if held is None:
        raise InputFault(
            f"{folder}: another process is recording, or the folder is another user's; wait for "
            "the end of that recording"
        )
    try:
        yield
    finally:
        os.close(held)


def _survey(folder: Path, described: Mapping[str, Any]) -> Kept:
    counts = dict.fromkeys(("operations", "endless", "sends", "processes", "last_ns"), 0)
    names: set[str] = set()
    for table in tables(folder):
        heads = table.filter(compute.equal(table["position"], 0))
        counts["operations"] += len(heads)
        counts["endless"] += heads["completed_ns"].null_count
        counts["sends"] += compute.sum(compute.equal(heads["f"], "send")).as_py() or 0
        names.update(compute.unique(heads["f"]).to_pylist())
        if len(heads):
            highest = compute.max(heads["process"]).as_py()
            counts["processes"] = max(counts["processes"], highest + 1)
            last = (compute.max(heads[name]).as_py() or 0 for name in TIMES)
            counts["last_ns"] = max(counts["last_ns"], *last)
    tail = tail_path(folder, max(numbers_of(folder), default=0))
    is_cut = tail.exists() and bool(tail.read_bytes().rpartition(b"\n")[2])
    return Kept(described=described, names=frozenset(names), is_cut=is_cut, **counts)


def reopened(folder: Path) -> tuple[int, Tail]:
    """Returns the number and the content of the last file of a recording (its tail), to which the
    resumed recording appends.

    Every earlier tail is converted to a part, and an incomplete last line is removed. After each
    step of this work, the folder is a readable history with the same operations.
    """
    for hidden in folder.glob("*.new"):
        hidden.unlink()
    last = max(numbers_of(folder), default=0)
    for number, table in enumerate(tables(folder)):
        part, tail = part_path(folder, number), tail_path(folder, number)
        if number < last:
            if not part.exists():
                write_part(table, part.with_suffix(".new"))
                part.with_suffix(".new").rename(part)
            tail.unlink(missing_ok=True)
        elif not tail.exists():
            tail.with_suffix(".new").write_bytes(_lines(table))
            tail.with_suffix(".new").rename(tail)
    part_path(folder, last).unlink(missing_ok=True)
    path = tail_path(folder, last)
    found = read_tail(path, last=True)
    os.truncate(path, path.stat().st_size - len(found.incomplete))
    return last, found


def _lines(table: Any) -> bytes:
    lines: list[bytes] = []
    first = table["op"][0].as_py() if table.num_rows else 0
    for number, operation in enumerate(as_operations(table), first):
        lines.append(invocation_line(number, operation))
        if operation.completed_ns is not None:
            lines.append(completion_line(number, operation))
    return b"".join(lines)
