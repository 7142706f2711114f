"""The stored form of a state, in which every value uses as many bits as its type needs.

A value never crosses the border between two bytes, so SIMD code can unpack the value in many states
at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from checkers.explicit.instance import Instance, Packed

WORD, BYTE = 64, 8  # bits


@dataclass(frozen=True)
class Layout:
    at: Instance

    @cached_property
    def places(self) -> list[tuple[int, int, int]]:
        """The position of each value in the stored form of a state: the number of its 64-bit
        word, its shift in this word, and its width in bits.
        """
        widths = [(self.at.size(sort) - 1).bit_length() for _, sort in self.at.cells]
        used: list[int] = [0]
        made = [(0, 0, 0)] * len(widths)
        for cell in sorted(range(len(widths)), key=lambda c: -widths[c]):
            width = widths[cell]
            byte = next((k for k, bits in enumerate(used) if bits + width <= BYTE), len(used))
            used += [0] * (byte == len(used))
            word, first = divmod(BYTE * byte, WORD)
            made[cell] = (word, first + used[byte], width)
            used[byte] += width
        return made

    @property
    def words(self) -> int:
        return 1 + max((word for word, _, _ in self.places), default=0)

    @property
    def state_bytes(self) -> int:
        bits = [8 * 8 * word + shift + width for word, shift, width in self.places]
        return max(1, (max(bits, default=0) + 7) // 8)

    def stored(self, state: Packed) -> bytes:
        """Returns the stored form of a packed state. A packed state has one byte for each value."""
        number = 0
        for raw, (word, shift, _) in zip(state, self.places, strict=True):
            number |= raw << (WORD * word + shift)
        return number.to_bytes(self.state_bytes, "little")

    def loaded(self, stored: bytes) -> Packed:
        """Returns the packed state (one byte for each value) that has this stored form."""
        number = int.from_bytes(stored, "little")
        return bytes(
            number >> (WORD * word + shift) & ((1 << width) - 1)
            for word, shift, width in self.places
        )
