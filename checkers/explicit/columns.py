"""Compiles terms to NumPy: one array operation computes a term in every state of a batch.

A batch of states is a table with one row for each state. Each variable has one column for each
value of its keys, such as `log_end[b1]`. Two operations (`Op`) with the same name and arguments are
one object, so a term that occurs twice is computed once.

Each term has a second array, `bad`. It is a mask of the states in which the term is undefined,
because a value is outside its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np

from checkers.explicit.finite_terms import SIGNS, FiniteTerms
from model.language import terms as t

Array = np.ndarray[Any, Any]
Env = Mapping[int, int]  # uid of a parameter or bound variable -> its packed value


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """An operation on columns of the table of states.

    If `compute` is None, the operation computes nothing: its result is the column with the number
    `cell`.
    """

    number: int
    compute: Callable[..., Array] | None
    arguments: tuple[Any, ...] = ()  # operations, and constants as NumPy integers
    cell: int = -1
    truth: bool = False


Code = int | Op
Value = tuple[Code, Code]  # the value, and the rows in which it is undefined
After = Mapping[int, Code]  # cell -> its value after an action


def literal(value: Code) -> Any:
    """Returns an int as `uint8` or `int16`. Returns an `Op` unchanged."""
    if isinstance(value, Op):
        return value
    return np.uint8(value) if 0 <= value < 256 else np.int16(value)


# ---- operations by name: operations with equal names and arguments are one object


def _plus(x: Array, delta: Any) -> Array:
    return np.add(x, delta, dtype=np.int16)  # type: ignore[no-any-return]


def _counted(*truths: Array) -> Array:
    total = truths[0].astype(np.int16)
    for each in truths[1:]:
        total += each
    return total


def _outside(x: Array, size: Any) -> Array:
    return (x < 0) | (x >= size)  # type: ignore[no-any-return]


def _clipped(x: Array, size: Any) -> Array:
    return np.clip(x, 0, size - 1).astype(np.uint8)


def _chosen(key: Array, *columns: Any) -> Array:
    made = columns[0]
    for k, column in enumerate(columns[1:], start=1):
        made = np.where(key == k, column, made)
    return made  # type: ignore[no-any-return] # an array: the key is one


OPERATIONS: Mapping[str, Callable[..., Array]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "not": np.logical_not,
    "==": np.equal,
    "<=": np.less_equal,
    "<": np.less,
    "if": np.where,
    "+": _plus,
    "count": _counted,
    "outside": _outside,
    "clipped": _clipped,
    "chosen": _chosen,
}
TRUTHS = ("and", "or", "not", "==", "<=", "<", "outside")


@dataclass
class Columns(FiniteTerms):
    ops: list[Op] = field(default_factory=list)
    _known: dict[tuple[Any, ...], Op] = field(default_factory=dict)
    _done: dict[tuple[Any, ...], Value] = field(default_factory=dict)
    _locals: dict[t.Node, frozenset[int]] = field(default_factory=dict)

    # ---- operations

    def column(self, cell: int) -> Op:
        if ("cell", cell) not in self._known:
            truth = self.at.cells[cell][1].flavour == "bool"
            op = Op(number=len(self.ops), compute=None, cell=cell, truth=truth)
            self.ops.append(op)
            self._known["cell", cell] = op
        return self._known["cell", cell]

    def op(self, name: str, *arguments: Code) -> Op:
        key = (name, *((a.number, Op) if isinstance(a, Op) else a for a in arguments))
        if key not in self._known:
            truth = name in TRUTHS or (
                name in ("if", "chosen")
                and all(isinstance(a, Op) and a.truth for a in arguments[1:])
            )
            op = Op(
                number=len(self.ops),
                compute=OPERATIONS[name],
                arguments=tuple(map(literal, arguments)),
                truth=truth,
            )
            self.ops.append(op)
            self._known[key] = op
        return self._known[key]

    # ---- connectives, which simplify constants

    def negated(self, a: Code) -> Code:
        return 1 - a if isinstance(a, int) else self.op("not", a)

    def both(self, a: Code, b: Code) -> Code:
        if isinstance(a, int):
            return b if a else 0
        if isinstance(b, int):
            return a if b else 0
        return a if a is b else self.op("and", a, b)

    def either(self, a: Code, b: Code) -> Code:
        if isinstance(a, int):
            return 1 if a else b
        if isinstance(b, int):
            return 1 if b else a
        return a if a is b else self.op("or", a, b)

    def choice(self, test: Code, a: Code, b: Code) -> Code:
        if isinstance(test, int):
            return a if test else b
        if a == 1 and b == 0:
            return test
        if a == 0 and b == 1:
            return self.negated(test)
        return a if a is b or a == b else self.op("if", test, a, b)

    def conjunction(self, values: Iterable[Value]) -> Value:
        """Returns the value of a conjunction in each state, and a mask of the states in which it is
        undefined.

        If a formula is false in a state, the formulas after it are not evaluated in this state, so
        they cannot make the conjunction undefined.
        """
        value: Code = 1
        bad: Code = 0
        for v, b in values:
            bad = self.either(bad, self.both(value, b))
            value = self.both(value, v)
            if value == 0:
                break
        return value, bad

    def disjunction(self, values: Iterable[Value]) -> Value:
        """Returns the value of a disjunction in each state, and a mask of the states in which it is
        undefined.

        If a formula is true in a state, the formulas after it are not evaluated in this state, so
        they cannot make the disjunction undefined.
        """
        value: Code = 0
        bad: Code = 0
        for v, b in values:
            bad = self.either(bad, self.both(self.negated(value), b))
            value = self.either(value, v)
            if value == 1:
                break
        return value, bad

    def conditional(self, test: Value, a: Value, b: Value) -> Value:
        """Returns the value of `a if test else b` in each state, and a mask of the states in which
        it is undefined.

        The conditional is undefined in a state if the test or the chosen branch is undefined.
        """
        bad = self.either(test[1], self.choice(test[0], a[1], b[1]))
        return self.choice(test[0], a[0], b[0]), bad

    # ---- terms

    def value(self, n: t.Node, env: Env, after: After | None = None) -> Value:
        """Returns the value of a term in each state, and a mask of the states in which it is
        undefined.

        `after` maps the columns that a step changes to their new values. It is needed for a term
        that reads the state after the step, such as `x'` in TLA+.
        """
        if n not in self._locals:
            self._locals[n] = t.locals_of(n)
        local = self._locals[n]
        key = (n, id(after), *((u, v) for u, v in env.items() if u in local))
        if key not in self._done:
            self._done[key] = self._value(n, env, after)
        return self._done[key]

    def _value(self, n: t.Node, env: Env, after: After | None) -> Value:  # noqa: C901 - one case for each word
        def v(x: t.Node) -> Value:
            return self.value(x, env, after)

        match n:
            case t.Const():
                return self.packed(n), 0
            case t.Least():
                return 0, 0
            case t.Local():
                return env[n.uid], 0
            case t.Get():
                return self._get(n, env, after)
            case t.Some():
                value, bad = self.in_sort(n.of, env, after)
                return self._shifted(value, 1), bad
            case t.Plus():
                value, bad = v(n.of)
                return self._shifted(value, n.delta), bad
            case t.Ite():
                return self.conditional(v(n.test), v(n.then), v(n.other))
            case t.Not():
                value, bad = v(n.of)
                return self.negated(value), bad
            case t.And():
                return self.conjunction(map(v, n.of))
            case t.Or():
                return self.disjunction(map(v, n.of))
            case t.Implies():
                return self.disjunction(map(v, (t.Not(n.left), n.right)))
            case t.Eq() | t.Le() | t.Lt():
                return self._compared(SIGNS[type(n)], *map(v, self.sides(n)))
            case t.Succ():
                left, bad = v(n.left)
                return self._compared("==", (self._shifted(left, 1), bad), v(n.right))
            case t.Forall():
                return self.conjunction(self._each(n, env, after))
            case t.Exists():
                return self.disjunction(self._each(n, env, after))
            case t.Count():
                return self._count(list(self._each(n, env, after)))
            case t.Extreme():
                found = v(n.default)
                elements = list(self.bindings((n.binder,), env))
                for e in (
                    elements if n.last else reversed(elements)
                ):  # the last one is evaluated first
                    found = self.conditional(
                        self.value(n.body, e, after), (e[n.binder.uid], 0), found
                    )
                return found
            case _:
                assert_never(n)

    def _each(
        self, n: t.Forall | t.Exists | t.Count, env: Env, after: After | None
    ) -> Iterable[Value]:
        return (self.value(n.body, e, after) for e in self.bindings(n.binders, env))

    def _shifted(self, value: Code, delta: int) -> Code:
        if isinstance(value, int) or delta == 0:
            return value + delta if isinstance(value, int) else value
        return self.op("+", value, delta)

    def _compared(self, operator: str, left: Value, right: Value) -> Value:
        (a, bad_a), (b, bad_b) = left, right
        bad = self.either(bad_a, bad_b)
        if isinstance(a, int) and isinstance(b, int):
            return int({"==": a == b, "<=": a <= b, "<": a < b}[operator]), bad
        if a is b:
            return int(operator != "<"), bad
        if operator == "==" and isinstance(a, int):
            a, b = b, a
        if operator == "==" and isinstance(a, Op) and a.truth and isinstance(b, int):
            return (a if b else self.negated(a)), bad
        return self.op(operator, a, b), bad

    def _count(self, each: list[Value]) -> Value:
        bad: Code = 0
        for _, b in each:
            bad = self.either(bad, b)
        known = sum(v for v, _ in each if isinstance(v, int))
        truths = [v for v, _ in each if isinstance(v, Op)]
        return (self._shifted(self.op("count", *truths), known) if truths else known), bad

    # ---- cells

    def in_sort(self, n: t.Node, env: Env, after: After | None = None) -> Value:
        """Returns the value of a term in each state, and a mask of the states in which the term is
        undefined or has a value outside its type.
        """
        value, bad = self.value(n, env, after)
        size = self.at.size(n.sort)
        if isinstance(value, int):
            return (value, bad) if 0 <= value < size else (0, 1)
        if not self.may_leave(n):
            return value, bad
        return self.op("clipped", value, size), self.either(bad, self.op("outside", value, size))

    def cells(
        self, variable: t.Variable, keys: tuple[t.Node, ...], env: Env, after: After | None = None
    ) -> tuple[list[tuple[Code, int]], Code]:
        """Returns the columns of the map `variable` that the terms `keys` can select, and a mask.

        Each column has a condition, which is true in a state if the keys select this column there.
        The mask contains the states in which a key is undefined.
        """
        block = self.at.blocks[variable.name]
        found: list[tuple[Code, int]] = [(1, block.start)]
        bad: Code = 0
        for key, sort, stride in zip(keys, variable.keys, block.strides, strict=True):
            value, undefined = self.in_sort(key, env, after)
            bad = self.either(bad, undefined)
            if isinstance(value, int):
                found = [(test, cell + value * stride) for test, cell in found]
                continue
            found = [
                (self.both(test, self.op("==", value, k)), cell + k * stride)
                for test, cell in found
                for k in range(self.at.size(sort))
            ]
        return found, bad

    def _get(self, n: t.Get, env: Env, after: After | None) -> Value:
        block = self.at.blocks[n.variable.name]
        bad: Code = 0
        values: list[Value] = []
        for key in n.keys:
            values.append(self.in_sort(key, env, after))
            bad = self.either(bad, values[-1][1])

        def at(k: int, cell: int) -> Code:
            if k == len(values):
                return self._cell(cell, after)
            key, stride = values[k][0], block.strides[k]
            if isinstance(key, int):
                return at(k + 1, cell + key * stride)
            size = self.at.size(n.keys[k].sort)
            below = [at(k + 1, cell + j * stride) for j in range(size)]
            return below[0] if len(set(map(_same, below))) == 1 else self.op("chosen", key, *below)

        return at(0, block.start), bad

    def _cell(self, cell: int, after: After | None) -> Code:
        width = len(self.at.cells)
        if cell < width:
            return self.column(cell)
        return (after or {}).get(cell - width, self.column(cell - width))


def _same(code: Code) -> tuple[str, int]:
    return ("op", code.number) if isinstance(code, Op) else ("known", code)
