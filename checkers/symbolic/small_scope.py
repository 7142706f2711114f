"""A spec at a finite scope: each sort (type) has a fixed number of elements. So Z3's queries are
decidable, and a state has a concrete value for each variable.

All quantifiers are expanded over the elements. A model that Z3 finds can be converted to a state of
the interpreter of specs.
"""

from __future__ import annotations

from itertools import product

import z3

from checkers.symbolic.induction import Induction
from checkers.symbolic.limits import LIMIT_MS, UNITS, Expr, Model, Solver
from checkers.symbolic.sorts import Finite
from checkers.symbolic.states import Step
from checkers.symbolic.translation import Translation
from model.language import terms as t
from model.language.interpreter import Cell, Interpreter, State, Value
from model.language.scope import Scope
from model.language.spec import Action, Spec


class SmallScope:
    def __init__(self, spec: Spec, scope: Scope | None = None) -> None:
        self.spec = spec
        self.interpreter = Interpreter.of(spec, scope)
        self.sorts = Finite(self.interpreter.ranges)
        self.step = Step(spec, Translation(self.sorts))
        self.induction = Induction(spec, self.step)

    @property
    def sizes(self) -> dict[str, int]:
        return {name: len(r) for name, r in self.interpreter.ranges.items() if name != "Bool"}

    def solver(self, *, units: int = UNITS, limit_ms: int = LIMIT_MS, seed: int = 0) -> Solver:
        return Solver(self.sorts.context, units=units, limit_ms=limit_ms, seed=seed)

    def cells(self) -> list[tuple[Cell, t.SortInfo, Expr]]:
        """Returns each cell (a variable at its keys, such as `isr[r0]`), its type, and its Z3
        term in the state before a step.
        """
        out: list[tuple[Cell, t.SortInfo, Expr]] = []
        for v in self.spec.variables:
            domains = [range(len(self.sorts.elements(key))) for key in v.keys]
            for place in product(*domains):
                keys = [self.sorts.elements(key)[i] for key, i in zip(v.keys, place, strict=True)]
                numbers = (self._number(key, i) for key, i in zip(v.keys, place, strict=True))
                out.append(((v.name, tuple(numbers)), v.value, self.step.before.at(v, keys)))
        return out

    def state(self, model: Model) -> State:
        return {cell: self.value(model, info, term) for cell, info, term in self.cells()}

    def arguments(self, model: Model, action: Action) -> tuple[int, ...]:
        env = self.step.arguments(action)
        return tuple(int(self.value(model, p.sort, env[p.uid]) or 0) for p in action.params)

    def value(self, model: Model, info: t.SortInfo, term: Expr) -> Value:
        found: Expr = model.eval(term, model_completion=True)
        if info.flavour == "bool":
            return bool(z3.is_true(found))
        if info.optional:
            if found.decl().eq(self.sorts.of(info).constructor(0)):
                return None
            found = found.arg(0)
        elements = self.sorts.elements(info)
        return self._number(info, next(i for i, e in enumerate(elements) if e.eq(found)))

    def _number(self, info: t.SortInfo, position: int) -> int:
        return self.interpreter.ranges[info.name].start + position


def scopes_of(spec: Spec, scope: Scope | None = None) -> list[Scope]:
    """Returns the scopes to search. If `scope` is not None, it is the only one. If `scope` is None,
    the result has the spec's own scope and a larger one; it is empty if the spec has no scope.
    """
    if scope is not None:
        return [scope]
    own = spec.scope()
    return [own, larger(own)] if own else []


def larger(scope: Scope) -> Scope:
    return {
        sort: range(size.start, size.stop + 1) if isinstance(size, range) else size + 1
        for sort, size in scope.items()
    }
