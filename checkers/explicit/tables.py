"""A table of states as NumPy columns, and the transitions that are possible in these states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.explicit.columns import Array, Code, Columns, Op, literal
from model.language.spec import Action

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """An action with fixed parameters, as operations on the columns of a table of states."""

    action: Action
    values: tuple[int, ...]
    guard: Sequence[tuple[Code, Code]]  # per conjunct: all up to it are true; it is undefined
    undefined: Code  # a write is undefined
    after: dict[int, Code]  # cell -> its value in the state after

    @classmethod
    def of(cls, columns: Columns, action: Action, raw: tuple[int, ...]) -> Transition | None:
        """Compiles an action with fixed parameters. Returns None if its guard is always false.

        `raw` has the index of each parameter value in its type: 2 is the third element of the type.
        """
        env = {p.uid: v for p, v in zip(action.params, raw, strict=True)}
        enabled: Code = 1
        guard: list[tuple[Code, Code]] = []
        for conjunct in action.guards:
            value, bad = columns.value(conjunct.formula, env)
            bad = columns.both(enabled, bad)
            enabled = columns.both(enabled, value)
            guard.append((enabled, bad))
            if enabled == 0:
                break
        if enabled == 0 and all(bad == 0 for _, bad in guard):
            return None
        undefined: Code = 0
        after: dict[int, Code] = {}
        for write in action.writes:
            for e in columns.bindings(write.binders, env):
                test, bad_test = columns.value(write.condition, e)
                cells, bad_key = columns.cells(write.variable, write.keys, e)
                value, bad_value = columns.in_sort(write.value, e)
                bad = columns.both(test, columns.either(bad_key, bad_value))
                undefined = columns.either(undefined, columns.either(bad_test, bad))
                for here, cell in cells:
                    old = after.get(cell, columns.column(cell))
                    after[cell] = columns.choice(columns.both(test, here), value, old)
        changed = {cell: code for cell, code in after.items() if code is not columns.column(cell)}
        values = tuple(
            columns.at.elements(p.sort)[v] for p, v in zip(action.params, raw, strict=True)
        )
        return cls(action=action, values=values, guard=guard, undefined=undefined, after=changed)


class Table:
    def __init__(self, rows: Array, ops: Sequence[Op]) -> None:
        self.size = len(rows)
        self.columns = np.ascontiguousarray(rows.T)
        self._known: list[Array | None] = [None] * len(ops)
        self._some: dict[int, bool] = {}

    def value(self, op: Op) -> Array:
        known = self._known[op.number]
        if known is None:
            if op.compute is None:
                column = self.columns[op.cell]
                known = column.view(np.bool_) if op.truth else column
            else:
                known = op.compute(
                    *(self.value(a) if isinstance(a, Op) else a for a in op.arguments)
                )
            self._known[op.number] = known
        return known

    def known(self, op: Op) -> Array | None:
        """Returns the cached result of an operation, or None if the result is not cached."""
        return self.value(op) if op.compute is None else self._known[op.number]

    def where(self, code: Code) -> Rows:
        if isinstance(code, int):
            return np.arange(self.size if code else 0)
        return np.flatnonzero(self.value(code))

    def some(self, code: Code) -> bool:
        if isinstance(code, int):
            return bool(code)
        if code.number not in self._some:
            self._some[code.number] = bool(self.value(code).any())
        return self._some[code.number]


class Part:
    """Some rows of a table of states, such as the states in which an action is enabled."""

    def __init__(self, table: Table, rows: Rows) -> None:
        self.table, self.rows = table, rows
        self._known: dict[int, Array] = {}

    def value(self, op: Op) -> Array:
        known = self._known.get(op.number)
        if known is None:
            whole = self.table.known(op)
            if whole is not None:
                known = whole.take(self.rows)
            else:
                assert op.compute is not None
                known = op.compute(
                    *(self.value(a) if isinstance(a, Op) else a for a in op.arguments)
                )
            self._known[op.number] = known
        return known

    def of(self, code: Code) -> Any:
        return self.value(code) if isinstance(code, Op) else literal(code)

    def some(self, code: Code) -> bool:
        return bool(self.value(code).any()) if isinstance(code, Op) else bool(code)
