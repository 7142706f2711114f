"""The type of a claim's violation by one run, and the types of the checks of claims.

A claim that must *always* hold has a function from the observations of a run to all violations. A
claim that something *can* happen has goals, and some run must reach each goal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Breach(NamedTuple):
    claim: str
    why: str

    def __str__(self) -> str:
        return f"{self.claim}: {self.why}"


# By claim, and by claim and goal. Each suite has its own type of observations.
Always = Mapping[str, Callable[[Any], tuple[Breach, ...]]]
Sometimes = Mapping[str, Mapping[str, Callable[[Any], bool]]]
