"""The result of a literal claim on a run: its breaches, or whether a goal is reached.

A claim that must *always* hold is a function from the observations of a run to its breaches. A
claim that something *can* happen is a set of goals, each of which some run must show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Breach(NamedTuple):
    """One way in which a run breaks a claim."""

    claim: str
    why: str

    def __str__(self) -> str:
        return f"{self.claim}: {self.why}"


# By claim, and by claim and goal. Each suite has its own type of observations.
Always = Mapping[str, Callable[[Any], tuple[Breach, ...]]]
Sometimes = Mapping[str, Mapping[str, Callable[[Any], bool]]]
