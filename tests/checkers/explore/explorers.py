"""Explorers of the specs, made once for all tests: tracing a spec takes longer than a test."""

from __future__ import annotations

from functools import cache

from checkers.explore.requests import Explorer
from checkers.explore.walks import Walk


@cache
def explorer_of(spec: str) -> Explorer:
    return Explorer(opened={"spec": spec})


def walk_of(spec: str) -> Walk:
    """Returns the walk of the spec's default variant, which its explorer uses too."""
    explorer = explorer_of(spec)
    walk, _ = explorer._walk({})
    return walk
