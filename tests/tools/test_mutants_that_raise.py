"""The mutation campaign counts the calls that ran a changed line, and how many of them ended in the
same exception.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import pytest

from tools.mutants.raising import Calls, counting

SOURCE = b"""
def share(total, of):
    if of < 0:
        return None
    part = total // of
    if part > 9:
        raise OverflowError(part)
    return part

def halves(numbers):
    for n in numbers:
        yield share(n, 2)

LIMIT = 1
"""


def calls_of(line: int) -> tuple[Calls, dict[str, Any]]:
    calls, names = Calls(), dict[str, Any]()
    exec(compile(counting(SOURCE, line), "f.py", "exec"), names)
    calls.install()
    return calls, names


def call(function: FunctionType, *arguments: object) -> object:
    try:
        return function(*arguments)
    except ArithmeticError as error:
        return type(error)


def test_a_call_counts_if_it_ran_the_changed_line() -> None:
    calls, names = calls_of(line=5)
    assert [call(names["share"], 6, n) for n in (3, -1, 0)] == [2, None, ZeroDivisionError]
    assert (calls.ran, calls.raised) == (2, 1)


def test_a_call_that_raises_after_the_changed_line_counts_as_one_that_raises() -> None:
    calls, names = calls_of(line=5)
    assert call(names["share"], 60, 2) is OverflowError
    assert (calls.ran, calls.raised) == (1, 1)


def test_two_kinds_of_exceptions_are_not_the_same() -> None:
    calls, names = calls_of(line=5)
    assert [call(names["share"], 60, n) for n in (2, 0)] == [OverflowError, ZeroDivisionError]
    assert (calls.ran, calls.raised) == (2, 1)


@pytest.mark.parametrize(("line", "ran"), [(4, 1), (6, 2), (7, 1)])
def test_a_line_that_only_some_calls_run_is_counted_for_these(line: int, ran: int) -> None:
    calls, names = calls_of(line)
    assert [call(names["share"], n, 2 if n else -1) for n in (0, 4, 20)] == [None, 2, OverflowError]
    assert calls.ran == ran


def test_a_generator_counts_once_when_it_ends() -> None:
    calls, names = calls_of(line=12)
    assert [*names["halves"]([2, 4, 6])] == [1, 2, 3]
    assert (calls.ran, calls.raised) == (1, 0)


def test_a_line_in_no_function_is_not_counted() -> None:
    calls, names = calls_of(line=14)
    assert names["LIMIT"] == 1
    assert calls.ran == 0
