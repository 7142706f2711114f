"""Explores the reachable states of a spec at a finite scope, such as 3 replicas.

The search is breadth-first. If a level of the search has many states, the search continues from a
random sample of these states. So it also reaches deep states of a large spec. Equal seeds give
equal states.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any, Final

import numpy as np

from checkers.explicit.actions import Program
from checkers.explicit.instance import Packed

States = np.ndarray[Any, Any]  # of uint8: a row for each state, a column for each cell

MOST: Final = 30_000  # states; the last level may exceed it
WIDEST: Final = 2_000  # states of a level from which the search goes on


def reached(
    program: Program,
    starts: Iterable[Packed],
    *,
    most: int = MOST,
    widest: int = WIDEST,
    seed: int = 0,
) -> list[Packed]:
    """Returns states that are reachable from `starts`.

    The search proceeds level by level. It continues from at most `widest` states of each level,
    which are drawn at random. The search ends at a level without a new state, or when it has at
    least `most` states at the end of a level.
    """
    drawn = Random(seed)
    seen = dict.fromkeys(starts)
    level = list(seen)
    while level and len(seen) < most:
        out: list[tuple[int, Packed]] = []
        for state in level if len(level) <= widest else drawn.sample(level, widest):
            program.successors(state, out.append)
        level = list(dict.fromkeys(after for _, after in out if after not in seen))
        seen.update(dict.fromkeys(level))
    return list(seen)


def rows(states: Iterable[Packed]) -> States:
    found = list(states)
    return np.frombuffer(b"".join(found), dtype=np.uint8).reshape(len(found), -1)
