"""A state of a spec that is cheap to copy. Each variable is a tree of rows, and several states can
share a row.

A row has the values of a variable for all values of its key. The values are stored in blocks of 64.
To change a value, only one block and the list of blocks are copied. So the time of a step depends
mostly on the number of values that the step writes. If a whole row is assigned to another variable,
both variables share the row.

The following table describes the main parts of this module:

    RowState    variable -> value; with a key, a row of values; with two keys, a row of rows
    Row.above   the positions with a value above a bound, found by the greatest value of each block
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

from model.language.interpreter import Cell, State, Value
from model.language.scope import Ranges
from model.language.terms import SortInfo, Variable

SHIFT: Final = 6
SIZE: Final = 1 << SHIFT
_MASK: Final = SIZE - 1

Held: TypeAlias = "Value | Row"


class Row:
    """An immutable array of a variable's values, one for each value of the variable's key. The
    first position belongs to the least key.

    If the variable has two keys, each element is the row for one value of the first key.
    """

    __slots__ = ("_blocks", "_greatest", "_size")

    def __init__(
        self,
        blocks: tuple[tuple[Held, ...], ...],
        size: int,
        greatest: tuple[int, ...] | None = None,
    ) -> None:
        self._blocks, self._size, self._greatest = blocks, size, greatest

    @classmethod
    def filled(cls, size: int, value: Held) -> Self:
        whole = (value,) * SIZE  # all full blocks share this object, which saves memory
        rest = ((value,) * (size & _MASK),) if size & _MASK else ()
        return cls((whole,) * (size >> SHIFT) + rest, size)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, position: int) -> Held:
        return self._blocks[position >> SHIFT][position & _MASK]

    def __iter__(self) -> Iterator[Held]:
        return (value for block in self._blocks for value in block)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and self._blocks == other._blocks

    __hash__ = None  # type: ignore[assignment]

    def put(self, position: int, value: Held) -> Row:
        k, at = position >> SHIFT, position & _MASK
        blocks, block = self._blocks, self._blocks[position >> SHIFT]
        if block[at] is value:
            return self
        changed = (*block[:at], value, *block[at + 1 :])
        greatest = self._greatest
        if greatest is not None:
            greatest = (*greatest[:k], _greatest(changed), *greatest[k + 1 :])
        return Row((*blocks[:k], changed, *blocks[k + 1 :]), self._size, greatest)

    def above(self, bound: int, start: int, stop: int) -> Iterator[int]:
        """Yields the positions from `start` to `stop - 1` whose value is above `bound`, in
        ascending order.

        The value None (`nothing`) counts as 0.
        """
        if self._greatest is None:
            self._greatest = tuple(_greatest(block) for block in self._blocks)
        for k in range(start >> SHIFT, ((stop - 1) >> SHIFT) + 1 if start < stop else 0):
            if self._greatest[k] > bound:
                first = k << SHIFT
                for at, value in enumerate(self._blocks[k], first):
                    if start <= at < stop and _number(value) > bound:
                        yield at


def _number(value: Held) -> int:
    assert not isinstance(value, Row)
    return int(value or 0)


def _greatest(block: tuple[Held, ...]) -> int:
    return max(map(_number, block))


@dataclass(frozen=True, slots=True, eq=False)
class RowState(Mapping[Cell, Value]):
    """A state that is cheap to copy. `held` maps the name of each variable to its value.

    The value of a variable with one key is a row. The value of a variable with two keys is a row of
    rows.
    """

    held: Mapping[str, Held]
    starts: Mapping[str, tuple[int, ...]]  # of each variable: the least element of each key's sort

    @classmethod
    def blank(
        cls, variables: Mapping[str, Variable], ranges: Ranges, least: Callable[[SortInfo], Value]
    ) -> Self:
        held: dict[str, Held] = {}
        for name, variable in variables.items():
            filled: Held = least(variable.value)
            for key in reversed(variable.keys):
                filled = Row.filled(len(ranges[key.name]), filled)
            held[name] = filled
        return cls(held, _starts(variables, ranges))

    @classmethod
    def of(cls, state: State, variables: Mapping[str, Variable], ranges: Ranges) -> Self:
        keys = {name: [ranges[k.name] for k in v.keys] for name, v in variables.items()}
        return cls(
            {name: _gathered(state, name, (), sorts) for name, sorts in keys.items()},
            _starts(variables, ranges),
        )

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RowState):
            return self.held == other.held
        return Mapping.__eq__(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, cell: Cell) -> Value:
        name, keys = cell
        found = self.held[name]
        for key, start in zip(keys, self.starts[name], strict=True):
            assert isinstance(found, Row)
            if not 0 <= key - start < len(found):
                raise KeyError(cell)
            found = found[key - start]
        assert not isinstance(found, Row)
        return found

    def part(self, name: str, keys: tuple[int, ...]) -> Held:
        """Returns the value of a variable at `keys`. If `keys` lacks some keys of the variable,
        returns a row with the values at all of the missing keys.

        States share the rows that no action changed. So if two states return the same object, all
        values in it are equal.
        """
        found = self.held[name]
        for key, start in zip(keys, self.starts[name], strict=False):
            assert isinstance(found, Row)
            found = found[key - start]
        return found

    def __iter__(self) -> Iterator[Cell]:
        for name, found in self.held.items():
            for keys in _keys(found, self.starts[name]):
                yield name, keys

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _starts(variables: Mapping[str, Variable], ranges: Ranges) -> dict[str, tuple[int, ...]]:
    return {name: tuple(ranges[k.name].start for k in v.keys) for name, v in variables.items()}


def _gathered(state: State, name: str, outer: tuple[int, ...], sorts: list[range]) -> Held:
    if not sorts:
        return state[name, outer]
    first, *rest = sorts
    row = Row.filled(len(first), _gathered(state, name, (*outer, first.start), rest))
    for key in first[1:]:
        row = row.put(key - first.start, _gathered(state, name, (*outer, key), rest))
    return row


def _keys(found: Held, starts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not isinstance(found, Row):
        yield ()
        return
    for key, inner in enumerate(found, starts[0]):
        for keys in _keys(inner, starts[1:]):
            yield key, *keys
