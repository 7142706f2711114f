"""Translates the terms of a spec to Z3 formulas. Raises Declined for a term that cannot be
translated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import assert_never

import z3

from checkers.symbolic.limits import Expr
from checkers.symbolic.sorts import Declined, Sorts
from model.language import terms as t

Env = Mapping[int, Expr]  # uid of a parameter or bound variable -> its value


@dataclass(frozen=True, slots=True, eq=False)
class Valuation:
    """A state in Z3. `cells` maps each state variable to a function from its keys, such as `r`
    in `isr[r]`, to its value.
    """

    cells: Mapping[str, Callable[..., Expr]]

    def at(self, variable: t.Variable, keys: Sequence[Expr]) -> Expr:
        return self.cells[variable.name](*keys)


class Translation:
    def __init__(self, sorts: Sorts) -> None:
        self.sorts = sorts
        self._done: dict[tuple[object, ...], tuple[Expr, object]] = {}
        self._free: dict[int, tuple[frozenset[int], t.Node]] = {}

    def formula(self, node: t.Node, env: Env, state: Valuation) -> Expr:
        values = [env[uid] for uid in sorted(self.free(node))]
        key = (id(node), id(state), *(value.get_id() for value in values))
        if key not in self._done:
            made = self._translated(node, env, state)
            self._done[key] = (
                made,
                (node, state, values),
            )  # keeps the objects alive, so that their ids stay unique
        return self._done[key][0]

    def _translated(self, n: t.Node, env: Env, state: Valuation) -> Expr:  # noqa: C901 - one case for each word
        def z(of: t.Node) -> Expr:
            return self.formula(of, env, state)

        match n:
            case t.Const():
                return self._literal(n)
            case t.Least():
                return self.sorts.least(n.sort)
            case t.Local():
                return env[n.uid]
            case t.Get():
                return state.at(n.variable, [z(key) for key in n.keys])
            case t.Some():
                return self.sorts.some(n.sort, z(n.of))
            case t.Ite():
                return z3.If(z(n.test), z(n.then), z(n.other))
            case t.Not():
                return z3.Not(z(n.of))
            case t.And():
                return self.all_of([z(x) for x in n.of])
            case t.Or():
                return self.any_of([z(x) for x in n.of])
            case t.Implies():
                return z3.Implies(z(n.left), z(n.right))
            case t.Eq():
                return z(n.left) == z(n.right)
            case t.Le() if (large := t.large_in(n)) is not None:
                return self._at_least(*large, env, state)
            case t.Le():
                return self.sorts.at_most(n.left.sort, z(n.left), z(n.right))
            case t.Lt() if (members := t.majority_in(n)) is not None:
                return self._majority(members, env, state)
            case t.Lt():
                left, right = z(n.left), z(n.right)
                return z3.And(self.sorts.at_most(n.left.sort, left, right), left != right)
            case t.Succ():
                return self.sorts.comes_next(n.left.sort, z(n.left), z(n.right))
            case t.Forall():
                return self._quantified(n, env, state, self.all_of, z3.ForAll)
            case t.Exists():
                return self._quantified(n, env, state, self.any_of, z3.Exists)
            case t.Plus() | t.Count() | t.Extreme():
                raise Declined(
                    f"a proof cannot use {CONSTRUCTS[type(n)]}\n"
                    "  make the value a parameter of the action, and define it in the guard"
                )
            case _:
                assert_never(n)

    def _literal(self, n: t.Const) -> Expr:
        self.sorts.of(n.sort)  # declines integers, the only other literals
        return z3.BoolVal(bool(n.value), ctx=self.sorts.context)

    def _quantified(
        self,
        n: t.Forall | t.Exists,
        env: Env,
        state: Valuation,
        expanded: Callable[[list[Expr]], Expr],
        bound: Callable[[list[Expr], Expr], Expr],
    ) -> Expr:
        domains = [self.sorts.elements(b.sort) for b in n.binders]
        if all(domain is not None for domain in domains):
            values = product(*(domain for domain in domains if domain is not None))
            return expanded(
                [self.formula(n.body, extended(env, n.binders, v), state) for v in values]
            )
        fresh = [z3.FreshConst(self.sorts.of(b.sort), b.name) for b in n.binders]
        return bound(fresh, self.formula(n.body, extended(env, n.binders, fresh), state))

    def _majority(self, members: t.Count, env: Env, state: Valuation) -> Expr:
        (binder,) = members.binders
        return self.sorts.majority(binder.sort, self._membership(members, env, state))

    def _at_least(self, number: t.Node, members: t.Count, env: Env, state: Valuation) -> Expr:
        (binder,) = members.binders
        is_member = self._membership(members, env, state)
        if isinstance(number, t.Const):
            return self.sorts.at_least(binder.sort, number.value, is_member)
        least = self.formula(number, env, state)
        return self.sorts.at_least_of(binder.sort, number.sort, least, is_member)

    def _membership(self, members: t.Count, env: Env, state: Valuation) -> Callable[[Expr], Expr]:
        def is_member(element: Expr) -> Expr:
            return self.formula(members.body, extended(env, members.binders, [element]), state)

        return is_member

    def all_of(self, formulas: list[Expr]) -> Expr:
        if len(formulas) < 2:  # SMT-LIB's `and` has at least two arguments
            return formulas[0] if formulas else z3.BoolVal(val=True, ctx=self.sorts.context)
        return z3.And(*formulas)

    def any_of(self, formulas: list[Expr]) -> Expr:
        if len(formulas) < 2:
            return formulas[0] if formulas else z3.BoolVal(val=False, ctx=self.sorts.context)
        return z3.Or(*formulas)

    def free(self, n: t.Node) -> frozenset[int]:
        if id(n) not in self._free:
            own = frozenset({n.uid}) if isinstance(n, t.Local) else frozenset[int]()
            below = frozenset[int]().union(*(self.free(x) for x in t.children(n)))
            self._free[id(n)] = (own | below) - frozenset(b.uid for b in binders(n)), n
        return self._free[id(n)][0]


CONSTRUCTS: Mapping[type, str] = {
    t.Plus: "arithmetic",
    t.Count: "count(...)",
    t.Extreme: "first(...) or last(...)",
}


def binders(n: t.Node) -> tuple[t.Local, ...]:
    match n:
        case t.Forall() | t.Exists() | t.Count():
            return n.binders
        case t.Extreme():
            return (n.binder,)
        case _:
            return ()


def extended(env: Env, names: Sequence[t.Local], values: Sequence[Expr]) -> Env:
    return {**env, **{name.uid: value for name, value in zip(names, values, strict=True)}}
