"""Gives equal quantifiers the same bound variables, so that they become the same term.

Tracing creates a new symbol for each `for x in Sort`, so at first two equal quantifiers differ.
When a quantifier is complete, its variables are replaced by canonical variables. There is one
canonical variable for each type, name (`x`) and level. The level is 1 in an innermost quantifier,
and larger in the quantifiers around it. So a variable is never bound by a wrong quantifier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import assert_never

from model.language import terms as t


@cache
def canonical(sort: t.SortInfo, name: str, level: int) -> t.Local:
    """Returns the bound variable of this type, name and nesting level. For equal arguments, it is
    the same object.
    """
    return t.Local(sort, name, level=level)


def close(binders: Sequence[t.Local], body: t.Node) -> tuple[tuple[t.Local, ...], t.Node]:
    """Returns the variables and the body of a quantifier after its variables are replaced by
    canonical variables, so that equal quantifiers are equal terms.
    """
    inside = max((x.level for x in t.walk(body) if isinstance(x, t.Local)), default=0)
    levels = range(inside + len(binders), inside, -1)
    chosen = {b: canonical(b.sort, b.name, k) for b, k in zip(binders, levels, strict=True)}
    return tuple(chosen.values()), substitute(body, chosen)


def substitute(n: t.Node, new: Mapping[t.Local, t.Node]) -> t.Node:
    """Returns the term `n` with each variable in `new` replaced by the term to which `new`
    maps it.
    """
    done: dict[t.Node, t.Node] = {}

    def change(x: t.Node) -> t.Node:
        if x not in done:
            done[x] = new.get(x, x) if isinstance(x, t.Local) else rebuilt(x, change)
        return done[x]

    return change(n)


def rebuilt(n: t.Node, change: Callable[[t.Node], t.Node]) -> t.Node:
    """Returns a copy of the term in which each direct subterm is replaced by the result of
    `change`. A term without subterms is returned unchanged.
    """
    match n:
        case t.Const() | t.Least() | t.Local():
            return n
        case t.Get():
            return t.Get(n.variable, tuple(map(change, n.keys)))
        case t.Some():
            return t.Some(change(n.of))
        case t.Plus():
            return t.Plus(change(n.of), n.delta)
        case t.Ite():
            return t.Ite(change(n.test), change(n.then), change(n.other))
        case t.Not():
            return t.Not(change(n.of))
        case t.And() | t.Or():
            return type(n)(tuple(map(change, n.of)))
        case t.Implies() | t.Eq() | t.Le() | t.Lt() | t.Succ():
            return type(n)(change(n.left), change(n.right))
        case t.Forall() | t.Exists() | t.Count():
            return type(n)(n.binders, change(n.body))
        case t.Extreme():
            return t.Extreme(n.binder, change(n.body), change(n.default), n.last)
        case _:
            assert_never(n)
