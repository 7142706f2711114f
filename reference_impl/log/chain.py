"""An immutable sequence that grows at its end in constant time.

A log is an immutable value. If its segments were a tuple, every append would copy the tuple. The
versions of a chain share one list instead. Each line has a version and its content:

    shared list              [a][b][c]
    the version a b c        first 2 items of the list, and its own c
    the version a b c d      first 3 items of the list, and its own d
    the version a b c e      first 3 items of the list, and its own e (instead of d)

Only the newest version may add items to the list. An append to any other version copies the items
of this version first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar, overload

T = TypeVar("T")


class Chain(Sequence[T]):
    """An immutable sequence. It is equal to a chain or a tuple with equal items."""

    __slots__ = ("_before", "_last", "_shared")

    _shared: list[T]
    _before: int  # how many items of the list come before the last item
    _last: tuple[T, ...]  # the last item; empty if the chain is empty

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._shared = [*items]
        self._last = (self._shared.pop(),) if self._shared else ()
        self._before = len(self._shared)

    def plus(self, item: T) -> Chain[T]:
        if not self._last:
            return _chain([], 0, (item,))  # the empty chain shares nothing
        before = self._before + 1
        shared = self._shared
        if len(shared) != self._before:
            shared = shared[: self._before]  # another version has appended to the list
        shared.extend(self._last)
        return _chain(shared, before, (item,))

    def with_last(self, item: T) -> Chain[T]:
        """Returns the sequence with `item` instead of its last item. Raises IndexError if the
        sequence is empty.
        """
        if not self._last:
            raise IndexError("an empty chain has no last item")
        return _chain(self._shared, self._before, (item,))

    def __len__(self) -> int:
        return self._before + len(self._last)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Chain[T]: ...
    def __getitem__(self, at: int | slice) -> T | Chain[T]:
        if isinstance(at, slice):
            return Chain([*self][at])
        size = len(self)
        index = at + size if at < 0 else at
        if not 0 <= index < size:
            raise IndexError(f"item {at} of a chain of {size}")
        return self._shared[index] if index < self._before else self._last[0]

    def __iter__(self) -> Iterator[T]:
        return self.since(0)

    def since(self, start: int) -> Iterator[T]:
        """Yields the items from the index `start` on, without a copy of the sequence."""
        yield from islice(self._shared, start, self._before)
        if start <= self._before:
            yield from self._last

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Chain | tuple):
            return NotImplemented
        return self is other or (len(self) == len(other) and tuple(self) == tuple(other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Chain({[*self]!r})"

    def __reduce__(self) -> tuple[type[Chain[T]], tuple[tuple[T, ...]]]:
        return Chain, (tuple(self),)


def _chain(shared: list[T], before: int, last: tuple[T, ...]) -> Chain[T]:
    chain: Chain[T] = Chain.__new__(Chain)
    chain._shared, chain._before, chain._last = shared, before, last
    return chain
