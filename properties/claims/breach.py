"""What a literal claim says of a run: the ways in which it is broken, or whether a goal is reached.

A claim that holds *always* is a function from what was observed to its breaches. A claim that
something *can* happen is a set of goals, each of which has to be witnessed by some run.
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


# By claim; and by claim and goal. Each suite observes runs of its own kind.
Always = Mapping[str, Callable[[Any], tuple[Breach, ...]]]
Sometimes = Mapping[str, Mapping[str, Callable[[Any], bool]]]
