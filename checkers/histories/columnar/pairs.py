from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.histories.columnar.fingerprints import Ints, mixed
from checkers.histories.columnar.sorting import Mask, NumberSet


@dataclass(frozen=True, slots=True)
class Pairs:
    """A set of pairs of numbers, such as (key, value), with a fast search for many pairs in one
    call.
    """

    values: NumberSet
    both: NumberSet  # hashes of key and value

    @classmethod
    def of(cls, keys: Ints, values: Ints) -> Pairs:
        return cls(NumberSet.of(values), NumberSet.of(hash_of_pair(keys, values)))

    def have(self, key: Ints, value: Ints) -> Mask:
        found = self.values.has(value)
        some = np.flatnonzero(found)
        found[some] = self.both.has(hash_of_pair(key.take(some), value.take(some)))
        return found


_NO_NUMBERS: Final = np.zeros(0, dtype=np.int64)
NO_PAIRS: Final = Pairs(NumberSet.of(_NO_NUMBERS), NumberSet.of(_NO_NUMBERS))


def pairs_in(key: Ints, value: Ints, keys: Ints, values: Ints) -> Mask:
    return Pairs.of(keys, values).have(key, value)


def hash_of_pair(first: Ints, second: Ints) -> Ints:
    """Returns a hash of each pair of numbers. Two different pairs have the same hash with a
    probability of 2**-64.
    """
    return mixed(first.view(np.uint64) ^ mixed(second.view(np.uint64))).view(np.int64)
