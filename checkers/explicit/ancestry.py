"""Stores the predecessor of each state, and the transition from it, in eight bytes for each
state.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]


@dataclass
class Ancestry:
    _parents: list[Numbers] = field(default_factory=list)
    _labels: list[Numbers] = field(default_factory=list)

    def begin(self, initial: int) -> None:
        none = np.full(initial, -1, dtype=np.int32)
        self.add(none, none)

    def add(self, parents: Numbers, labels: Numbers) -> None:
        """Adds newly found states. Each of them has the number of its predecessor in `parents`,
        and the number of the transition from the predecessor in `labels`.
        """
        self._parents.append(parents)
        self._labels.append(labels)

    def path_to(self, state: int) -> tuple[int, list[int]]:
        """Returns a path from an initial state to `state`: the number of the initial state, and
        the list of the path's transitions.
        """
        ends = np.cumsum([len(x) for x in self._parents])
        labels: list[int] = []
        while True:
            block = int(np.searchsorted(ends, state, side="right"))
            row = state - (int(ends[block - 1]) if block else 0)
            parent = int(self._parents[block][row])
            if parent < 0:
                return state, labels[::-1]
            labels.append(int(self._labels[block][row]))
            state = parent
