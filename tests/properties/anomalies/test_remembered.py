"""A fact of a history is computed only once. For another history, it is computed again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from model.histories import History
from model.history_notation import history
from properties.anomalies.catalogue import catalogue
from properties.anomalies.declarations import Declarations
from properties.anomalies.remembered import remembered
from properties.delivery import deliveries
from tests.checkers.histories.mutated_histories import changed
from tests.checkers.histories.random_histories import PIPELINES, random_history

TEXT = "p1 send k=a -> ok @0"


def test_a_fact_is_computed_once_for_a_history_and_its_other_parameters() -> None:
    calls: list[tuple[int, int]] = []

    @remembered
    def fact(h: History, more: int = 0) -> int:
        calls.append((len(h), more))
        return len(h) + more

    one, equal = history(TEXT), history(TEXT)
    assert [fact(one), fact(one), fact(one, 2), fact(one), fact(one, more=2)] == [1, 1, 3, 1, 3]
    assert calls == [(1, 0), (1, 2), (1, 2)]
    assert fact(equal) == 1  # equal, but another object
    assert fact(one) == 1
    assert len(calls) == 5


def test_a_fact_that_fails_is_not_kept() -> None:
    ends: Iterator[ValueError | int] = iter([ValueError("first"), 7])

    @remembered
    def fact(h: History) -> int:
        end = next(ends)
        if isinstance(end, ValueError):
            raise end
        return end + 0 * len(h)

    h = history(TEXT)
    with pytest.raises(ValueError, match="first"):
        fact(h)
    assert fact(h) == 7


def generated() -> Iterator[History]:
    for seed in range(40):
        yield random_history(seed)
        yield random_history(seed, fs=PIPELINES, settled=0.8)
    for seed in range(4):
        yield changed(seed, steps=(200,))


@pytest.mark.parametrize("jepsen", [False, True])
def test_definitions_find_the_same_whether_or_not_facts_are_remembered(*, jepsen: bool) -> None:
    declared = Declarations(ww_deps=True, rw_deps=True, jepsen=jepsen)
    every = catalogue(declared)
    for h in generated():
        remembering = [(one.find(h), one.observed(h)) for one in every]
        assert remembering == [(one.find((*h,)), one.observed((*h,))) for one in every]
        assert deliveries(h, declared) == deliveries((*h,), declared)
