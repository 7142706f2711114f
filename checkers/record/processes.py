"""The processes of a history: threads that call an unmodified client and record what it says.

Each has at most one operation open. After an `info` a process ends and the thread goes on as a new
one: what the old one left behind may still take effect, and nobody may follow it in its name.
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
    """A topic of the recording."""

    name: str
    partitions: int

    def key(self, index: int) -> str:
        """One of its topic partitions as a history names it."""
        return f"{self.name}-{index}"

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.key(index) for index in range(self.partitions))


@dataclass(slots=True)
class Shared:
    """What all processes of one recording see."""

    history: HistoryWriter
    stopped: threading.Event = field(default_factory=threading.Event)
    sent: threading.Event = field(default_factory=threading.Event)  # every sender is done
    _processes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def new_process(self) -> int:
        with self._lock:
            self._processes += 1
            return self._processes - 1


@dataclass(slots=True)
class Threads:
    """Threads whose first failure stops the recording."""

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
        """Waits for all, open to interrupts; raises what one of them raised."""
        while any(thread.is_alive() for thread in self._threads):
            time.sleep(0.02)
            progress(f"{self.shared.history.operations} operations")
        if self._failed:
            raise self._failed[0]

    def wait(self) -> None:
        for thread in self._threads:
            thread.join()
