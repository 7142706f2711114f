"""How each state was first reached: eight bytes a state, in the order in which they were found."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]


@dataclass
class Ancestry:
    """The states by number, each with the state and the transition that it was reached by."""

    _parents: list[Numbers] = field(default_factory=list)
    _labels: list[Numbers] = field(default_factory=list)

    def begin(self, initial: int) -> None:
        """The first states come from nowhere."""
        none = np.full(initial, -1, dtype=np.int32)
        self.add(none, none)

    def add(self, parents: Numbers, labels: Numbers) -> None:
        """More states."""
        self._parents.append(parents)
        self._labels.append(labels)

    def path_to(self, state: int) -> tuple[int, list[int]]:
        """The initial state that the way begins with, and the transitions along it."""
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
