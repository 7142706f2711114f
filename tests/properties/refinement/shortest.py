"""The shortest counterexample of a buggy spec, as exploration finds it."""

from __future__ import annotations

from checkers.explicit.exploration import Trace
from checkers.explicit.search import explore
from model.specs import find


def counterexample(spec: str, name: str, claim: str) -> Trace:
    """Of the variant with this name, which has to be one that breaks the claim."""
    variant = find(spec, name)
    assert variant.breaks == claim
    found = explore(variant.make(variant.at), properties=[claim])
    return found.discoveries[claim].trace
