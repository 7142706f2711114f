"""The quantifiers of the language: `forall`, `exists`, and functions that count or search elements.

A loop over a type such as `Replica` yields one symbolic element. So the generator in
`forall(p(r) for r in Replica)` yields one formula about this element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from model.language import terms as t
from model.language.binding import close
from model.language.expressions import (
    Bool,
    I,
    Number,
    Ordered,
    SpecError,
    Term,
    conjunction,
    formula,
    lower,
    open_loops,
    wrap,
)

_EMPTY: Any = object()


@dataclass(frozen=True, slots=True)
class _Scope:
    binders: tuple[t.Local, ...]
    ranges: tuple[t.Node, ...]
    body: t.Node

    @classmethod
    def of(cls, bodies: Iterator[Bool]) -> _Scope:
        before = len(open_loops)
        body = next(bodies, _EMPTY)
        if body is _EMPTY:
            raise SpecError(
                "a quantifier ranges over an empty iterable\n  iterate a sort or a set of the spec"
            )
        opened = open_loops[before:]
        for _ in bodies:
            raise SpecError(
                "a quantifier ranges over a Python iterable\n  iterate a sort or a set of the spec"
            )
        ranges = tuple(c for _, c in opened if not isinstance(c, t.Const))
        return cls(tuple(b for b, _ in opened), ranges, formula(body).node)

    def conjunction(self) -> t.Node:
        return conjunction((*self.ranges, self.body))

    def implication(self) -> t.Node:
        return t.Implies(conjunction(self.ranges), self.body) if self.ranges else self.body


def forall(bodies: Iterator[Bool]) -> Bool:
    scope = _Scope.of(bodies)
    return wrap(Bool, t.Forall(*close(scope.binders, scope.implication())))


def exists(bodies: Iterator[Bool]) -> Bool:
    scope = _Scope.of(bodies)
    return wrap(Bool, t.Exists(*close(scope.binders, scope.conjunction())))


def count(bodies: Iterator[Bool]) -> Number:
    """Returns the number of elements for which the body is true. Proofs do not support this
    term.
    """
    scope = _Scope.of(bodies)
    return wrap(Number, t.Count(*close(scope.binders, scope.conjunction())))


def majority(bodies: Iterator[Bool]) -> Bool:
    """Returns a formula that is true if the body is true for more than half of the elements of a
    type, such as all replicas.

    The elements must be those of a type: raises SpecError if `bodies` loops over a set. A proof
    assumes only that any two majorities have a common element.
    """
    scope = _Scope.of(bodies)
    if scope.ranges:
        raise SpecError("majority(...) ranges over a set\n  iterate a sort of the spec")
    binders, body = close(scope.binders, scope.body)
    return wrap(Bool, t.Lt(t.Count(binders, t.negation(body)), t.Count(binders, body)))


def at_least(number: int | Ordered, bodies: Iterator[Bool]) -> Bool:
    """Returns a formula that is true if the body is true for at least `number` elements of a type,
    such as `Replica`.

    `number` may be a term of an ordered type. The elements of this type are then numbers: with the
    scope `{MinIsr: range(1, 4)}`, they are 1, 2 and 3.

    The elements must be those of a type: raises SpecError if `bodies` loops over a set. A proof
    assumes that the formula stays true when the body becomes true for one more element. If the
    number is a term, the proof also assumes that the formula is true for each smaller number.
    """
    scope = _Scope.of(bodies)
    if scope.ranges:
        raise SpecError("at_least(...) ranges over a set\n  iterate a sort of the spec")
    if isinstance(number, Term) and number.flavour != "ordered":
        raise SpecError(
            f"at_least(...) has a number of the sort {type(number).__name__}, which has no order\n"
            "  use an integer, or a term of an Ordered sort"
        )
    members = t.Count(*close(scope.binders, scope.body))
    return wrap(Bool, t.Le(lower(number, Number), members))


def first(sort: type[I], test: Callable[[I], Bool], *, default: I) -> I:
    """Returns the least value for which the test is true. If there is no such value, returns
    `default`. Proofs do not support this term.
    """
    return _extreme(sort, test, default, last=False)


def last(sort: type[I], test: Callable[[I], Bool], *, default: I) -> I:
    """Returns the greatest value for which the test is true. If there is no such value, returns
    `default`. Proofs do not support this term.
    """
    return _extreme(sort, test, default, last=True)


def _extreme(sort: type[I], test: Callable[[I], Bool], default: I, *, last: bool) -> I:
    binder = t.Local(sort.info, test.__code__.co_varnames[0])
    (chosen,), body = close((binder,), test(wrap(sort, binder)).node)
    return wrap(sort, t.Extreme(chosen, body, lower(default, sort), last))
