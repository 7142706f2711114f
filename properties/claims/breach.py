"""Two kinds of types: the violation of a claim in one run, and the functions that check claims.

If a claim must *always* hold, its check is a function that takes the observations of a run and
returns all violations. If a claim promises that something *can* happen, it has goals. The check of
a goal is a function that takes the observations of a run and returns True if the run reached the
goal. At least one run must reach each goal.
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
