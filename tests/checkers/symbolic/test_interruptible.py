"""Ctrl-C ends a call of C code, and is never lost between two calls."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import z3

from checkers.cli.run import Run
from checkers.symbolic.interruptible import interruptible
from checkers.symbolic.limits import Solver
from tests.checkers.symbolic.test_limits import pigeonhole


def press_and(seconds: float, then: Callable[[], object]) -> None:
    """Presses Ctrl-C some seconds later; calls `then` meanwhile."""
    pressed = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    try:
        pressed.start()
        then()
    finally:
        pressed.join()


def never() -> None:
    pytest.fail("nobody pressed Ctrl-C")


def test_the_result_of_the_task_is_returned() -> None:
    assert interruptible(lambda: 7, never) == 7


def test_an_error_of_the_task_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0, never)


def test_ctrl_c_stops_a_long_query() -> None:
    context = z3.Context()
    solver = Solver(context)
    solver.add(pigeonhole(context))
    with pytest.raises(KeyboardInterrupt):
        press_and(0.2, solver.check)
    assert Solver(context).check().verdict == "sat"  # the interrupt does not reach the next query


def test_a_query_outside_the_main_thread_needs_no_watcher() -> None:
    with ThreadPoolExecutor() as pool:
        assert pool.submit(interruptible, lambda: 7, never).result() == 7


def test_no_ctrl_c_is_lost_in_a_sequence_of_short_queries() -> None:
    """If Ctrl-C arrives in a destructor, Python drops its KeyboardInterrupt. The run then ends at
    the next `poll`.
    """
    rng, context = random.Random(1), z3.Context()
    solver = Solver(context)
    solver.add([z3.Int("x", context) > 0])
    before = signal.getsignal(signal.SIGINT)
    try:
        for _ in range(30):
            run = Run(command="prove", seed=0)
            signal.signal(signal.SIGINT, run.interrupt)
            with pytest.raises(KeyboardInterrupt):
                press_and(rng.random() / 50, partial(many_queries, run, solver))
    finally:
        signal.signal(signal.SIGINT, before)


def many_queries(run: Run, solver: Solver) -> None:
    for _ in range(50_000):
        run.poll()
        assert solver.check().verdict == "sat"
