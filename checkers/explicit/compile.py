"""Compiles the expressions of a spec to Python source, at a fixed scope such as 3 replicas.

Parameters and bound variables become constants. State variables become bytes of a state, such as
`s[17]`. Quantifiers are unrolled: the code has one copy of the formula for each element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn, assert_never

from checkers.explicit.finite_terms import SIGNS, FiniteTerms
from model.language import terms as t
from model.language.interpreter import Undefined

Code = int | str  # a constant, or Python source
Env = Mapping[int, int]  # uid of a parameter or bound variable -> its packed value

ATOM = re.compile(r"\w+(\[\w+\])?")


def inside(value: int, size: int) -> int:
    """Returns the value if it is an element of a type with `size` elements. Raises Undefined
    otherwise.
    """
    return value if 0 <= value < size else outside(value, size)


def outside(value: int, size: int) -> NoReturn:
    raise Undefined(f"a value is outside its sort: element {value} of 0..{size - 1}")


BUILT_IN = {"inside": inside, "outside": outside}


def can_fail(code: Code) -> bool:
    return isinstance(code, str) and "side(" in code


def paren(code: Code) -> str:
    return str(code) if isinstance(code, int) or ATOM.fullmatch(code) else f"({code})"


@dataclass
class Compiler(FiniteTerms):
    # ---- cells

    def cell(self, variable: t.Variable, keys: tuple[t.Node, ...], env: Env) -> Code:
        """Returns code for the index of the byte that stores `variable[keys]`, or the index
        itself if all keys are constant.
        """
        block = self.at.blocks[variable.name]
        start = block.start
        dynamic: list[str] = []
        for key, stride in zip(keys, block.strides, strict=True):
            code = self.in_sort(key, env)
            if isinstance(code, int):
                start += code * stride
            else:
                dynamic.append(paren(code) if stride == 1 else f"{paren(code)}*{stride}")
        if not dynamic:
            return start
        return " + ".join([*dynamic, *([str(start)] if start else [])])

    def in_sort(self, value: t.Node, env: Env) -> Code:
        """Returns code for a value that must be an element of its type: the key of a map, or a
        value that is assigned to a variable.

        If the value can be outside its type, such as 5 in the type 0..4, the code raises Undefined.
        """
        code = self.code(value, env)
        size = self.at.size(value.sort)
        if isinstance(code, int):
            return code if 0 <= code < size else f"outside({code}, {size})"
        return f"inside({code}, {size})" if self.may_leave(value) else code

    # ---- terms

    def code(self, n: t.Node, env: Env) -> Code:  # noqa: C901 - one case for each word
        """Returns Python code for the value of a term, or an int if the value is constant."""
        match n:
            case t.Const():
                return self.packed(n)
            case t.Least():
                return 0
            case t.Local():
                return env[n.uid]
            case t.Get():
                return f"s[{self.cell(n.variable, n.keys, env)}]"
            case t.Some():
                return self.plus(self.in_sort(n.of, env), 1)
            case t.Plus():
                return self.plus(self.code(n.of, env), n.delta)
            case t.Ite():
                return self.chosen(
                    self.code(n.test, env),
                    lambda: self.code(n.then, env),
                    lambda: self.code(n.other, env),
                )
            case t.Not():
                of = self.code(n.of, env)
                return 1 - of if isinstance(of, int) else f"not {paren(of)}"
            case t.And():
                return self.joined((self.code(x, env) for x in n.of), "and", 0)
            case t.Or():
                return self.joined((self.code(x, env) for x in n.of), "or", 1)
            case t.Implies():
                return self.joined((self.code(x, env) for x in (t.Not(n.left), n.right)), "or", 1)
            case t.Eq() | t.Le() | t.Lt():
                left, right = (self.code(x, env) for x in self.sides(n))
                return self.compared(SIGNS[type(n)], left, right)
            case t.Succ():
                left = self.plus(self.code(n.left, env), 1)
                return self.compared("==", left, self.code(n.right, env))
            case t.Forall():
                return self.joined(
                    (self.code(n.body, e) for e in self.bindings(n.binders, env)), "and", 0
                )
            case t.Exists():
                return self.joined(
                    (self.code(n.body, e) for e in self.bindings(n.binders, env)), "or", 1
                )
            case t.Count():
                each = [self.code(n.body, e) for e in self.bindings(n.binders, env)]
                return " + ".join(f"(1 if {paren(c)} else 0)" for c in each if c != 0) or 0
            case t.Extreme():
                return self.extreme(n, env)
            case _:
                assert_never(n)

    def extreme(self, n: t.Extreme, env: Env) -> Code:
        """Returns code for the first (or last) element for which a formula is true. If the
        formula is true for no element, the value of the code is the default of the term.
        """
        found = self.code(n.default, env)
        elements = list(self.bindings((n.binder,), env))
        # the conditional that is added last is evaluated first
        for e in elements if n.last else reversed(elements):
            value, rest = e[n.binder.uid], found
            found = self.chosen(self.code(n.body, e), lambda v=value: v, lambda r=rest: r)  # type: ignore[misc] # mypy cannot type a lambda's default
        return found

    # ---- source

    @staticmethod
    def plus(code: Code, delta: int) -> Code:
        if isinstance(code, int) or delta == 0:
            return code + delta if isinstance(code, int) else code
        return f"{paren(code)} {'+' if delta > 0 else '-'} {abs(delta)}"

    @staticmethod
    def chosen(test: Code, then: Callable[[], Code], other: Callable[[], Code]) -> Code:
        """Returns code for a conditional expression, or the code of one branch if `test` is
        constant.
        """
        if isinstance(test, int):
            return then() if test else other()
        a, b = then(), other()
        return (
            a if a == b and not can_fail(test) else f"{paren(a)} if {paren(test)} else {paren(b)}"
        )

    @staticmethod
    def compared(operator: str, a: Code, b: Code) -> Code:
        """Returns code for a comparison such as `a <= b`, or 0 or 1 if the result is constant."""
        if isinstance(a, int) and isinstance(b, int):
            return int({"==": a == b, "<=": a <= b, "<": a < b}[operator])
        if a == b and not can_fail(a):
            return int(operator != "<")
        return f"{paren(a)} {operator} {paren(b)}"

    @staticmethod
    def joined(codes: Iterable[Code], word: str, absorbing: int) -> Code:
        """Returns code that joins conditions by `and` or `or`. Conditions that cannot change the
        result are omitted.

        `absorbing` is the constant that decides the result: 0 for `and`, 1 for `or`.
        """
        parts: dict[str, None] = {}
        for code in codes:
            if code == absorbing:
                if not any(map(can_fail, parts)):
                    return absorbing
                return f" {word} ".join([*map(paren, parts), str(absorbing)])
            if isinstance(code, str):
                parts[code] = None
        return (
            f" {word} ".join(map(paren, parts))
            if len(parts) > 1
            else next(iter(parts), 1 - absorbing)
        )
