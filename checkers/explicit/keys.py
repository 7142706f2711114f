"""What a state is known by: a number of 64 bits, a linear form of its cells.

Where all states have a number below 2^64 it is that number, and says exactly which state it is.
Else it is a fingerprint with random weights. Two states whose cells differ by multiples of 2^k at
most share one with a chance of 2^k / 2^64.

Under symmetry a state has a key for each exchange of elements, that of the exchanged state, and its
*name* is the least of them: states that differ by an exchange share it, and none is ever built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.explicit.instance import Instance
from checkers.explicit.seen import Keys
from checkers.explicit.symmetry import Exchange, exchanged

Rows = NDArray[np.uint8]  # states, a row each
SEED = 2026


@dataclass(frozen=True)
class Numbering:
    """The keys of an instance's states, a row each, a column for each exchange; 0 is none."""

    at: Instance
    exchanges: Sequence[Exchange] = ({},)

    @cached_property
    def sizes(self) -> list[int]:
        return [self.at.size(sort) for _, sort in self.at.cells]

    @property
    def exact(self) -> bool:
        """Whether a key says which state it is."""
        return prod(self.sizes) < 2**64 - 1

    @cached_property
    def weights(self) -> Keys:
        """What each cell counts."""
        if self.exact:
            places = [prod(self.sizes[k + 1 :]) for k in range(len(self.sizes))]
            return np.array(places, dtype=np.uint64)
        drawn = Random(SEED)
        return np.array([drawn.getrandbits(64) | 1 for _ in self.sizes], dtype=np.uint64)

    @cached_property
    def _parts(self) -> list[Keys]:
        """For each cell: what each of its values adds to the keys."""
        moved = [exchanged(self.at, exchange) for exchange in self.exchanges]
        parts: list[Keys] = []
        for cell, size in enumerate(self.sizes):
            columns = [
                np.array(become, dtype=np.uint64) * self.weights[place]
                for place, become in (moves[cell] for moves in moved)
            ]
            parts.append(np.array(columns, dtype=np.uint64).reshape(len(columns), size).T.copy())
        return parts

    def keys(self, rows: Rows) -> Keys:
        """The keys of the states."""
        made: Keys = np.ones((len(rows), len(self.exchanges)), dtype=np.uint64)
        for cell, part in enumerate(self._parts):
            made += part[rows[:, cell]]
        return made

    def change(self, cell: int, old: Any, new: Any) -> Keys:
        """What is added to the keys, modulo 2^64, when the cell changes so."""
        if len(self.exchanges) == 1:
            difference = np.subtract(new, old, dtype=np.int64).view(np.uint64)
            alone: Keys = (difference * self.weights[cell])[:, None]
            return alone
        part = self._parts[cell]
        made: Keys = part[np.asarray(new, dtype=np.intp)] - part[np.asarray(old, dtype=np.intp)]
        return made

    @staticmethod
    def names(keys: Keys) -> Keys:
        """What the states are known by: the least of their keys."""
        made: Keys = keys[:, 0] if keys.shape[1] == 1 else keys.min(axis=1)
        return made

    def collision(self, states: int) -> float:
        """A bound on the chance that two of so many states share a key."""
        if self.exact:
            return 0.0
        named = float(states) * len(self.exchanges)
        return named * states / 2**65 * (1 << (max(self.sizes) - 1).bit_length() - 1)
