"""Runs an analysis plan in a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from checkers.histories.plan.dataset import Dataset
from checkers.histories.plan.scheduler import HashCollision, run
from checkers.histories.plan.stage import Plan, Source

ResultT = TypeVar("ResultT")


def result_of(plan: Plan[ResultT], sources: Mapping[Source, Callable[[], Dataset]]) -> ResultT:
    """Returns the result of a query plan; fails if two texts have the same fingerprint."""
    result = run(plan, sources)
    assert not isinstance(result, HashCollision)
    return result
