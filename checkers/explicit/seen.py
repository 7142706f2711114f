"""A set of 64-bit keys that is asked about many at once: open addressing in one NumPy array.

A key that finds its place empty writes the number of its question there and reads it back: of those
that ask for one place one wins, and writes itself. The others look again, and find themselves or a
stranger, whose next neighbour they then ask. So equal keys of one question are told apart without
sorting. Sixteen bytes a key at most, eight at least; 0 is no key.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
SPREAD = np.uint64(0x9E37_79B9_7F4A_7C15)  # Knuth's multiplier: neighbours end far apart
FULL = 0.6  # of the places; beyond it the table doubles


class Seen:
    """The keys that were added."""

    def __init__(self) -> None:
        self._bits = 16
        self._table: Keys = np.zeros(1 << self._bits, dtype=np.uint64)
        self.count = 0

    def add(self, keys: Keys) -> NDArray[np.int64]:
        """Adds the keys; where those stand that are new, each once, ascending."""
        while self.count + len(keys) > FULL * len(self._table):
            self._grow()
        new = self._add(keys)
        self.count += len(new)
        return np.sort(new)

    def _add(self, keys: Keys) -> NDArray[np.int64]:
        table, mask = self._table, len(self._table) - 1
        place = ((keys * SPREAD) >> np.uint64(64 - self._bits)).astype(np.int64)
        asking = np.arange(len(keys))
        new: list[NDArray[np.int64]] = []
        while len(asking):
            at = place[asking]
            found = table[at]
            empty = found == 0
            strange = ~empty & (found != keys[asking])
            claiming, there = asking[empty], at[empty]
            table[there] = (claiming + 1).astype(np.uint64)
            won = table[there] == (claiming + 1).astype(np.uint64)
            table[there[won]] = keys[claiming[won]]
            new.append(claiming[won])
            moved = asking[strange]
            place[moved] = (at[strange] + 1) & mask
            asking = np.concatenate([claiming[~won], moved])
        return np.concatenate(new) if new else np.zeros(0, dtype=np.int64)

    def _grow(self) -> None:
        old = self._table[self._table != 0]
        self._bits += 1
        self._table = np.zeros(1 << self._bits, dtype=np.uint64)
        self._add(old)
