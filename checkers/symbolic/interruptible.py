"""Ctrl-C during a call of C code, such as a query of Z3.

Python notes a signal at once, but runs its handler only after the call. Z3's own handler loses a
signal that arrives at the end of a query. So another thread waits for the note, and stops the call.

    main thread    calls Z3 ............................ returns, raises KeyboardInterrupt
    signal              noted in a pipe
    watcher        waits for the pipe    stops Z3
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Final, TypeVar

T = TypeVar("T")
STOP_AGAIN_S: Final = 0.01


def interruptible(task: Callable[[], T], stop: Callable[[], None]) -> T:
    """Returns the result of the task; while the task runs, Ctrl-C calls `stop` again and again.

    A call of `stop` that comes too early or too late must do no harm. Only the main thread gets
    KeyboardInterrupt.
    """
    if threading.current_thread() is not threading.main_thread():
        return task()
    watcher = _watcher(os.getpid())
    before = signal.set_wakeup_fd(watcher.writing, warn_on_full_buffer=False)
    watcher.stop = stop
    try:
        return task()
    finally:
        watcher.stop = None
        signal.set_wakeup_fd(before)


class _Watcher:
    def __init__(self) -> None:
        self.stop: Callable[[], None] | None = None
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.writing, False)
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while numbers := os.read(self.reading, 64):
            while signal.SIGINT in numbers and (stop := self.stop) is not None:
                stop()
                time.sleep(STOP_AGAIN_S)


@cache
def _watcher(pid: int) -> _Watcher:
    """Returns the thread that stops C code at Ctrl-C; a forked process needs its own."""
    del pid
    return _Watcher()
