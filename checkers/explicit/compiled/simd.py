"""Compiles formulas to SIMD code in C, which evaluates a formula in many states at once.

A vector (the C type `Many`) has one byte for each state, called a *lane*. True is a lane of all
ones. `expressions.py` compiles all other formulas; its code evaluates a formula in one state at a
time.

SIMD code can evaluate a formula only if it has these three properties:

- The formula is defined in every state, because the code evaluates both sides of `and`, `or` and
  `if`, and all elements of a quantifier.
- The keys of its maps do not depend on the state, because all lanes of a vector use the same key.
  So `end_offset[b1]` is allowed, but `end_offset[leader]` is not.
- Its numbers fit into a signed byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import assert_never

from checkers.explicit.compiled.expressions import LOOPS, Env, Expressions
from checkers.explicit.finite_terms import SIGNS
from model.language import terms as t

MOST = 127  # the largest signed byte: lanes are compared as signed bytes


@dataclass(frozen=True)
class SimdExpressions:
    """Compiles formulas to SIMD code, and terms that read no state to scalar code."""

    one: Expressions

    def takes(self, formula: t.Node) -> bool:
        """Returns True if SIMD code can evaluate the formula. The module's docstring lists the
        conditions.
        """
        terms = list(t.walk(formula))
        return (
            self.one.total(formula)
            and not any(t.reads(key) for x in terms if isinstance(x, t.Get) for key in x.keys)
            and self._largest(terms) <= MOST
        )

    def is_short(self, formula: t.Node) -> bool:
        """Returns True if SIMD code can evaluate the formula without a loop."""
        loops = LOOPS | t.Extreme
        return self.takes(formula) and not any(isinstance(x, loops) for x in t.walk(formula))

    def _largest(self, terms: list[t.Node]) -> int:
        sizes = [self._numbers(x.sort) for x in terms if x.sort != t.NUMBER]
        literals = [abs(self.one.packed(x)) for x in terms if isinstance(x, t.Const)]
        shifts = sum(abs(x.delta) for x in terms if isinstance(x, t.Plus))
        counted = [self._bindings(x) for x in terms if isinstance(x, t.Count)]
        return max(*sizes, *literals, *counted, 0, 0) + shifts + 1

    def _numbers(self, sort: t.SortInfo) -> int:
        return self.one.at.size(sort) + abs(self.one.at.elements(sort).start)

    def _bindings(self, n: t.Count) -> int:
        return prod(self.one.at.size(binder.sort) for binder in n.binders)

    def code(self, n: t.Node, env: Env) -> str:  # noqa: C901 - one case for each word
        """Returns C code for the value of the term in many states. A true Bool is a byte of all
        ones.
        """
        if not t.reads(n):
            sign = "-" if n.sort == t.BOOL else ""
            return f"every({sign}{self.one.code(n, env)})"
        match n:
            case t.Const() | t.Least() | t.Local():
                raise AssertionError("depends on no state")
            case t.Get():
                cell = f"w->cells[{self.one.cell(n.variable, n.keys, env)}]"
                return f"-{cell}" if n.sort == t.BOOL else cell
            case t.Some():
                return f"({self.code(n.of, env)} + every(1))"
            case t.Plus():
                return f"({self.code(n.of, env)} + every({n.delta}))"
            case t.Ite():
                parts = (self.code(x, env) for x in (n.test, n.then, n.other))
                return f"chosen({', '.join(parts)})"
            case t.Not():
                return f"~{self.code(n.of, env)}"
            case t.And():
                return f"({' & '.join(self.code(x, env) for x in n.of)})"
            case t.Or():
                return f"({' | '.join(self.code(x, env) for x in n.of)})"
            case t.Implies():
                return f"(~{self.code(n.left, env)} | {self.code(n.right, env)})"
            case t.Eq() | t.Le() | t.Lt():
                left, right = (self.code(x, env) for x in self.one.sides(n))
                return f"({left} {SIGNS[type(n)]} {right})"
            case t.Succ():
                return f"({self.code(n.left, env)} + every(1) == {self.code(n.right, env)})"
            case t.Forall() | t.Exists() | t.Count():
                return self._loop(n, env)
            case t.Extreme():
                return self._extreme(n, env)
            case _:
                assert_never(n)

    def _loop(self, n: LOOPS, env: Env) -> str:
        found = self.one.fresh("r")
        inner, heads = dict(env), ""
        start, sign = {t.Forall: (-1, "&="), t.Exists: (0, "|="), t.Count: (0, "-=")}[type(n)]
        for binder in n.binders:
            x = inner[binder.uid] = self.one.fresh("x")
            heads += f"for (int {x} = 0; {x} < {self.one.at.size(binder.sort)}; {x}++) "
        body = self.code(n.body, inner)
        return f"({{ Many {found} = every({start}); {heads}{found} {sign} {body}; {found}; }})"

    def _extreme(self, n: t.Extreme, env: Env) -> str:
        found, x = self.one.fresh("r"), self.one.fresh("x")
        size = self.one.at.size(n.binder.sort)
        walk = f"int {x} = {size - 1}; {x} >= 0; {x}--"
        if n.last:
            walk = f"int {x} = 0; {x} < {size}; {x}++"
        body = self.code(n.body, {**env, n.binder.uid: x})
        keep = f"{found} = chosen({body}, every({x}), {found});"
        return f"({{ Many {found} = {self.code(n.default, env)}; for ({walk}) {keep} {found}; }})"
