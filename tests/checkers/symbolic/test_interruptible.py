"""Ctrl-C ends a call of C code, and is never lost between two calls."""

from __future__ import annotations

import os
import random
import signal
import threading

import pytest
import z3

from checkers.cli.run import Run
from checkers.symbolic.interruptible import interruptible
from checkers.symbolic.limits import Solver


def never() -> None:
    pytest.fail("nobody pressed Ctrl-C")


def test_the_result_of_the_task_is_returned() -> None:
    assert interruptible(lambda: threading.current_thread(), never) is not threading.main_thread()


def test_an_error_of_the_task_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0, never)


def test_ctrl_c_stops_the_task_which_may_ignore_the_first_calls() -> None:
    calls: list[str] = []
    stopped = threading.Event()

    def stop() -> None:
        calls.append("stop")
        if len(calls) == 3:
            stopped.set()

    def task() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        stopped.wait()

    with pytest.raises(KeyboardInterrupt):
        interruptible(task, stop)
    assert calls == ["stop"] * 3


def test_no_ctrl_c_is_lost_in_a_sequence_of_short_queries() -> None:
    """Python drops an exception in a destructor; the run then ends at the next `poll`."""
    rng, context = random.Random(1), z3.Context()
    solver = Solver(context)
    solver.add([z3.Int("x", context) > 0])
    before = signal.getsignal(signal.SIGINT)
    try:
        for _ in range(30):
            run = Run(command="prove", seed=0)
            signal.signal(signal.SIGINT, run.interrupt)
            pressed = threading.Timer(rng.random() / 50, os.kill, (os.getpid(), signal.SIGINT))
            pressed.start()
            with pytest.raises(KeyboardInterrupt):
                many_queries(run, solver)
            pressed.join()
    finally:
        signal.signal(signal.SIGINT, before)


def many_queries(run: Run, solver: Solver) -> None:
    for _ in range(50_000):
        run.poll()
        assert solver.check().verdict == "sat"
