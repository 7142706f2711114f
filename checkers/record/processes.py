"""The processes of a history: threads that call an unmodified client and record the results.

A process begins an operation only after its previous operation has completed. An operation with the
outcome `info` may still take effect later. So after such an operation, the thread continues as a
new process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from checkers.record.store import HistoryWriter


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    partitions: int

    def key(self, index: int) -> str:
        return f"{self.name}-{index}"

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.key(index) for index in range(self.partitions))


@dataclass(slots=True)
class Shared:
    """The data that all threads of a recording share. In a resumed recording, the processes get
    numbers that the earlier recording did not use.
    """

    history: HistoryWriter
    stopped: threading.Event = field(default_factory=threading.Event)
    sent: threading.Event = field(default_factory=threading.Event)  # set when every record is sent
    _processes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.history.kept is not None:
            self._processes = self.history.kept.processes

    def new_process(self) -> int:
        with self._lock:
            self._processes += 1
            return self._processes - 1


@dataclass(slots=True)
class Threads:
    """A group of threads. If a thread fails, the whole recording stops."""

    shared: Shared
    _threads: list[threading.Thread] = field(default_factory=list[threading.Thread])
    _failed: list[BaseException] = field(default_factory=list[BaseException])

    def start(self, run: Callable[..., None], *args: Any, **named: Any) -> None:
        def guarded() -> None:
            try:
                run(*args, **named)
            except BaseException as error:
                self._failed.append(error)
                self.shared.stopped.set()

        thread = threading.Thread(target=guarded, daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self, progress: Callable[[str], None]) -> None:
        """Waits for all threads. If a thread failed, raises the first of the errors. Ctrl-C
        interrupts the wait.
        """
        while any(thread.is_alive() for thread in self._threads):
            time.sleep(0.02)
            progress(f"{self.shared.history.operations} operations")
        if self._failed:
            raise self._failed[0]

    def wait(self) -> None:
        for thread in self._threads:
            thread.join()
