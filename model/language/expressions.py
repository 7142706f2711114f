"""The expressions of the language: sorts, terms, formulas.

A sort (a finite type, such as `Replica`) is a Python class, and its terms are the instances of the
class. So mypy type-checks a spec: a `Replica` cannot be a key of a map over `Offset`. A loop over a
sort yields one symbolic element: `for r in Replica: s.x[r] = ...` assigns `s.x` for every replica
in one step.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeVar

from model.faults import InputFault
from model.language import terms as t
from model.language.show import show

T = TypeVar("T")


class SpecError(InputFault):
    """The error for a mistake in a spec. Its message contains the mistake, its place, and a correct
    way to write the spec.
    """

    line: int | None = None  # of the mistake; None until tracing adds the place
    where = ""  # the class, or the class and its method
    mistake = ""  # the message without the place

    @classmethod
    def at(cls, where: str, line: int, mistake: str) -> Self:
        """Returns the error for a mistake at a place: `where` is a class or a method, and `line` a
        line of its file.
        """
        made = cls(f"{where}, line {line}: {mistake}")
        made.where, made.line, made.mistake = where, line, mistake
        return made


class NothingReturned(SpecError):
    """The error for a method of a spec that returned None instead of a formula."""


_BOTH = (
    "in a spec, write all_of(...), any_of(...), implies(...) or ite(...)"
    " instead of and, or, not, if, and a < b, b < c instead of a < b < c"
)
_TIGHT = "& and | join formulas, and bind tighter than == and <: write all_of(...), any_of(...)"
# functions of the spec that returned None, while tracing watches for them
returned_nothing: list[CodeType] = []
# binders of the `for` loops being traced, each with its range condition
open_loops: list[tuple[t.Local, t.Node]] = []


class SortMeta(type):
    """The metaclass of sorts such as `Replica`. With it, `for r in Replica` yields one symbolic
    element.
    """

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> None:
        super().__init__(name, bases, body)
        cls.info = t.SortInfo(name, getattr(cls, "flavour", "sort"))

    info: t.SortInfo

    def __iter__(cls: type[T]) -> Iterator[T]:
        return each(cls, lambda _: t.Const(1, t.BOOL))


def each(sort: Any, within: Any) -> Iterator[Any]:
    """Yields one symbolic element of the sort (a finite type), for the body of a `for` loop.

    The body runs once, and the symbolic element is the loop's bound variable. `within` maps the
    element to the condition under which the loop includes it. For a loop over a set, this condition
    is that the element is a member of the set.
    """
    binder = t.Local(sort.info, sort.__name__.lower())
    element = wrap(sort, binder)
    opened = (binder, within(element))
    open_loops.append(opened)
    try:
        yield element
        caller = sys._getframe(1).f_locals  # the loop ends: use the author's name for the binder
        binder.name = next((k for k, v in caller.items() if v is element), binder.name)
    finally:  # after an error, the loop may end when it is no longer open
        open_loops[:] = (one for one in open_loops if one is not opened)


def wrap(sort: type[T], node: t.Node) -> T:
    """Returns a Python object of the class `sort` that represents the term `node`.

    The field `line` of the object says where the object was created: it is a source line of the
    traced action, or 0 outside an action.
    """
    made = object.__new__(sort)
    made.__dict__.update(node=node, line=line_in_action())
    return made


tracing: list[CodeType] = []  # the action being traced


def line_in_action() -> int:
    frame = sys._getframe(1) if tracing else None
    while frame is not None:
        if frame.f_code is tracing[-1]:
            return frame.f_lineno
        frame = frame.f_back
    return 0


class Term(metaclass=SortMeta):
    """A term of a sort such as `Replica`. The comparison `==` of two terms returns a formula, not a
    Python bool.
    """

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
        raise SpecError(f"a term has no truth value: {show(self.node)}\n  {_BOTH}")

    if not TYPE_CHECKING:  # hidden: type checkers accept & and | between formulas only

        def __and__(self, other):
            raise SpecError(
                f"& or | joins a term of {type(self).__name__}, which is not a formula\n  {_TIGHT}"
            )

        __or__ = __rand__ = __ror__ = __and__


class Bool(Term):
    """A formula: a term that is true or false."""

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
    """A type without an order, such as `Replica`. Its terms can only be compared with `==` and
    `!=`.
    """

    prefix: ClassVar[str] = ""  # of printed elements: `b` makes b0, b1, b2


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
    """A type with a total order and a least element. It has no arithmetic, so proofs support it."""

    flavour = "ordered"

    @classmethod
    def least(cls) -> Self:
        return wrap(cls, t.Least(cls.info))

    def is_next_after(self, other: Self) -> Bool:
        return wrap(Bool, t.Succ(other.node, self.node))


class Int(_Compared):
    """A type of integers in a range. Only an integer literal can be added to a term or subtracted
    from a term.
    """

    flavour = "int"
    labels: ClassVar[tuple[str, ...]] = ()  # printed instead of 0, 1, ...

    def __new__(cls, value: int) -> Self:
        return wrap(cls, t.Const(value, cls.info))

    def __add__(self, delta: int) -> Self:
        return wrap(type(self), t.Plus(self.node, delta))

    def __sub__(self, delta: int) -> Self:
        return self + -delta


class Number(Int):
    """An unbounded integer, such as the value of `count(...)`."""


class Nothing(Term):
    """The absence of a value. A variable of the type `Replica | Nothing` has a replica or `nothing`
    as its value.
    """


nothing = wrap(Nothing, t.Least(t.SortInfo("Nothing", "sort", optional=True)))


def lower(value: object, sort: Any) -> t.Node:
    """Converts a term of a spec, or a Python literal such as `3`, to a node of the grammar.

    Raises SpecError for any other value, and for an integer if the expected type `sort` is not a
    type of integers.
    """
    if isinstance(value, Term):
        return value.node
    if isinstance(value, bool) or (isinstance(value, int) and sort.flavour == "int"):
        return t.Const(int(value), sort.info if sort.flavour == "int" else t.BOOL)
    raise SpecError(f"{value!r} is not a term of the sort {sort.__name__}")


def agree(left: t.Node, right: t.Node) -> tuple[t.Node, t.Node]:
    """Converts two terms to one common type, for a comparison or an assignment.

    If `nothing` is a value of one of the two types, it is also a value of the common type. Raises
    SpecError if the types differ in another way.
    """
    a, b = left.sort, right.sort
    if a == b:
        return left, right
    if "Nothing" in (a.name, b.name):
        known = b if a.name == "Nothing" else a
        absent = t.Least(t.SortInfo(known.name, known.flavour, optional=True))
        left, right = (absent if n.sort.name == "Nothing" else n for n in (left, right))
    elif a.name != b.name:
        raise SpecError(
            f"a term of {a.name} is compared with or assigned to a term of {b.name}\n"
            "  use terms of one sort"
        )
    if left.sort == right.sort:
        return left, right
    return (left if left.sort.optional else t.Some(left)), (
        right if right.sort.optional else t.Some(right)
    )


# ---- formulas


def formula(value: Any) -> Bool:
    if isinstance(value, Bool):
        return value
    if value is None:
        code = returned_nothing[-1] if returned_nothing else None
        named = f"{code.co_name}, line {code.co_firstlineno}," if code else "a function of the spec"
        raise NothingReturned(f"{named} returns nothing\n  end it with `return` and a formula")
    shown = f"a term of {type(value).__name__}" if isinstance(value, Term) else repr(value)
    raise SpecError(f"{shown} is not a formula\n  {_TIGHT}")


def _flat(kind: type[t.And] | type[t.Or], formulas: tuple[Bool, ...]) -> tuple[t.Node, ...]:
    out: list[t.Node] = []
    for f in formulas:
        node = formula(f).node
        out += node.of if isinstance(node, kind) else (node,)
    return tuple(out)


def conjunction(formulas: tuple[t.Node, ...]) -> t.Node:
    if not formulas:
        return t.Const(1, t.BOOL)
    return formulas[0] if len(formulas) == 1 else t.And(formulas)


def all_of(*formulas: Bool) -> Bool:
    """Returns a formula that is true if every argument is true. The arguments are evaluated from
    left to right. Without arguments, the formula is true.
    """
    return wrap(Bool, t.And(_flat(t.And, formulas)))


def any_of(*formulas: Bool) -> Bool:
    """Returns a formula that is true if some argument is true. The arguments are evaluated from
    left to right. Without arguments, the formula is false.
    """
    return wrap(Bool, t.Or(_flat(t.Or, formulas)))


def implies(left: Bool, right: Bool) -> Bool:
    return wrap(Bool, t.Implies(left.node, right.node))


def iff(left: Bool, right: Bool) -> Bool:
    return left == right


I = TypeVar("I", bound=_Compared)  # noqa: E741 - the usual letter of an index


def least_of(left: I, right: I) -> I:
    return choose(left <= right, left, right)


def greatest_of(left: I, right: I) -> I:
    return choose(left <= right, right, left)


def choose(test: Bool, then: T, other: T) -> T:
    if not (isinstance(then, Term) and isinstance(other, Term)):
        raise SpecError(
            f"ite chooses between a {type(then).__name__} and a {type(other).__name__}\n"
            "  use two terms, two records or two maps"
        )
    a, b = agree(then.node, other.node)
    sort = type(other) if isinstance(then, Nothing) else type(then)
    return wrap(sort, t.Ite(test.node, a, b))
