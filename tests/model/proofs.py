"""Finds out if a proof fails at an action."""

from __future__ import annotations

from checkers.symbolic import CounterexampleToInduction, counterexample_to_induction
from model.language import Scope, Spec


def assert_fails(spec: Spec, action: str, claim: str, scope: Scope | None = None) -> None:
    """Fails if no counterexample to induction shows that the action violates the claim."""
    found = counterexample_to_induction(spec, action, claim, scope=scope)
    assert isinstance(found, CounterexampleToInduction), found
