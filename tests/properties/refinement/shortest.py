"""Finds the shortest counterexample of a variant with a bug, by exploration."""

from __future__ import annotations

from checkers.explicit.exploration import Trace
from checkers.explicit.search import explore
from model.specs import find


def counterexample(spec: str, name: str, claim: str) -> Trace:
    variant = find(spec, name)
    assert variant.breaks == claim
    found = explore(variant.make(variant.at), properties=[claim])
    return found.discoveries[claim].trace
