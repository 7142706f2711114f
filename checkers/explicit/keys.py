"""The key of a state in the NumPy engine: a weighted sum of its bytes, in 64 bits.

If a spec has fewer than 2^64 - 1 possible states, different states have different keys. Otherwise
the key is a hash with random weights. Two states have the same key with probability 2^(k-64). Here,
2^k is the largest power of two that divides all differences between corresponding bytes of the two
states.

With symmetry reduction, a state has one key for each of its permutations. The least of these keys
is *canonical*: all states of a symmetry class have the same canonical key.
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
from checkers.explicit.symmetry import Permutation, permuted

Rows = NDArray[np.uint8]  # one row for each state
SEED = 2026


@dataclass(frozen=True)
class Numbering:
    """Computes the 64-bit keys of states. The number 0 is never a key.

    The method `keys` returns an array with one row for each state, and one column for each
    permutation of the symmetry reduction.
    """

    at: Instance
    permutations: Sequence[Permutation] = ({},)

    @cached_property
    def sizes(self) -> list[int]:
        return [self.at.size(sort) for _, sort in self.at.cells]

    @property
    def exact(self) -> bool:
        """Returns True if different states always have different keys."""
        return prod(self.sizes) < 2**64 - 1

    @cached_property
    def weights(self) -> Keys:
        """Returns the weight of each byte of a state. If keys are exact, a key is a number whose
        digits are the bytes, and the weights are the place values of these digits. Otherwise the
        weights are random.
        """
        if self.exact:
            places = [prod(self.sizes[k + 1 :]) for k in range(len(self.sizes))]
            return np.array(places, dtype=np.uint64)
        drawn = Random(SEED)
        return np.array([drawn.getrandbits(64) for _ in self.sizes], dtype=np.uint64)

    @cached_property
    def _parts(self) -> list[Keys]:
        moved = [permuted(self.at, permutation) for permutation in self.permutations]
        parts: list[Keys] = []
        for cell, size in enumerate(self.sizes):
            columns = [
                np.array(become, dtype=np.uint64) * self.weights[place]
                for place, become in (moves[cell] for moves in moved)
            ]
            parts.append(np.array(columns, dtype=np.uint64).reshape(len(columns), size).T.copy())
        return parts

    def keys(self, rows: Rows) -> Keys:
        made: Keys = np.ones((len(rows), len(self.permutations)), dtype=np.uint64)
        for cell, part in enumerate(self._parts):
            made += part[rows[:, cell]]
        return made

    def change(self, cell: int, old: Any, new: Any) -> Keys:
        """Returns the numbers to add to the keys of states, modulo 2^64, if the byte `cell` of each
        state changes from `old` to `new`.

        The result is an array with a row for each state, and a column for each permutation of the
        symmetry reduction.
        """
        if len(self.permutations) == 1:
            difference = np.subtract(new, old, dtype=np.int64).view(np.uint64)
            alone: Keys = (difference * self.weights[cell])[:, None]
            return alone
        part = self._parts[cell]
        made: Keys = part[np.asarray(new, dtype=np.intp)] - part[np.asarray(old, dtype=np.intp)]
        return made

    @staticmethod
    def canonical(keys: Keys) -> Keys:
        """Returns the canonical key of each state: the least of the keys of its permutations."""
        made: Keys = keys[:, 0] if keys.shape[1] == 1 else keys.min(axis=1)
        return made

    def collision(self, states: int) -> float:
        """Returns an upper bound on the probability that two states have the same key, if there are
        `states` different states.
        """
        if self.exact:
            return 0.0
        keys = float(states) * len(self.permutations)
        return keys * states / 2**65 * (1 << (max(self.sizes) - 1).bit_length() - 1)
