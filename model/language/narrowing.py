"""Finds the elements of a type, such as offsets, that can make a formula true.

`narrowed` reads a formula about a bound variable `o`, and returns one *branch* for each disjunct of
the formula. If an element is in no branch, the formula is false for this element and raises no
error, so an engine may skip the element.

A branch has bounds for the element (`start <= o`), or for the value of a map at the element
(`own < row[o]`). The following table shows formulas on the left, and their branches on the right:

    (start <= o) & (o < end) & ...      one branch: from start to below end
    (o < end) & (own < row[o])          one branch: below end, where row is above own
    a | b                               the branches of a, and the branches of b
    ~(a => b)                           the branches of a & ~b
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from model.language import terms as t

Free = frozenset[int]  # uids of parameters: their values may be outside of their sorts


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of a variable x. It is `x >= term + offset` if `is_lower` is true, otherwise
    `x < term + offset`.
    """

    is_lower: bool
    term: t.Node
    offset: int


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The comparisons that limit a bound variable `x` in one disjunct of a formula.

    `bounds` has comparisons with `x` itself, such as `start <= x`. If the disjunct compares the
    value of a map at `x`, as in `3 < size[x]`, `row` is `size[x]` and `above` is 3. Otherwise,
    `row` and `above` are None.
    """

    bounds: tuple[Bound, ...] = ()
    row: t.Get | None = None  # its last key is the variable
    above: t.Node | None = None


def narrowed(formula: t.Node, binder: t.Local, free: Free) -> Sequence[Narrowed]:
    """Returns, for each disjunct of the formula, the comparisons that limit the variable `binder`.

    If, in every disjunct, a value violates some comparison, the formula is false for this value.
    `free` has the uids of the action's parameters whose values may be outside their types.
    """
    match formula:
        case t.And():
            return _of_conjuncts(_conjuncts(formula), binder, free)
        case t.Or() if all(is_defined(x, free) for x in formula.of):
            return [one for x in formula.of for one in narrowed(x, binder, free)]
        case t.Not(of=t.Implies(left=left, right=right)):
            return narrowed(t.And((left, t.Not(right))), binder, free)
        case t.Not(of=t.Not(of=of)):
            return narrowed(of, binder, free)
        case t.Not(of=t.Or(of=parts)):
            return narrowed(t.And(tuple(t.Not(x) for x in parts)), binder, free)
        case t.Lt() | t.Le() | t.Not():
            return _of_conjuncts([formula], binder, free)
        case _:
            return [Narrowed()]


def is_defined(n: t.Node, free: Free) -> bool:
    """Returns True if, in every state, the term's value is in its type and its evaluation does not
    raise Undefined. Returns False if this is not certain.

    `free` has the uids of the parameters whose values may be outside their types.
    """
    match n:
        case t.Const():
            return n.sort.flavour == "bool"
        case t.Least():
            return True
        case t.Local():
            return n.uid not in free
        case t.Get():
            return all(is_defined(key, free) for key in n.keys)
        case t.Ite():
            return _has_value(n.test, free) and all(is_defined(x, free) for x in (n.then, n.other))
        case t.Some():
            return is_defined(n.of, free)
        case t.Plus() | t.Extreme() | t.Count():
            return False
        case _:
            return all(_has_value(x, free) for x in t.children(n))


def _has_value(n: t.Node, free: Free) -> bool:
    # Unlike `is_defined`, it allows a value outside the term's sort, such as -1 for `end - 1`.
    match n:
        case t.Const() | t.Local():
            return True
        case t.Plus():
            return _has_value(n.of, free)
        case t.Ite():
            return all(_has_value(x, free) for x in t.children(n))
        case _:
            return is_defined(n, free)


def _conjuncts(formula: t.And) -> list[t.Node]:
    return [y for x in formula.of for y in (_conjuncts(x) if isinstance(x, t.And) else [x])]


def _of_conjuncts(conjuncts: Sequence[t.Node], binder: t.Local, free: Free) -> list[Narrowed]:
    found, only_bounds = Narrowed(), True
    for conjunct in conjuncts:
        bound, row = _bound(conjunct, binder), _row_above(conjunct, binder)
        if bound is not None and (only_bounds or _has_value(bound.term, free)):
            found = replace(found, bounds=(*found.bounds, bound))
            continue
        only_bounds = False
        if not _has_value(conjunct, free):
            break
        if row is not None:
            return [replace(found, row=row[0], above=row[1])]
        if isinstance(conjunct, t.Or):
            inner = narrowed(conjunct, binder, free)
            return [replace(one, bounds=(*found.bounds, *one.bounds)) for one in inner]
    return [found]


def _bound(conjunct: t.Node, binder: t.Local) -> Bound | None:
    match conjunct:
        case t.Lt(left=left, right=right) if right is binder and _without(left, binder):
            return Bound(is_lower=True, term=left, offset=1)
        case t.Le(left=left, right=right) if right is binder and _without(left, binder):
            return Bound(is_lower=True, term=left, offset=0)
        case t.Lt(left=left, right=right) if left is binder and _without(right, binder):
            return Bound(is_lower=False, term=right, offset=0)
        case t.Le(left=left, right=right) if left is binder and _without(right, binder):
            return Bound(is_lower=False, term=right, offset=1)
        case t.Not(of=t.Lt(left=left, right=right)):
            return _bound(t.Le(right, left), binder)
        case t.Not(of=t.Le(left=left, right=right)):
            return _bound(t.Lt(right, left), binder)
        case _:
            return None


def _row_above(conjunct: t.Node, binder: t.Local) -> tuple[t.Get, t.Node] | None:
    match conjunct:
        # `number < row[x]`, where `x` is the binder
        case t.Lt(left=left, right=t.Get(keys=keys) as get) if (
            keys
            and keys[-1] is binder
            and all(_without(x, binder) for x in (left, *keys[:-1]))
            and get.sort.flavour in ("ordered", "int")
        ):
            return get, left
        case _:
            return None


def _without(n: t.Node, binder: t.Local) -> bool:
    return binder.uid not in t.locals_of(n)
