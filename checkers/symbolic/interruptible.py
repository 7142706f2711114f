"""Handles Ctrl-C during a call of C code, such as a query of Z3.

Python notes a signal at once, but it runs its signal handler only after the call. Z3 has a handler
of its own, but this handler loses a signal that arrives at the end of a query. So another thread,
the watcher, waits until a signal is noted, and then stops the call.

In this drawing, time runs from left to right, and each line is one participant:

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
    """Runs the task and returns its result. If the user presses Ctrl-C, `stop` is called repeatedly
    until the task ends.

    A call of `stop` must do no harm if it comes too early or too late. Outside the main thread, the
    task runs without this handling, because only the main thread gets KeyboardInterrupt.
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
    """Returns the thread that stops C code after Ctrl-C in the process `pid`. A forked process has
    a thread of its own.
    """
    del pid
    return _Watcher()
