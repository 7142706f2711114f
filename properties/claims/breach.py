"""The result of checking a claim on one run: its violations.

A claim that must *always* hold is a function that returns the violations in what a run observed. A
claim that something *can* happen is a set of goals; each goal must be reached by some run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Breach(NamedTuple):
    """One violation of a claim by a run."""

    claim: str
    why: str

    def __str__(self) -> str:
        return f"{self.claim}: {self.why}"


# By claim, and by claim and goal. Each suite has its own type of observations.
Always = Mapping[str, Callable[[Any], tuple[Breach, ...]]]
Sometimes = Mapping[str, Mapping[str, Callable[[Any], bool]]]
