"""Ctrl-C during a call of C code: Python notices the signal at once, not after the call.

Z3 can handle the signal itself, but it loses one that arrives at the end of a query. A signal
handler of Python runs only between two instructions of the main thread. So the call runs in another
thread, and the main thread waits.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Final, TypeVar

T = TypeVar("T")
STOP_AGAIN_S: Final = 0.01


def interruptible(task: Callable[[], T], stop: Callable[[], None]) -> T:
    """Returns the result of the task, or raises its error.

    If the user presses Ctrl-C, calls `stop` until the task ends, and raises KeyboardInterrupt. The
    task may ignore a call of `stop` that comes too early.
    """
    result = Future[T]()

    def run() -> None:
        try:
            result.set_result(task())
        except BaseException as error:
            result.set_exception(error)

    thread = Thread(target=run, daemon=True)
    try:
        _start(thread)
        return result.result()
    finally:
        while thread.is_alive():
            if not result.done():
                stop()
            thread.join(STOP_AGAIN_S)


def _start(thread: Thread) -> None:
    """Starts the thread; Ctrl-C waits until it has started, and never interrupts the thread."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
