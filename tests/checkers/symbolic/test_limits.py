"""Every Z3 query has a limit; a query that reaches the limit stops and reports it."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from itertools import combinations
from pathlib import Path
from typing import Literal

import pytest
import z3

import checkers.symbolic
from checkers.symbolic.limits import Expr, Solver

PIGEONS = 12  # far beyond what a solver without cardinality reasoning finishes in minutes
QUERIES = re.compile(r"z3\.(Solver\w*|solve|prove|Opti\w*)")
STOPPED = {"timeout", "canceled", "max. resource limit exceeded"}  # in Z3's words


def pigeonhole(context: z3.Context) -> list[Expr]:
    """Returns formulas without a solution: n pigeons in n - 1 holes, at most one in each."""
    holes = range(PIGEONS - 1)
    sits = [[z3.Bool(f"{p}_{h}", context) for h in holes] for p in range(PIGEONS)]
    somewhere = [z3.Or(*row) for row in sits]
    alone = [
        z3.Or(z3.Not(sits[a][h]), z3.Not(sits[b][h]))
        for h in holes
        for a, b in combinations(range(PIGEONS), 2)
    ]
    return somewhere + alone


def test_time_is_limited() -> None:
    context = z3.Context()
    solver = Solver(context, limit_ms=100)
    solver.add(pigeonhole(context))
    answer = solver.check()
    assert (answer.verdict, answer.reason in STOPPED) == ("unknown", True)


def test_work_is_limited_and_a_query_stops_at_the_same_point_each_time() -> None:
    done = set[int]()
    for _ in range(3):
        context = z3.Context()
        solver = Solver(context, units=100_000)
        solver.add(pigeonhole(context))
        answer = solver.check()
        assert (answer.verdict, answer.reason in STOPPED) == ("unknown", True)
        done.add(answer.units)
    (units,) = done
    assert 100_000 <= units < 110_000


def test_a_query_has_all_of_its_units_whatever_earlier_queries_used() -> None:
    context = z3.Context()
    for _ in range(2):
        solver = Solver(context, units=100_000)
        solver.add(pigeonhole(context))
        assert solver.check().units >= 100_000


@pytest.mark.parametrize("option", ["units", "limit_ms"])
def test_a_limit_of_zero_is_a_limit(option: Literal["units", "limit_ms"]) -> None:
    """A limit of 0 ends a query at once, although Z3 itself takes 0 for no limit."""
    context = z3.Context()
    solver = Solver(context, units=0) if option == "units" else Solver(context, limit_ms=0)
    solver.add(pigeonhole(context))
    assert solver.check().verdict == "unknown"


def test_a_query_can_be_interrupted() -> None:
    context = z3.Context()
    solver = Solver(context, limit_ms=60_000)
    solver.add(pigeonhole(context))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            solver.check()
    finally:
        timer.cancel()


def test_pop_removes_the_facts_added_since_push() -> None:
    context = z3.Context()
    p = z3.Bool("p", context)
    solver = Solver(context, limit_ms=1_000)
    solver.add([p])
    solver.push()
    solver.add([z3.Not(p)])
    assert solver.check().verdict == "unsat"
    solver.pop()
    assert solver.check().verdict == "sat"
    assert z3.is_true(solver.model().eval(p))


def test_z3_is_queried_in_two_files_and_each_sets_its_limit_of_work() -> None:
    querying = {
        file.name: (asks, bool(re.search(r"\brlimit=|\"rlimit\"", text)))
        for file in Path(checkers.symbolic.__file__).parent.glob("*.py")
        if (asks := QUERIES.findall(text := file.read_text()))
    }
    assert querying == {
        "limits.py": (["Solver"], True),
        "small_induction.py": (["SolverFor"], True),
    }


def test_an_interrupt_within_the_constructor_of_a_context_leaves_no_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raised: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", raised.append)
    half_made = z3.Context.__new__(z3.Context)
    del half_made
    assert not raised
