"""The states before and after a step: each state variable is a function from its keys to a value.

The state after an action is computed from the state before the action. So a proof needs no frame
axioms, such as `x' = x`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import z3

from checkers.symbolic.limits import Expr
from checkers.symbolic.translation import Env, Translation, Valuation
from model.language import terms as t
from model.language.spec import Action, Spec


class Step:
    """The states before and after an action as Z3 terms. `translation` determines whether the
    number of elements of each sort, such as `Replica`, is fixed or unbounded.
    """

    def __init__(self, spec: Spec, translation: Translation) -> None:
        self.spec, self.translation, self.sorts = spec, translation, translation.sorts
        self.before = Valuation({v.name: self._anything(v) for v in spec.variables})
        self._after: dict[str, tuple[Env, Valuation]] = {}

    def formula(self, node: t.Node, state: Valuation, env: Env | None = None) -> Expr:
        return self.translation.formula(node, env or {}, state)

    def arguments(self, action: Action) -> Env:
        """Returns a Z3 constant for each parameter of the action. Raises Declined if the type of
        a parameter cannot be translated.
        """
        return {
            p.uid: z3.Const(f"{action.name}.{p.name}", self.sorts.of(p.sort)) for p in action.params
        }

    def guard(self, action: Action) -> list[Expr]:
        env = self.arguments(action)
        return [self.formula(g.formula, self.before, env) for g in action.guards]

    def after(self, action: Action) -> Valuation:
        """Returns the state after the action. The value of each variable is a Z3 term over the
        state before the action.
        """
        if action.name not in self._after:
            env = self.arguments(action)
            self._after[action.name] = env, self._written(action, env, self.before)
        return self._after[action.name][1]

    def initial(self) -> Valuation:
        """Returns the initial state.

        A variable that `init` does not assign has the least value of its type. If its type has no
        least value, the variable may have any value.
        """
        blank = Valuation({v.name: self._untouched(v) for v in self.spec.variables})
        init = self.spec.initial
        return self._written(init, self.arguments(init), blank)

    # ---- variables as functions

    def _anything(self, v: t.Variable) -> Callable[..., Expr]:
        def value(*keys: Expr) -> Expr:
            sorts = [self.sorts.of(k) for k in v.keys]
            if not keys:
                return z3.Const(v.name, self.sorts.of(v.value))
            return z3.Function(v.name, *sorts, self.sorts.of(v.value))(*keys)

        return value

    def _untouched(self, v: t.Variable) -> Callable[..., Expr]:
        anything = self._anything(v)

        def value(*keys: Expr) -> Expr:
            least = self.sorts.untouched(v.value)
            return anything(*keys) if least is None else least

        return value

    def _written(self, action: Action, env: Env, before: Valuation) -> Valuation:
        changed = {
            name: self._assigned(action, name, env, before) for name in sorted(action.changes)
        }
        return Valuation({**before.cells, **changed})

    def _assigned(
        self, action: Action, name: str, env: Env, before: Valuation
    ) -> Callable[..., Expr]:
        writes = [w for w in action.writes if w.variable.name == name]

        def value(*keys: Expr) -> Expr:
            result = before.cells[name](*keys)
            for w in writes:
                here, new = self._write(w, keys, env, before)
                result = z3.If(self.translation.all_of(here), new, result) if here else new
            return result

        return value

    def _write(
        self, w: t.Write, keys: Iterable[Any], env: Env, before: Valuation
    ) -> tuple[list[Expr], Expr]:
        loops, bound = {b.uid for b in w.binders}, dict(env)
        here: list[tuple[t.Node, Expr]] = []

        def z(node: t.Node) -> Expr:
            return self.translation.formula(node, bound, before)

        for name, key in zip(w.keys, keys, strict=True):
            if isinstance(name, t.Local) and name.uid in loops and name.uid not in bound:
                bound[name.uid] = key  # the key of the cell selects the iteration
            else:
                here.append((name, key))
        reached = [z(name) == key for name, key in here]
        always = isinstance(w.condition, t.Const) and w.condition.value
        reached += [] if always else [z(w.condition)]
        return reached, z(w.value)
