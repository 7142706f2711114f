"""Translates a spec at a finite scope, such as 3 replicas, to Boolean formulas of Z3.

A value of a sort (type) is a tuple of formulas: one for each possible value, of which exactly one
is true. The first formula stands for the least value; in an optional sort, the least value is
`nothing`. Quantifiers are expanded over all elements. Such formulas need only Z3's SAT solver,
which decides them much faster than formulas with sorts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, assert_never

import z3

from checkers.symbolic.sorts import Declined
from checkers.symbolic.translation import binders as binders_of
from model.language import terms as t
from model.language.scope import Scope, ranges_of
from model.language.spec import Action, Spec

Formula = Any  # a Z3 formula, or a Python bool
Chosen = tuple[Formula, ...]  # exactly one is true
Env = Mapping[int, Chosen]  # uid of a parameter or bound variable -> its value
Cells = Mapping[str, Mapping[tuple[int, ...], Any]]  # variable -> its keys -> its value


class Propositions:
    def __init__(self, spec: Spec, scope: Scope | None = None) -> None:
        self.spec, self.context = spec, z3.Context()
        self.ranges = ranges_of(spec.scope() if scope is None else scope)
        self.exactly_one: list[Formula] = []
        self.before: Cells = {
            v.name: {
                keys: self._anything(v.value, f"{v.name}{[*keys]}")
                for keys in product(*(range(self.size(k)) for k in v.keys))
            }
            for v in spec.variables
        }
        self._done: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        self._free: dict[t.Node, frozenset[int]] = {}
        self._steps: dict[str, tuple[list[Formula], Cells]] = {}

    def size(self, sort: t.SortInfo) -> int:
        if sort.flavour == "int" or sort.name not in self.ranges:
            raise Declined(f"no finite values for the sort {sort.name}")
        return len(self.ranges[sort.name]) + sort.optional

    def _anything(self, sort: t.SortInfo, name: str) -> Any:
        if sort.flavour == "bool":
            return z3.Bool(name, self.context)
        values = tuple(z3.Bool(f"{name}={k}", self.context) for k in range(self.size(sort)))
        self.exactly_one.append(z3.Or(*values))
        self.exactly_one += [
            z3.Not(z3.And(a, b)) for k, a in enumerate(values) for b in values[k + 1 :]
        ]
        return values

    def constant(self, sort: t.SortInfo, value: int) -> Any:
        if sort.flavour == "bool":
            return bool(value)
        return tuple(k == value for k in range(self.size(sort)))

    def packed(self, model: Any) -> bytes:
        """Returns the state before the step in `model`. The state has one byte for each cell (a
        variable at its keys). The least value of a type is stored as 0.
        """

        def is_true(formula: Formula) -> bool:
            return bool(z3.is_true(model.eval(formula, model_completion=True)))

        return bytes(
            [is_true(x) for x in value].index(True) if isinstance(value, tuple) else is_true(value)
            for values in self.before.values()
            for value in values.values()
        )

    # ---- steps

    def step(self, action: Action) -> tuple[list[Formula], Cells]:
        """Returns the guard of an action, and the state after the action. Both contain free
        variables for the parameters of the action.
        """
        if action.name not in self._steps:
            env: Env = {
                p.uid: self._boxed(self._anything(p.sort, f"{action.name}.{p.name}"))
                for p in action.params
            }
            guard = [self.formula(g.formula, env, self.before) for g in action.guards]
            self._steps[action.name] = guard, self._after(action, env)
        return self._steps[action.name]

    def _after(self, action: Action, env: Env) -> Cells:
        after = {name: dict(values) for name, values in self.before.items()}
        for write in action.writes:
            cells = after[write.variable.name]
            for inner in self.bindings(write.binders, env):
                condition = self.formula(write.condition, inner, self.before)
                value = self.value(write.value, inner, self.before)
                keys = [self._key(k, inner, self.before) for k in write.keys]
                for place, old in cells.items():
                    here = self.all_of(
                        [condition, *(k[p] for k, p in zip(keys, place, strict=True))]
                    )
                    if here is not False:
                        cells[place] = self._if(here, value, old)
        return after

    # ---- terms

    def formula(self, n: t.Node, env: Env, state: Cells) -> Formula:
        return self.value(n, env, state)

    def value(self, n: t.Node, env: Env, state: Cells) -> Any:
        key = (n, id(state), *((uid, env[uid]) for uid in sorted(self.free(n))))
        if key not in self._done:
            self._done[key] = self._value(n, env, state), state  # kept, so that its id is unique
        return self._done[key][0]

    def _value(self, n: t.Node, env: Env, state: Cells) -> Any:  # noqa: C901 - one case for each word
        def v(x: t.Node) -> Any:
            return self.value(x, env, state)

        match n:
            case t.Const():
                return self.constant(n.sort, n.value)
            case t.Least():
                return self.constant(n.sort, 0)
            case t.Local():
                return env[n.uid][0] if n.sort.flavour == "bool" else env[n.uid]
            case t.Get():
                return self._get(n, env, state)
            case t.Some():
                return (False, *v(n.of))
            case t.Ite():
                return self._if(v(n.test), v(n.then), v(n.other))
            case t.Not():
                return self.negated(v(n.of))
            case t.And():
                return self.all_of(map(v, n.of))
            case t.Or():
                return self.any_of(map(v, n.of))
            case t.Implies():
                return self.any_of([self.negated(v(n.left)), v(n.right)])
            case t.Eq():
                return self._equal(v(n.left), v(n.right))
            case t.Le() if (large := t.large_in(n)) is not None:
                number, each = large[0], self._each(large[1], env, state)
                if isinstance(number, t.Const):
                    return self._at_least(number.value, each)
                least = self.ranges[number.sort.name].start
                return self.any_of(
                    self.all_of([here, self._at_least(least + k, each)])
                    for k, here in enumerate(v(number))
                )
            case t.Le():
                return self._at_most(v(n.left), v(n.right))
            case t.Lt() if (members := t.majority_in(n)) is not None:
                each = self._each(members, env, state)
                return self._at_least(len(each) // 2 + 1, each)
            case t.Lt():
                return self.negated(self._at_most(v(n.right), v(n.left)))
            case t.Succ():
                left, right = v(n.left), v(n.right)
                return self.any_of(
                    self.all_of([a, b]) for a, b in zip(left, right[1:], strict=False)
                )
            case t.Forall():
                return self.all_of(self._each(n, env, state))
            case t.Exists():
                return self.any_of(self._each(n, env, state))
            case t.Plus() | t.Count() | t.Extreme():
                raise Declined("a proof cannot use integers or counts")
            case _:
                assert_never(n)

    def _each(self, n: t.Forall | t.Exists | t.Count, env: Env, state: Cells) -> list[Formula]:
        return [self.formula(n.body, e, state) for e in self.bindings(n.binders, env)]

    def bindings(self, binders: Sequence[t.Local], env: Env) -> list[Env]:
        """Returns one environment for each choice of elements for the bound variables. An
        environment maps variables to values. Each result has the entries of `env` and the chosen
        elements.
        """
        domains = [
            [self._boxed(self.constant(b.sort, k)) for k in range(self.size(b.sort))]
            for b in binders
        ]
        return [
            {**env, **{b.uid: x for b, x in zip(binders, values, strict=True)}}
            for values in product(*domains)
        ]

    def _key(self, n: t.Node, env: Env, state: Cells) -> Chosen:
        value = self.value(n, env, state)
        return value if isinstance(value, tuple) else (self.negated(value), value)

    def _get(self, n: t.Get, env: Env, state: Cells) -> Any:
        cells = state[n.variable.name]
        found = [
            (here, cells[place])
            for keys in [[self._key(k, env, state) for k in n.keys]]
            for place in product(*([i for i, f in enumerate(k) if f is not False] for k in keys))
            if (here := self.all_of(k[p] for k, p in zip(keys, place, strict=True))) is not False
        ]
        if len(found) == 1:
            return found[0][1]
        if n.sort.flavour == "bool":
            return self.any_of(self.all_of([here, value]) for here, value in found)
        return tuple(
            self.any_of(self.all_of([here, value[k]]) for here, value in found)
            for k in range(self.size(n.sort))
        )

    # ---- formulas, in which constants are folded

    def _boxed(self, value: Any) -> Chosen:
        return value if isinstance(value, tuple) else (value,)

    def negated(self, a: Formula) -> Formula:
        return not a if isinstance(a, bool) else z3.Not(a)

    def all_of(self, formulas: Iterable[Formula]) -> Formula:
        return self._joined(formulas, z3.And, absorbing=False)

    def any_of(self, formulas: Iterable[Formula]) -> Formula:
        return self._joined(formulas, z3.Or, absorbing=True)

    def _joined(
        self, formulas: Iterable[Formula], join: Callable[..., Formula], *, absorbing: bool
    ) -> Formula:
        parts: list[Formula] = []
        for f in formulas:
            if f is absorbing:
                return absorbing
            if f is not (not absorbing):
                parts.append(f)
        if len(parts) < 2:
            return parts[0] if parts else not absorbing
        return join(*parts)

    def _if(self, test: Formula, a: Any, b: Any) -> Any:
        if isinstance(test, bool):
            return a if test else b
        if isinstance(a, tuple):
            return tuple(self._if(test, x, y) for x, y in zip(a, b, strict=True))
        return self.any_of([self.all_of([test, a]), self.all_of([self.negated(test), b])])

    def _equal(self, a: Any, b: Any) -> Formula:
        if isinstance(a, tuple):
            return self.any_of(self.all_of([x, y]) for x, y in zip(a, b, strict=True))
        if isinstance(a, bool) or isinstance(b, bool):
            return (b if a else self.negated(b)) if isinstance(a, bool) else self._equal(b, a)
        return a == b

    def _at_most(self, a: Chosen, b: Chosen) -> Formula:
        return self.any_of(self.all_of([x, self.any_of(b[k:])]) for k, x in enumerate(a))

    def _at_least(self, number: int, each: Sequence[Formula]) -> Formula:
        number -= sum(x is True for x in each)
        parts = [x for x in each if not isinstance(x, bool)]
        if number <= 0 or number > len(parts):
            return number <= 0
        return z3.AtLeast(*parts, number)

    def free(self, n: t.Node) -> frozenset[int]:
        if n not in self._free:
            own = frozenset({n.uid}) if isinstance(n, t.Local) else frozenset[int]()
            below = frozenset[int]().union(*(self.free(x) for x in t.children(n)))
            self._free[n] = (own | below) - frozenset(b.uid for b in binders_of(n))
        return self._free[n]
