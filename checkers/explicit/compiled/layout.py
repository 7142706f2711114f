"""The stored form of a state: every variable takes as many bits as its sort needs.

A variable with keys takes these bits for each key. No value is in two bytes, so one SIMD
instruction unpacks the same byte of many states. Bytes form 64-bit words. A write changes its word
by one mask and one shift.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from checkers.explicit.instance import Instance, Packed

WORD, BYTE = 64, 8  # bits


@dataclass(frozen=True)
class Layout:
    """The location of each variable, at each of its keys, in the stored form of a state."""

    at: Instance

    @cached_property
    def places(self) -> list[tuple[int, int, int]]:
        """Returns the word, the shift and the width in bits of each value of a state.

        The widest values come first, each in the first byte with enough free bits.
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
        """Returns the stored form of a state that has one byte for each value."""
        number = 0
        for raw, (word, shift, _) in zip(state, self.places, strict=True):
            number |= raw << (WORD * word + shift)
        return number.to_bytes(self.state_bytes, "little")

    def loaded(self, stored: bytes) -> Packed:
        """Converts the stored form of a state to a state with one byte for each value."""
        number = int.from_bytes(stored, "little")
        return bytes(
            number >> (WORD * word + shift) & ((1 << width) - 1)
            for word, shift, width in self.places
        )
