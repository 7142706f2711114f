"""Computes fingerprints of texts: 64-bit hashes that are compared instead of the texts.

The hash function processes a text in steps of eight bytes, and each step is a bijection. So two
different texts of the same length up to eight bytes never have the same hash. Any other two texts
have the same hash with a probability of 2**-64. A text of more than 4,096 bytes is hashed by
BLAKE2b instead.

For the rows that an analysis reports, the analysis reads the texts too. So it detects two reported
texts with the same hash.

Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (the mixing).
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]

NULL: Final = 0  # the fingerprint of null
_WORD: Final = 8
_AT_ONCE: Final = 1 << 15  # texts; their intermediate arrays fit into the processor's cache
_LONG: Final = 1 << 12  # bytes; one long text would keep all texts of its batch in the loop
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


def mixed(words: _Words) -> _Words:
    """Returns each 64-bit word with its bits mixed. Different words have different results."""
    words = words + _GOLDEN  # a copy; it is changed in place
    words ^= words >> np.uint64(30)
    words *= _FIRST
    words ^= words >> np.uint64(27)
    words *= _SECOND
    words ^= words >> np.uint64(31)
    return words


def fingerprints(texts: pa.Array, hash_seed: int = 0) -> Ints:
    """Returns a 64-bit hash of each text, and `NULL` for null.

    `hash_seed` selects one of many hash functions.
    """
    texts = texts.cast(pa.large_string())
    numbers = np.zeros(len(texts), dtype=np.int64)
    for first in range(0, len(texts), _AT_ONCE):
        numbers[first : first + _AT_ONCE] = _hashes(texts.slice(first, _AT_ONCE), hash_seed)
    if texts.null_count:
        numbers[texts.is_null().to_numpy(zero_copy_only=False)] = NULL
    return numbers


def _hashes(texts: pa.Array, hash_seed: int) -> Ints:
    _, ends, data = texts.buffers()
    bounds = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    first, end = int(bounds[0]), int(bounds[-1])
    starts, lengths = bounds[:-1] - first, np.diff(bounds)
    held = np.zeros(end - first + _WORD, dtype=np.uint8)
    if data is not None:
        held[:-_WORD] = np.frombuffer(data, np.uint8)[first:end]
    words: Any = np.ndarray((len(held) - _WORD + 1,), "<u8", held, strides=(1,))
    made = mixed(lengths.astype(np.uint64) + mixed(np.full(1, hash_seed, np.uint64)))
    held_long = np.flatnonzero(lengths > _LONG)
    for row in held_long.tolist():
        text = held[starts[row] : starts[row] + lengths[row]]
        made[row] = int.from_bytes(
            blake2b(text.data, digest_size=_WORD, salt=made[row].tobytes()).digest(), "little"
        )
    lengths = np.where(lengths > _LONG, 0, lengths)
    shortest = int(lengths.min())
    for at in range(0, int(lengths.max()), _WORD):
        some = np.flatnonzero(lengths > at) if at >= shortest else slice(None)
        word = words[starts[some] + at]
        if shortest < at + _WORD:
            left = np.minimum(lengths[some] - at, _WORD).astype(np.uint64)
            word &= np.uint64(2**64 - 1) >> (np.uint64(64) - np.uint64(8) * left)
        made[some] = mixed(made[some] ^ word)
    return made.view(np.int64)
