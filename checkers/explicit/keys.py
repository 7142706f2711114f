"""What a state is known by: a number of 64 bits, a linear form of its cells.

Where all states have a number below 2^64 it is that number, and says exactly which state it is.
Else it is a fingerprint with random weights. Two states whose cells differ by multiples of 2^k at
most share one with a chance of 2^k / 2^64.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.explicit.instance import Instance
from checkers.explicit.seen import Keys

Rows = NDArray[np.uint8]  # states, a row each
SEED = 2026


@dataclass(frozen=True)
class Numbering:
    """The keys of an instance's states; 0 is none."""

    at: Instance

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

    def keys(self, rows: Rows) -> Keys:
        """The keys of the states."""
        made: Keys = rows.astype(np.uint64) @ self.weights + np.uint64(1)
        return made

    def change(self, cell: int, old: Any, new: Any) -> Keys:
        """What is added to a key, modulo 2^64, when the cell changes so."""
        difference = np.subtract(new, old, dtype=np.int64).view(np.uint64)
        made: Keys = difference * self.weights[cell]
        return made

    def collision(self, states: int) -> float:
        """A bound on the chance that two of so many states share a key."""
        if self.exact:
            return 0.0
        return float(states) ** 2 / 2**65 * (1 << (max(self.sizes) - 1).bit_length() - 1)
