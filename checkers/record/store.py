"""The writer of a history. When a call returns, the invocation or completion that it records has
been written to the file of the history.

Even after `kill -9`, the history has every request that a broker may have applied. Only a power
loss can lose a line. When enough operations are completed, a Parquet file (a *part*) replaces their
lines. Completions are stored in the order of their times. `checkers.histories.io.recorded`
describes the format, and `checkers.histories.io.tails` its lines.

A writer can continue the history of an earlier recording that was killed (see
`checkers.record.kept`).
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.parquet_layout import write_part
from checkers.histories.io.recorded import METADATA, part_path, tail_path
from checkers.histories.io.tails import completion_line, invocation_line
from checkers.record.kept import Kept, lock, reopened
from model.histories import SCHEMA_VERSION, Isolation, MicroOperation, Operation, Outcome

ROWS_PER_PART: Final = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """Facts about a recording, which are stored in its `history.json`."""

    workload: str
    clients: Mapping[str, str]  # library -> version
    settings: Mapping[str, Any]
    seed: int
    resumed: int = 0  # how often the recording was resumed


@dataclass(slots=True)
class HistoryWriter:
    """Writes one history to disk. Several threads may use it at the same time."""

    folder: Path
    described: Described
    kept: Kept | None = None  # of the recording that this one resumes, whose folder is locked
    rows_per_part: int = ROWS_PER_PART
    unread: tuple[str, ...] = ()  # topic partitions that were not read to their end
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _opened: dict[int, Operation] = field(default_factory=dict)
    _completed: list[Operation] = field(default_factory=list)
    _part: int = 0
    _rows: int = 0
    _next: int = 0
    _first_op: int = 0
    _tail: int = -1  # file descriptor
    _ahead_ns: int = 0  # of the history's clock, before the monotonic clock of this machine
    _locked: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> HistoryWriter:
        if self.kept is None:
            self.folder.mkdir(parents=True, exist_ok=False)
            self._locked.enter_context(lock(self.folder))
            self._begin_tail(self._part)
        else:
            self._reopen_tail(self.kept)
        self._describe(finished=False)
        return self

    def _reopen_tail(self, kept: Kept) -> None:
        self._part, tail = reopened(self.folder)
        self._tail = os.open(tail_path(self.folder, self._part), os.O_WRONLY | os.O_APPEND)
        self._completed, self._opened = tail.completed, tail.opened
        self._rows = sum(max(1, len(operation.did)) for operation in tail.completed)
        self._next = kept.operations
        self._first_op = kept.operations - len(tail.completed) - len(tail.opened)
        self._ahead_ns = kept.now_ns(time.time_ns()) - time.monotonic_ns()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the history. Operations that are still open get the outcome `info`."""
        with self._lock:
            self._completed += self._opened.values()
            self._opened.clear()
            self._write_part(self._part)
            os.close(self._tail)
            self._describe(finished=error is None and not self.unread)
            # last: to `urteil analyze --follow`, a missing tail means that the history is complete
            tail_path(self.folder, self._part).unlink()
            self._locked.close()

    def now_ns(self) -> int:
        """Returns the current time on the clock of the history."""
        return time.monotonic_ns() + self._ahead_ns

    @property
    def operations(self) -> int:
        return self._next

    def invoke(
        self,
        process: int,
        f: str,
        did: tuple[MicroOperation, ...] = (),
        *,
        transactional_id: str | None = None,
        group: str | None = None,
        isolation: Isolation | None = None,
    ) -> int:
        """Records the invocation of an operation, and returns the number of the operation.

        Raises ValueError if the process already has an open operation.
        """
        with self._lock:
            if any(operation.process == process for operation in self._opened.values()):
                raise ValueError(f"process {process} has an operation open")
            number, self._next = self._next, self._next + 1
            operation = Operation(
                process=process,
                f=f,
                outcome="info",
                invoked_ns=self.now_ns(),
                completed_ns=None,
                did=did,
                error="the recorder ended before the operation did",
                transactional_id=transactional_id,
                group=group,
                isolation=isolation,
            )
            self._write(invocation_line(number, operation))
            self._opened[number] = operation
        return number

    def update(
        self, number: int, did: tuple[MicroOperation, ...], *, end_asked_ns: int | None = None
    ) -> None:
        """Replaces the micro-operations of an open operation.

        A transaction needs this call, because its sends depend on its polls and are not yet known
        when it begins. `end_asked_ns` is the time at which the client requests the commit
        or abort.
        """
        with self._lock:
            operation = replace(self._opened[number], did=did, end_asked_ns=end_asked_ns)
            self._write(invocation_line(number, operation))
            self._opened[number] = operation

    def complete(
        self,
        number: int,
        outcome: Outcome,
        did: tuple[MicroOperation, ...] | None = None,
        error: str | None = None,
    ) -> None:
        """Records the completion of an operation.

        `did` has the final micro-operations of the operation. If it is None, the micro-operations
        that were recorded before are final.
        """
        with self._lock:
            operation = self._opened.pop(number)
            operation = replace(
                operation,
                outcome=outcome,
                completed_ns=self.now_ns(),
                did=operation.did if did is None else did,
                error=error,
            )
            self._write(completion_line(number, operation))
            self._completed.append(operation)
            self._rows += max(1, len(operation.did))
            if self._rows >= self.rows_per_part:
                self._rotate()

    def _rotate(self) -> None:
        # even after a crash between two of these steps, no operation is read twice
        full = self._tail
        self._begin_tail(self._part + 1)
        self._write_part(self._part)
        os.close(full)
        tail_path(self.folder, self._part).unlink()
        self._part += 1

    def _begin_tail(self, number: int) -> None:
        path = tail_path(self.folder, number)
        hidden = path.with_suffix(".new")
        self._tail = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._write(b"".join(invocation_line(n, open_) for n, open_ in self._opened.items()))
        # readers see the file only with these operations in it
        hidden.rename(path)

    def _write_part(self, number: int) -> None:
        path = part_path(self.folder, number)
        hidden = path.with_suffix(".new")
        write_part(as_table(self._completed, first_op=self._first_op), hidden)
        hidden.rename(path)
        self._first_op += len(self._completed)
        self._completed.clear()
        self._rows = 0

    def _write(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._tail, line) :]

    def _describe(self, *, finished: bool) -> None:
        description = {
            "schema_version": SCHEMA_VERSION,
            "workload": self.described.workload,
            "clients": dict(self.described.clients),
            "settings": dict(self.described.settings),
            "seed": self.described.seed,
            "finished": finished,
            "unread": list(self.unread),
            "clock": {"at_ns": self.now_ns(), "wall_ns": time.time_ns()},
            "resumed": self.described.resumed,
        }
        hidden = self.folder / f"{METADATA}.new"
        hidden.write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
        hidden.rename(self.folder / METADATA)
