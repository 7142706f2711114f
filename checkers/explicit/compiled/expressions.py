"""Compiles terms to C expressions, for fixed sizes of the sorts (finite types such as `Replica`).

Quantifiers become loops in statement expressions, a GNU extension of C. The C code evaluates terms
in the same order as `model.language.interpreter`.

If a value is outside its type, the C function `inside` marks the state as undefined and returns 0.
The search stops at the first marked state. In this case, a property is undecided if no violation of
it was found before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count as counter
from typing import assert_never

from checkers.explicit.finite_terms import SIGNS, FiniteTerms
from model.language import terms as t

Env = Mapping[int, str]  # uid of a parameter or bound variable -> its C name
HEAVY = t.Forall | t.Exists | t.Count | t.Extreme | t.Ite  # worth a C variable
LOOPS = t.Forall | t.Exists | t.Count


@dataclass
class Expressions(FiniteTerms):
    """Compiles terms to C. `named` maps the id of a term to the C variable that already stores
    the value of the term.
    """

    named: dict[int, str] = field(default_factory=dict)  # id of a term -> its C variable
    _fresh: counter[int] = field(default_factory=counter)

    # ---- cells

    def cell(self, variable: t.Variable, keys: Sequence[t.Node], env: Env) -> str:
        """Returns C code for the index of the byte that stores `variable[keys]`."""
        block = self.at.blocks[variable.name]
        parts = [
            self.in_sort(key, env) if stride == 1 else f"{self.in_sort(key, env)} * {stride}"
            for key, stride in zip(keys, block.strides, strict=True)
        ]
        return " + ".join([*parts, str(block.start)] if block.start or not parts else parts)

    def in_sort(self, value: t.Node, env: Env) -> str:
        """Returns C code for a value that must be an element of its type: the key of a map, or a
        value that is assigned to a variable.

        If the value can be outside its type, such as 5 in the type 0..4, the code checks the value,
        and marks the state as undefined.
        """
        code = self.code(value, env)
        return f"inside(w, {code}, {self.at.size(value.sort)})" if self.may_leave(value) else code

    # ---- terms

    def code(self, n: t.Node, env: Env) -> str:  # noqa: C901 - one case for each word
        if id(n) in self.named:
            return self.named[id(n)]
        match n:
            case t.Const():
                return literal(self.packed(n))
            case t.Least():
                return "0"
            case t.Local():
                return env[n.uid]
            case t.Get():
                after = n.variable.name.endswith(t.AFTER)
                return f"{'AFTER' if after else 'CELL'}({self.cell(n.variable, n.keys, env)})"
            case t.Some():
                return f"({self.in_sort(n.of, env)} + 1)"
            case t.Plus():
                return f"({self.code(n.of, env)} + {literal(n.delta)})"
            case t.Ite():
                parts = (self.code(x, env) for x in (n.test, n.then, n.other))
                return "({} ? {} : {})".format(*parts)
            case t.Not():
                return f"!{self.code(n.of, env)}"
            case t.And():
                return f"({' && '.join(self.code(x, env) for x in n.of) or '1'})"
            case t.Or():
                return f"({' || '.join(self.code(x, env) for x in n.of) or '0'})"
            case t.Implies():
                return f"(!{self.code(n.left, env)} || {self.code(n.right, env)})"
            case t.Eq() | t.Le() | t.Lt():
                left, right = (self.code(x, env) for x in self.sides(n))
                return f"({left} {SIGNS[type(n)]} {right})"
            case t.Succ():
                return f"({self.code(n.left, env)} + 1 == {self.code(n.right, env)})"
            case t.Forall() | t.Exists() | t.Count():
                return self.loop(n, env)
            case t.Extreme():
                return self.extreme(n, env)
            case _:
                assert_never(n)

    def loop(self, n: LOOPS, env: Env) -> str:
        found = self.fresh("r")
        inner, heads = dict(env), ""
        start, update, go_on = {
            t.Forall: ("1", "{} = {} != 0", "{}"),
            t.Exists: ("0", "{} = {} != 0", "!{}"),
            t.Count: ("0", "{} += {} != 0", "1"),
        }[type(n)]
        for binder in n.binders:
            x = inner[binder.uid] = self.fresh("x")
            size = self.at.size(binder.sort)
            heads += f"for (int {x} = 0; {x} < {size} && {go_on.format(found)}; {x}++) "
        body = update.format(found, self.code(n.body, inner))
        return f"({{ int {found} = {start}; {heads}{body}; {found}; }})"

    def extreme(self, n: t.Extreme, env: Env) -> str:
        """Returns C code for the first (or last) element for which a formula is true. If the
        formula is true for no element, the value of the code is the default of the term.
        """
        found, x = self.fresh("r"), self.fresh("x")
        size = self.at.size(n.binder.sort)
        walk = f"int {x} = 0; {x} < {size}; {x}++"
        if n.last:
            walk = f"int {x} = {size - 1}; {x} >= 0; {x}--"
        body = self.code(n.body, {**env, n.binder.uid: x})
        search = f"for ({walk}) if ({body}) {{ {found} = {x}; break; }}"
        default = self.code(n.default, env)
        return f"({{ int {found} = -1; {search} {found} < 0 ? {default} : {found}; }})"

    def fresh(self, letter: str) -> str:
        return f"{letter}{next(self._fresh)}"

    # ---- terms that may be computed once

    def total(self, n: t.Node) -> bool:
        for x in t.walk(n):
            kept = x.keys if isinstance(x, t.Get) else (x.of,) if isinstance(x, t.Some) else ()
            if any(map(self.may_leave, kept)):
                return False
        return True

    def shareable(self, write: t.Write, bound: frozenset[int]) -> dict[int, t.Node]:
        """Returns the costly terms of an assignment that C can compute once, before the loops of
        the assignment. The result maps the id of each term to the term.

        Such a term has no free variables except those in `bound`. In addition, it must be safe to
        compute early: it is defined in every state, or the assignment evaluates it in any case.
        """
        found: dict[int, t.Node] = {}
        always = isinstance(write.condition, t.Const)
        strict = set[int]().union(*map(certain, _roots(write))) if always else set[int]()
        todo = list(_roots(write))
        while todo:
            n = todo.pop()
            heavy = isinstance(n, HEAVY) and free(n) <= bound
            if heavy and (id(n) in strict or self.total(n)):
                found[id(n)] = n
            else:
                todo.extend(t.children(n))
        return found


def _roots(write: t.Write) -> tuple[t.Node, ...]:
    return (*write.keys, write.condition, write.value)


def certain(root: t.Node) -> set[int]:
    """Returns the `id()` of each part of a term that is always evaluated, such as `a` in
    `a and b`.
    """
    found: set[int] = set()
    todo = [root]
    while todo:
        n = todo.pop()
        if id(n) in found:
            continue
        found.add(id(n))
        match n:
            case t.Ite():
                todo.append(n.test)
            case t.And() | t.Or():
                todo.extend(n.of[:1])
            case t.Implies():
                todo.append(n.left)
            case t.Forall() | t.Exists() | t.Count() | t.Extreme():
                todo.append(n.body)
            case _:
                todo.extend(t.children(n))
    return found


def free(n: t.Node) -> frozenset[int]:
    """Returns the uids of a term's free variables."""
    bound = frozenset(
        b.uid
        for x in t.walk(n)
        if isinstance(x, t.Forall | t.Exists | t.Count | t.Extreme)
        for b in ((x.binder,) if isinstance(x, t.Extreme) else x.binders)
    )
    return t.locals_of(n) - bound


def literal(value: int) -> str:
    return str(value) if value >= 0 else f"({value})"
