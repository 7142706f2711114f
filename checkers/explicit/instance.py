"""A spec at a finite scope, such as 3 replicas, and the packed form of its states.

A packed state has one byte for each *cell*: a variable without keys, or a variable with one
combination of values of its keys. The least value of every sort (a finite type) is stored as 0, so
the values -1..3 are stored as 0..4. If the sort is optional, the value `nothing` is stored as 0,
and the elements follow from 1 on.
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
    """The position of a variable among the bytes of a packed state.

    `start` is the first byte of the variable. For each key of the variable, `strides` has the
    distance between the bytes of two neighbouring values of the key.
    """

    start: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Instance:
    spec: Spec
    ranges: Ranges

    @classmethod
    def of(cls, spec: Spec, scope: Scope | None = None) -> Instance:
        return cls(spec, ranges_of(spec.scope() if scope is None else scope))

    def elements(self, sort: SortInfo) -> range:
        """Returns the elements of a type such as `Replica`. Raises SpecError if the scope has no
        size for the type.
        """
        if sort.name not in self.ranges:
            raise SpecError(
                f"{title_of(self.spec)} has no scope for the sort {sort.name}\n"
                f"  add its number of elements to scope(), for example {{{sort.name}: 2}}"
            )
        return self.ranges[sort.name]

    def size(self, sort: SortInfo) -> int:
        """Returns the number of values of a type. If the type is optional, the value `nothing`
        is included.
        """
        return len(self.elements(sort)) + sort.optional

    @cached_property
    def blocks(self) -> dict[str, Block]:
        """The positions of the variables among the bytes of a step, by the names of the variables.

        The bytes of a step are the packed state before the step, followed by the packed state after
        it. In the state before the step, a variable has its own name. In the state after the step,
        it has the name of `variable.after`.
        """
        out: dict[str, Block] = {}
        start = 0
        for variable in self.spec.variables:
            sizes = [self.size(key) for key in variable.keys]
            strides = tuple(prod(sizes[i + 1 :]) for i in range(len(sizes)))
            out[variable.name] = Block(start=start, strides=strides)
            start += prod(sizes)
            self.size(variable.value)  # raises SpecError for a missing scope before the search
        for v in self.spec.variables:  # a step is the state before, then the state after
            block = out[v.name]
            out[v.after.name] = Block(start=start + block.start, strides=block.strides)
        return out

    @cached_property
    def cells(self) -> tuple[tuple[Cell, SortInfo], ...]:
        """The cells of a packed state, in the order of its bytes. A cell is a variable together
        with values of its keys, such as `end_offset[b1]`. Each cell is paired with its type.
        """
        return tuple(
            ((variable.name, keys), variable.value)
            for variable in self.spec.variables
            for keys in self.keys_of(variable)
        )

    def keys_of(self, variable: Variable) -> list[tuple[int, ...]]:
        return list(product(*(self.elements(key) for key in variable.keys)))

    # ---- values

    def unpacked(self, raw: int, sort: SortInfo) -> Value:
        """Returns the value of a byte of a packed state. The value has the type `sort`; for
        example, it is broker 2.
        """
        if sort.flavour == "bool":
            return bool(raw)
        if sort.optional and raw == 0:
            return None
        return self.elements(sort)[raw - sort.optional]

    def packed(self, value: Value, sort: SortInfo) -> int:
        """Returns a value as the byte that stores it in a packed state. The value has the type
        `sort`; for example, it is broker 2.
        """
        if value is None:
            return 0
        return int(value) - self.elements(sort).start + sort.optional

    def unpack(self, state: Packed) -> State:
        return {
            cell: self.unpacked(raw, sort)
            for (cell, sort), raw in zip(self.cells, state, strict=True)
        }

    def pack(self, state: State) -> Packed:
        return bytes(self.packed(state[cell], sort) for cell, sort in self.cells)
