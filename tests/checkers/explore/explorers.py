"""All tests share one explorer for each spec, because making an explorer takes longer than a
test.
"""

from __future__ import annotations

from functools import cache

from checkers.explore.requests import Explorer
from checkers.explore.walks import Walk


@cache
def explorer_of(spec: str) -> Explorer:
    return Explorer(opened={"spec": spec})


def walk_of(spec: str) -> Walk:
    """Returns the object with which the explorer takes steps of the spec's default variant."""
    explorer = explorer_of(spec)
    walk, _ = explorer._walk({})
    return walk
