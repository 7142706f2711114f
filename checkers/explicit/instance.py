"""A spec at a finite scope, and how its states are packed.

A state is `bytes`, one cell a byte. Values are shifted to start at 0 (an integer sort of -1..3 is
kept as 0..4) and `nothing` is 0 with the elements above it: every least value is 0, so what an
initial condition leaves out needs no code, and the hash of a state is the hash of its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from model.language.expressions import SpecError
from model.language.interpreter import Cell, State, Value
from model.language.scope import Ranges, Scope, ranges_of
from model.language.spec import Spec, title_of
from model.language.terms import SortInfo, Variable

Packed = bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Where the cells of a variable begin, and how far apart each key sets them."""

    start: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Instance:
    """A spec at a finite scope; sorts are looked up by name."""

    spec: Spec
    ranges: Ranges

    @classmethod
    def of(cls, spec: Spec, scope: Scope | None = None) -> Instance:
        """The spec at the given scope, or at the one that it brings."""
        return cls(spec, ranges_of(spec.scope() if scope is None else scope))

    def elements(self, sort: SortInfo) -> range:
        if sort.name not in self.ranges:
            raise SpecError(
                f"{title_of(self.spec)} has no scope for the sort {sort.name}\n"
                f"  say how many to explore, for example {{{sort.name}: 2}}"
            )
        return self.ranges[sort.name]

    def size(self, sort: SortInfo) -> int:
        """How many values a cell of the sort can take, `nothing` among them if optional."""
        return len(self.elements(sort)) + sort.optional

    @cached_property
    def blocks(self) -> dict[str, Block]:
        out: dict[str, Block] = {}
        start = 0
        for variable in self.spec.variables:
            sizes = [self.size(key) for key in variable.keys]
            strides = tuple(prod(sizes[i + 1 :]) for i in range(len(sizes)))
            out[variable.name] = Block(start=start, strides=strides)
            start += prod(sizes)
            self.size(variable.value)  # a missing scope is found here, not in the search
        for v in self.spec.variables:  # a step is the state before, then the state after
            block = out[v.name]
            out[v.after.name] = Block(start=start + block.start, strides=block.strides)
        return out

    @cached_property
    def cells(self) -> tuple[tuple[Cell, SortInfo], ...]:
        """Every cell in the order of its byte, with the sort of its value."""
        return tuple(
            ((variable.name, keys), variable.value)
            for variable in self.spec.variables
            for keys in self.keys_of(variable)
        )

    def keys_of(self, variable: Variable) -> list[tuple[int, ...]]:
        return list(product(*(self.elements(key) for key in variable.keys)))

    # ---- values

    def unpacked(self, raw: int, sort: SortInfo) -> Value:
        """The value that a byte stands for."""
        if sort.flavour == "bool":
            return bool(raw)
        if sort.optional and raw == 0:
            return None
        return self.elements(sort)[raw - sort.optional]

    def packed(self, value: Value, sort: SortInfo) -> int:
        """The byte that stands for a value."""
        if value is None:
            return 0
        return int(value) - self.elements(sort).start + sort.optional

    def unpack(self, state: Packed) -> State:
        """The state as a mapping from cells to values."""
        return {
            cell: self.unpacked(raw, sort)
            for (cell, sort), raw in zip(self.cells, state, strict=True)
        }

    def pack(self, state: State) -> Packed:
        return bytes(self.packed(state[cell], sort) for cell, sort in self.cells)
