"""A spec at a finite scope, for questions that must have an answer and a state to show for it.

Every sort is the enumeration of its elements and no quantifier is left. What Z3 finds is a state of
the reference interpreter, so that its steps can be taken there too.
"""

from __future__ import annotations

from itertools import product

import z3

from checkers.symbolic.induction import Induction
from checkers.symbolic.limits import Expr, Model, Solver
from checkers.symbolic.sorts import Finite
from checkers.symbolic.states import Step
from checkers.symbolic.translation import Translation
from model.language import terms as t
from model.language.interpreter import Cell, Interpreter, State, Value
from model.language.scope import Scope
from model.language.spec import Action, Spec


class SmallScope:
    """A spec with so many elements of each sort, as formulas and as the interpreter's states."""

    def __init__(self, spec: Spec, scope: Scope | None = None) -> None:
        self.spec = spec
        self.interpreter = Interpreter.of(spec, scope)
        self.sorts = Finite(self.interpreter.ranges)
        self.step = Step(spec, Translation(self.sorts))
        self.induction = Induction(spec, self.step)

    @property
    def sizes(self) -> dict[str, int]:
        """How many elements each sort has."""
        return {name: len(r) for name, r in self.interpreter.ranges.items() if name != "Bool"}

    def solver(self, *, limit_ms: int, seed: int = 0) -> Solver:
        """A solver without facts."""
        return Solver(self.sorts.context, limit_ms=limit_ms, seed=seed)

    def cells(self) -> list[tuple[Cell, t.SortInfo, Expr]]:
        """Every cell of the state before a step, its sort, and the term that is its value."""
        out: list[tuple[Cell, t.SortInfo, Expr]] = []
        for v in self.spec.variables:
            domains = [range(len(self.sorts.elements(key))) for key in v.keys]
            for place in product(*domains):
                keys = [self.sorts.elements(key)[i] for key, i in zip(v.keys, place, strict=True)]
                numbers = (self._number(key, i) for key, i in zip(v.keys, place, strict=True))
                out.append(((v.name, tuple(numbers)), v.value, self.step.before.at(v, keys)))
        return out

    def state(self, model: Model) -> State:
        """The state before the step, as the model has it."""
        return {cell: self.value(model, info, term) for cell, info, term in self.cells()}

    def arguments(self, model: Model, action: Action) -> tuple[int, ...]:
        """The parameters of the step, as the model has them."""
        env = self.step.arguments(action)
        return tuple(int(self.value(model, p.sort, env[p.uid]) or 0) for p in action.params)

    def value(self, model: Model, info: t.SortInfo, term: Expr) -> Value:
        """The value of a term in the model, as the interpreter writes it."""
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
    """Where counterexamples are looked for: the scope given, or the spec's own and a larger."""
    if scope is not None:
        return [scope]
    own = spec.scope()
    return [own, larger(own)] if own else []


def larger(scope: Scope) -> Scope:
    """One element more of each sort."""
    return {
        sort: range(size.start, size.stop + 1) if isinstance(size, range) else size + 1
        for sort, size in scope.items()
    }
