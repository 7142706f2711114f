"""A hash set of 64-bit keys with bulk insertion, by open addressing in one NumPy array.

All keys of a call are inserted together, without sorting. If several keys find the same empty slot
(a slot with 0), one of them is stored there. Each of the remaining keys finds in the next round
that the slot has an equal key, or tries the next slot.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
SPREAD = np.uint64(0x9E37_79B9_7F4A_7C15)  # Knuth's multiplier: spreads neighbouring keys
FULL = 0.6  # load factor at which the table doubles


class Seen:
    """A set of 64-bit keys. The key 0 is not allowed."""

    def __init__(self) -> None:
        self._bits = 16
        self._table: Keys = np.zeros(1 << self._bits, dtype=np.uint64)
        self.count = 0

    def add(self, keys: Keys) -> NDArray[np.int64]:
        """Adds the keys to the set. Returns the positions in `keys` of the keys that were not in
        the set, in ascending order.

        If `keys` contains a new key twice, only one of its positions is returned.
        """
        while self.count + len(keys) > FULL * len(self._table):
            self._grow()
        new = self._add(keys)
        self.count += len(new)
        return np.sort(new)

    def _add(self, keys: Keys) -> NDArray[np.int64]:
        table, mask = self._table, len(self._table) - 1
        place = ((keys * SPREAD) >> np.uint64(64 - self._bits)).astype(np.int64)
        pending = np.arange(len(keys))
        new: list[NDArray[np.int64]] = []
        while len(pending):
            at = place[pending]
            found = table[at]
            empty = found == 0
            occupied = ~empty & (found != keys[pending])
            claims, there = pending[empty], at[empty]
            table[there] = (claims + 1).astype(np.uint64)
            won = table[there] == (claims + 1).astype(np.uint64)
            table[there[won]] = keys[claims[won]]
            new.append(claims[won])
            moved = pending[occupied]
            place[moved] = (at[occupied] + 1) & mask
            pending = np.concatenate([claims[~won], moved])
        return np.concatenate(new) if new else np.zeros(0, dtype=np.int64)

    def _grow(self) -> None:
        old = self._table[self._table != 0]
        self._bits += 1
        self._table = np.zeros(1 << self._bits, dtype=np.uint64)
        self._add(old)
