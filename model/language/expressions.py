"""The words of the language: sorts, formulas, quantifiers.

A sort is a class and its terms are its instances, so mypy reads a spec as the author does: a
`Replica` cannot index what wants an `Offset`. Iterating a sort yields one symbolic element, so
`forall(p(r) for r in Replica)` is a quantifier and `for r in Replica: s.x[r] = ...` is an update of
every cell at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeVar

from model.faults import InputFault
from model.language import terms as t
from model.language.binding import close

T = TypeVar("T")


class SpecError(InputFault):
    """A spec says something that means nothing: what, where, and what to write instead."""


_BOTH = (
    "in a spec, write all_of(...), any_of(...), implies(...) or ite(...)"
    " instead of and, or, not, if, and a < b, b < c instead of a < b < c"
)
_TIGHT = "& and | join formulas, and bind tighter than == and <: write all_of(...), any_of(...)"
# binders of the `for`s being traced, each with its range condition
open_loops: list[tuple[t.Local, t.Node]] = []


class SortMeta(type):
    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> None:
        super().__init__(name, bases, body)
        cls.info = t.SortInfo(name, getattr(cls, "flavour", "sort"))

    info: t.SortInfo

    def __iter__(cls: type[T]) -> Iterator[T]:
        return each(cls, lambda _: t.Const(1, t.BOOL))


def each(sort: Any, within: Any) -> Iterator[Any]:
    """One symbolic element of the sort; while the loop body runs, it is bound."""
    binder = t.Local(sort.info, sort.__name__.lower())
    element = wrap(sort, binder)
    open_loops.append((binder, within(element)))
    try:
        yield element
        caller = sys._getframe(1).f_locals  # the loop ends: borrow the author's name for the binder
        binder.name = next((k for k, v in caller.items() if v is element), binder.name)
    finally:
        open_loops.pop()


def wrap(sort: type[T], node: t.Node) -> T:
    made = object.__new__(sort)
    made.__dict__.update(node=node, line=line_in_action())
    return made


tracing: list[CodeType] = []  # the action being traced


def line_in_action() -> int:
    """The line that the traced action is at, however deep in its words; 0 outside an action."""
    frame = sys._getframe(1) if tracing else None
    while frame is not None:
        if frame.f_code is tracing[-1]:
            return frame.f_lineno
        frame = frame.f_back
    return 0


class Term(metaclass=SortMeta):
    """A term of a sort; equality is a formula, not a Python bool."""

    flavour: ClassVar[t.Flavour] = "sort"
    node: t.Node
    line: int  # where an action made it

    def __eq__(self, other: Self | Nothing | int) -> Bool:  # type: ignore[override]
        left, right = agree(self.node, lower(other, type(self)))
        return wrap(Bool, t.Eq(left, right))

    def __ne__(self, other: Self | Nothing | int) -> Bool:  # type: ignore[override]
        return ~(self == other)

    def __hash__(self) -> int:
        return id(self.node)

    def __bool__(self) -> NoReturn:
        from model.language.show import show

        raise SpecError(f"a term has no truth value: {show(self.node)}\n  {_BOTH}")

    if not TYPE_CHECKING:  # hidden, so that type checkers know that only formulas are joined

        def __and__(self, other):
            raise SpecError(
                f"a {type(self).__name__} is joined by & or | as if it were a formula\n  {_TIGHT}"
            )

        __or__ = __rand__ = __ror__ = __and__


class Bool(Term):
    flavour = "bool"

    def __and__(self, other: Bool) -> Bool:
        return all_of(self, other)

    def __or__(self, other: Bool) -> Bool:
        return any_of(self, other)

    def __invert__(self) -> Bool:
        return wrap(Bool, self.node.of if isinstance(self.node, t.Not) else t.Not(self.node))


Bool.info = t.BOOL


true = wrap(Bool, t.Const(1, t.BOOL))
false = wrap(Bool, t.Const(0, t.BOOL))


class Sort(Term):
    """Elements that can only be told apart: any number in a proof, 0 .. n-1 when explored."""

    prefix: ClassVar[str] = ""  # with which elements are printed: `b` makes b0, b1, b2


class _Compared(Term):
    def __lt__(self, other: Self | int) -> Bool:
        return wrap(Bool, t.Lt(self.node, lower(other, type(self))))

    def __le__(self, other: Self | int) -> Bool:
        return wrap(Bool, t.Le(self.node, lower(other, type(self))))

    def __gt__(self, other: Self | int) -> Bool:
        return wrap(Bool, t.Lt(lower(other, type(self)), self.node))

    def __ge__(self, other: Self | int) -> Bool:
        return wrap(Bool, t.Le(lower(other, type(self)), self.node))


class Ordered(_Compared):
    """Elements in a total order with a least one; no arithmetic, so proofs stay decidable."""

    flavour = "ordered"

    @classmethod
    def least(cls) -> Self:
        return wrap(cls, t.Least(cls.info))

    def is_next_after(self, other: Self) -> Bool:
        return wrap(Bool, t.Succ(other.node, self.node))


class Int(_Compared):
    """Integers of a range that the scope names; `+` and `-` take literals."""

    flavour = "int"
    labels: ClassVar[tuple[str, ...]] = ()  # with which 0, 1, ... are printed

    def __new__(cls, value: int) -> Self:
        return wrap(cls, t.Const(value, cls.info))

    def __add__(self, delta: int) -> Self:
        return wrap(type(self), t.Plus(self.node, delta))

    def __sub__(self, delta: int) -> Self:
        return self + -delta


class Number(Int):
    """The value of `count(...)`."""


class Nothing(Term):
    """The absence of a value; `Replica | Nothing` is the type of what may be absent."""


nothing = wrap(Nothing, t.Least(t.SortInfo("Nothing", "sort", optional=True)))


def lower(value: object, sort: Any) -> t.Node:
    """The node of a term, or of a Python literal where a term of the sort is wanted."""
    if isinstance(value, Term):
        return value.node
    if isinstance(value, bool) or (isinstance(value, int) and sort.flavour == "int"):
        return t.Const(int(value), sort.info if sort.flavour == "int" else t.BOOL)
    raise SpecError(f"{value!r} is no term of {sort.__name__}")


def agree(left: t.Node, right: t.Node) -> tuple[t.Node, t.Node]:
    """Both with the same sort: an element next to `nothing` becomes an optional value."""
    a, b = left.sort, right.sort
    if a == b:
        return left, right
    if "Nothing" in (a.name, b.name):
        known = b if a.name == "Nothing" else a
        absent = t.Least(t.SortInfo(known.name, known.flavour, optional=True))
        left, right = (absent if n.sort.name == "Nothing" else n for n in (left, right))
    elif a.name != b.name:
        raise SpecError(f"a {a.name} meets a {b.name}")
    if left.sort == right.sort:
        return left, right
    return (left if left.sort.optional else t.Some(left)), (
        right if right.sort.optional else t.Some(right)
    )


# ---- formulas


def formula(value: Any) -> Bool:
    """The value, which no type checker may have read; raises SpecError where it is no formula."""
    if isinstance(value, Bool):
        return value
    shown = f"a {type(value).__name__}" if isinstance(value, Term) else repr(value)
    raise SpecError(f"{shown} is no formula\n  {_TIGHT}")


def _flat(kind: type[t.And] | type[t.Or], formulas: tuple[Bool, ...]) -> tuple[t.Node, ...]:
    out: list[t.Node] = []
    for f in formulas:
        node = formula(f).node
        out += node.of if isinstance(node, kind) else (node,)
    return tuple(out)


def conjunction(formulas: tuple[t.Node, ...]) -> t.Node:
    """The formulas, joined; one alone stays as it is, none is true."""
    if not formulas:
        return t.Const(1, t.BOOL)
    return formulas[0] if len(formulas) == 1 else t.And(formulas)


def all_of(*formulas: Bool) -> Bool:
    """True where every formula is; evaluated from left to right."""
    return wrap(Bool, t.And(_flat(t.And, formulas)))


def any_of(*formulas: Bool) -> Bool:
    """True where some formula is; evaluated from left to right."""
    return wrap(Bool, t.Or(_flat(t.Or, formulas)))


def implies(left: Bool, right: Bool) -> Bool:
    """True where the left is false or the right is true."""
    return wrap(Bool, t.Implies(left.node, right.node))


def iff(left: Bool, right: Bool) -> Bool:
    """True where both are true or both are false."""
    return left == right


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a generator expression said: its binders, the sets they range over, its body."""

    binders: tuple[t.Local, ...]
    ranges: tuple[t.Node, ...]
    body: t.Node

    @classmethod
    def of(cls, bodies: Iterator[Bool]) -> _Scope:
        before = len(open_loops)
        body = next(bodies, None)
        if body is None:
            raise SpecError("a quantifier over nothing: iterate a sort or a set of the spec")
        opened = open_loops[before:]
        for _ in bodies:
            raise SpecError(
                "a quantifier ranges over sorts and sets of the spec;"
                " this one iterated something else"
            )
        ranges = tuple(c for _, c in opened if not isinstance(c, t.Const))
        return cls(tuple(b for b, _ in opened), ranges, formula(body).node)

    def conjunction(self) -> t.Node:
        return conjunction((*self.ranges, self.body))

    def implication(self) -> t.Node:
        return t.Implies(conjunction(self.ranges), self.body) if self.ranges else self.body


def forall(bodies: Iterator[Bool]) -> Bool:
    """True when the body is, for every binding: `forall(p(r) for r in Replica)`."""
    scope = _Scope.of(bodies)
    return wrap(Bool, t.Forall(*close(scope.binders, scope.implication())))


def exists(bodies: Iterator[Bool]) -> Bool:
    """True when the body is, for some binding."""
    scope = _Scope.of(bodies)
    return wrap(Bool, t.Exists(*close(scope.binders, scope.conjunction())))


def count(bodies: Iterator[Bool]) -> Number:
    """For how many bindings the body is true; explored only, never proved."""
    scope = _Scope.of(bodies)
    return wrap(Number, t.Count(*close(scope.binders, scope.conjunction())))


I = TypeVar("I", bound=_Compared)  # noqa: E741 - the usual letter of an index


def first(sort: type[I], test: Callable[[I], Bool], *, default: I) -> I:
    """The least value for which the test is true; explored only, never proved."""
    return _extreme(sort, test, default, last=False)


def last(sort: type[I], test: Callable[[I], Bool], *, default: I) -> I:
    """The greatest value for which the test is true; explored only, never proved."""
    return _extreme(sort, test, default, last=True)


def _extreme(sort: type[I], test: Callable[[I], Bool], default: I, *, last: bool) -> I:
    binder = t.Local(sort.info, test.__code__.co_varnames[0])
    (chosen,), body = close((binder,), test(wrap(sort, binder)).node)
    return wrap(sort, t.Extreme(chosen, body, lower(default, sort), last))


def least_of(left: I, right: I) -> I:
    """The smaller of two."""
    return ite(left <= right, left, right)


def ite(test: Bool, then: T, other: T) -> T:
    """`then` where the test is true, else `other`; of terms, records and functions alike."""
    from model.language.state_variables import Map, Record

    if isinstance(then, Term) and isinstance(other, Term):
        a, b = agree(then.node, other.node)
        sort = type(other) if isinstance(then, Nothing) else type(then)
        return wrap(sort, t.Ite(test.node, a, b))
    if isinstance(then, Map) and isinstance(other, Map):
        x, y = then, other
        chosen: Any = Map(x.key, lambda k: ite(test, x[k], y[k]))
        return chosen  # type: ignore[no-any-return]
    if isinstance(then, Record) and isinstance(other, Record):
        return type(then)(
            **{f: ite(test, getattr(then, f), getattr(other, f)) for f in then.fields()}
        )
    raise SpecError(f"ite of a {type(then).__name__} and a {type(other).__name__}")
