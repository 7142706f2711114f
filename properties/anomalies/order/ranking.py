"""Jepsen's rule for values and offsets: one value for each offset of a log, one offset per value.

The rule is used only with the option `--jepsen`. Without the option, the rule of `own_offsets` is
used.

If several values were observed at an offset, the rule chooses one of them:

- If all values are integers, the rule chooses the value that Jepsen uses: the first value of a
  Clojure hash set. So the verdicts agree with Jepsen's.
- Otherwise, the rule chooses the least value in text order.

If a value is chosen at several offsets, the offset of the value is the largest of them.

Source: jepsen.tests.kafka version-orders; Clojure: clojure.lang.PersistentHashSet and Murmur3, for
longs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final

from model.histories import History
from properties.anomalies.observations import KeyValue, observations, trusted_observations
from properties.anomalies.remembered import remembered

_INTEGER: Final = re.compile(r"-?\d{1,18}")
_MASK: Final = 2**32 - 1
_BITS: Final = 5  # bits of a hash that choose the branch at each level of the set


def ranked(values: Collection[str]) -> str:
    """Returns the value that Jepsen's checker uses, out of the values that were observed at one
    offset.

    If some value is not an integer, the function returns the least value in text order.
    """
    # integers: the one that a Clojure hash set has first; else the least text
    if all(map(_INTEGER.fullmatch, values)):
        return min(values, key=lambda value: _branches(int(value)))
    return min(values)


def _branches(number: int) -> tuple[int, ...]:
    # The path in a Clojure hash set: the hash, five bits at a time.
    hashed = _murmur3(number)
    return tuple((hashed >> at) & (2**_BITS - 1) for at in range(0, 35, _BITS))


def _murmur3(number: int) -> int:
    if not number:
        return 0
    made = 0
    for half in (number & _MASK, (number >> 32) & _MASK):
        word = _rotated_left(half * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
        made = (_rotated_left(made ^ word, 13) * 5 + 0xE6546B64) & _MASK
    made ^= 8
    made = (made ^ (made >> 16)) * 0x85EBCA6B & _MASK
    made = (made ^ (made >> 13)) * 0xC2B2AE35 & _MASK
    return made ^ (made >> 16)


def _rotated_left(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _MASK


@remembered
def ranks(history: History) -> Mapping[KeyValue, int]:
    """Maps each (topic partition, value) to one offset, which is chosen as in Jepsen's checker.

    If several values were observed at an offset, the checker's rule chooses one of them. A value
    that the rule chooses at no offset is not in the result.
    """
    seen: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for it in observations(history):
        seen[it.key, it.offset].add(it.value)
    chosen = {location: ranked(values) for location, values in seen.items()}
    rank: dict[KeyValue, int] = {}
    for it in trusted_observations(history):
        if chosen[it.key, it.offset] == it.value:
            last = rank.get((it.key, it.value), it.offset)
            rank[it.key, it.value] = max(last, it.offset)
    return rank
