"""A search finds a failing sequence of calls, and removes calls while the rest still fails."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from properties.suites.machines.judged import Shown, Tally
from properties.suites.search.searching import Found, replay, search

SIMPLER = {"by": (1, 2, 3)}


class Counter(RuleBasedStateMachine):
    """A Hypothesis state machine that adds to a number and doubles it.

    A run fails if it has doubled the number at least once and the number has reached the goal.
    """

    def __init__(self, goal: int, tally: Tally | None = None, breaks_at: int = 10**9) -> None:
        super().__init__()
        self.goal, self.tally, self.breaks_at = goal, tally or Tally(), breaks_at
        self.value, self.doubled = 0, False

    @rule(by=st.integers(1, 3))
    def add(self, by: int) -> None:
        self.value += by

    @rule()
    def double(self) -> None:
        self.value *= 2
        self.doubled = True

    @rule()
    def look(self) -> None:
        assert self.value < self.breaks_at

    def teardown(self) -> None:
        self.tally.add(1)
        if self.doubled and self.value >= self.goal:
            raise Shown("reached", str(self.value))


def test_a_smallest_program_is_found_and_runs_again() -> None:
    found = search(partial(Counter, 6), seed=0, runs=200, rules=8, simpler=SIMPLER)
    assert found is not None
    assert found.name == "reached"
    assert len(found.calls) <= 3  # a smallest one has two calls, and no neighbour is smaller
    assert int(found.how) >= 6
    again = replay(Counter(6), found.calls)
    assert again is not None
    assert str(again) == f"reached: {found.how}"
    for at in range(len(found.calls)):
        assert replay(Counter(6), found.calls[:at] + found.calls[at + 1 :]) is None


def test_a_found_program_is_shrunk_only_on_request() -> None:
    def found(*, shrinks: bool) -> Found:
        machine = partial(Counter, 6)
        result = search(machine, seed=0, runs=200, rules=8, simpler=SIMPLER, shrinks=shrinks)
        assert result is not None
        return result

    long = found(shrinks=False)
    assert len(long.calls) > len(found(shrinks=True).calls)
    assert replay(Counter(6), long.calls) is not None


def test_a_search_that_finds_nothing_counts_every_run() -> None:
    tally = Tally()
    assert search(partial(Counter, 10**6, tally), seed=0, runs=50, rules=5, simpler=SIMPLER) is None
    assert tally.runs >= 50
    assert tally.broker_steps == tally.runs


def test_equal_seeds_find_equal_programs() -> None:
    def found(seed: int) -> Found | None:
        return search(partial(Counter, 20), seed=seed, runs=200, rules=10, simpler=SIMPLER)

    assert found(1) == found(1) is not None


def test_progress_is_called_after_every_run() -> None:
    counted: list[int] = []
    tally = Tally(progress=lambda now: counted.append(now.runs))
    search(partial(Counter, 10**6, tally), seed=0, runs=20, rules=5, simpler=SIMPLER)
    assert counted == list(range(1, tally.runs + 1))


def test_other_exceptions_are_raised_to_the_caller() -> None:
    with pytest.raises(AssertionError):
        search(partial(Counter, 10**6, None, 3), seed=0, runs=200, rules=8, simpler=SIMPLER)
