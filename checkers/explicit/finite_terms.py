"""The base class of all compilers of terms, for specs at a finite scope, such as 3 replicas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Final

from checkers.explicit.instance import Instance
from model.language import terms as t

SIGNS: Final[Mapping[type, str]] = {t.Eq: "==", t.Le: "<=", t.Lt: "<"}  # in Python and in C


@dataclass
class FiniteTerms:
    at: Instance
    _may_leave: dict[t.Node, bool] = field(default_factory=dict)
    _unrolled: dict[t.Node, int] = field(default_factory=dict)

    def packed(self, n: t.Const) -> int:
        """Returns the number that stores a constant: its distance from the least value of its type.
        If the type is -1..3, the constant 2 becomes 3.

        If the type has no range in the scope, the constant is returned unchanged. The type of
        counts is an example.
        """
        shifted = n.sort.flavour == "int" and n.sort.name in self.at.ranges
        return n.value - self.at.elements(n.sort).start if shifted else n.value

    def sides(self, n: t.Eq | t.Le | t.Lt) -> tuple[t.Node, t.Node]:
        """Returns the two compared terms in a form in which their values can be compared.

        The value of an integer type is stored as its distance from the least value of the type. If
        such a value is compared with a count, the least value is added to the stored number.
        """
        left, right = n.left, n.right
        return (
            self._as_number(left) if right.sort == t.NUMBER else left,
            self._as_number(right) if left.sort == t.NUMBER else right,
        )

    def _as_number(self, n: t.Node) -> t.Node:
        if n.sort.name not in self.at.ranges or n.sort.optional:
            return n
        start = self.at.elements(n.sort).start
        return t.Plus(n, start) if start else n

    def may_leave(self, value: t.Node) -> bool:
        """Returns True if the value of a term can be outside its finite type, such as 5 in the
        type 0..4.
        """
        if value.sort.flavour != "int":
            return False
        if value not in self._may_leave:
            self._may_leave[value] = any(
                isinstance(x, t.Plus | t.Const) and x.sort.flavour == "int" for x in t.walk(value)
            )
        return self._may_leave[value]

    def unrolled(self, n: t.Node) -> int:
        """Returns the number of terms in `n` after each quantifier is replaced by one copy of
        its formula for each combination of values.
        """
        if n not in self._unrolled:
            inner = 1 + sum(map(self.unrolled, t.children(n)))
            match n:
                case t.Forall() | t.Exists() | t.Count():
                    inner *= self.combinations(n.binders)
                case t.Extreme():
                    inner *= self.combinations((n.binder,))
                case _:
                    pass
            self._unrolled[n] = inner
        return self._unrolled[n]

    def combinations(self, binders: tuple[t.Local, ...]) -> int:
        return prod(self.at.size(b.sort) for b in binders)

    def bindings(
        self, binders: tuple[t.Local, ...], env: Mapping[int, int]
    ) -> list[dict[int, int]]:
        """Returns a copy of `env` for each combination of values of the variables `binders`. The
        last variable changes fastest.
        """
        out = [dict(env)]
        for b in binders:
            out = [{**e, b.uid: v} for e in out for v in range(self.at.size(b.sort))]
        return out
