"""Where values rank in a log whose offsets may have several values.

Where everybody saw one value at an offset, it ranks there. Where two were seen, the order of the
log is in doubt: one of them ranks there, the others do not. Of a value at several offsets the last
at which it ranks counts. Which value ranks is arbitrary: Jepsen takes the first of a hash set; of
integers the same one is taken here, so that the verdicts are the same, and else the least.

Source: jepsen.tests.kafka version-orders; clojure.lang.PersistentHashSet and Murmur3, for longs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final

from model.histories import History
from properties.anomalies.observations import KeyValue, placings, sightings

_INTEGER: Final = re.compile(r"-?\d{1,18}")
_MASK: Final = 2**32 - 1
_BITS: Final = 5  # of a hash that choose a branch in each level of the set


def ranked(values: Collection[str]) -> str:
    """The one of these values that ranks at their offset."""
    if all(map(_INTEGER.fullmatch, values)):
        return min(values, key=lambda value: _branches(int(value)))
    return min(values)


def _branches(number: int) -> tuple[int, ...]:
    """The way to a number in a hash set: its hash, five bits at a time from the lowest."""
    of_all = _murmur3(number)
    return tuple((of_all >> at) & (2**_BITS - 1) for at in range(0, 35, _BITS))


def _murmur3(number: int) -> int:
    """Murmur3 of a long, as Clojure has it."""
    if not number:
        return 0
    made = 0
    for half in (number & _MASK, (number >> 32) & _MASK):
        word = _turned(half * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
        made = (_turned(made ^ word, 13) * 5 + 0xE6546B64) & _MASK
    made ^= 8
    made = (made ^ (made >> 16)) * 0x85EBCA6B & _MASK
    made = (made ^ (made >> 13)) * 0xC2B2AE35 & _MASK
    return made ^ (made >> 16)


def _turned(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _MASK


def ranks(history: History) -> Mapping[KeyValue, int]:
    """For each key and value the last offset at which it ranks; those without one are not there."""
    seen: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    for sighting in sightings(history):
        seen[sighting.key, sighting.offset].add(sighting.value)
    first = {place: ranked(values) for place, values in seen.items()}
    made: dict[KeyValue, int] = {}
    for placing in placings(history):
        if first[placing.key, placing.offset] == placing.value:
            known = made.get((placing.key, placing.value), placing.offset)
            made[placing.key, placing.value] = max(known, placing.offset)
    return made
