r"""Parses TLA+ expressions to Python functions, without any code of the specs.

The parser reads only the part of TLA+ that the export uses, with its aligned lists of conjuncts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from tests.model.tla_expressions import (
    COMPARED,
    JOINED,
    Env,
    Expression,
    Lazy,
    Operator,
    Value,
    constant,
    ordered,
    replaced,
)
from tests.model.tla_tokens import Reader


@dataclass
class Parser(Reader):
    """Parses the definitions of a TLA+ module by recursive descent."""

    def whole(self) -> Expression:
        made = self.implication()
        assert self.at == len(self.tokens), self.tokens[self.at]
        return made

    # ---- from what binds least

    def implication(self) -> Expression:
        left = self.junction()
        if not self.takes("=>"):
            return left
        right = self.implication()

        def branches(e: Env) -> Iterator[Env]:
            yield from right.nexts(e) if left.value(e) else iter([e])

        return Expression(lambda e: not left.value(e) or right.value(e), branches)

    def junction(self) -> Expression:
        sign = self.ahead()
        parts = self.aligned() if sign in JOINED else [self.negation()]
        if len(parts) == 1 and self.ahead() in JOINED:
            sign = self.ahead()
            while self.takes(sign):
                parts.append(self.negation())
        return parts[0] if len(parts) == 1 else JOINED[sign](parts)

    def aligned(self) -> list[Expression]:
        """Parses a list whose items begin with the same sign in the same column."""
        first = self.tokens[self.at]
        parts: list[Expression] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if (token.text, token.column) != (first.text, first.column):
                break
            self.at += 1
            self.limits.append(first.column)
            parts.append(self.implication())
            self.limits.pop()
        return parts

    def negation(self) -> Expression:
        if self.takes("~"):
            of = self.negation()
            return Expression(lambda e: not of.value(e))
        return self.comparison()

    def comparison(self) -> Expression:
        name, left = self.ahead(), self.union()
        sign = self.ahead()
        if sign not in COMPARED:
            return left
        self.take()
        right, compare = self.union(), COMPARED[sign]

        def assigned(e: Env) -> Iterator[Env]:
            if name not in e:
                yield {**e, name: right.value(e)}
            elif left.value(e) == right.value(e):
                yield e

        value: Value = lambda e: compare(left.value(e), right.value(e))  # noqa: E731
        is_name = re.fullmatch(r"[a-z]\w*'?", name) is not None
        return Expression(value, assigned if sign == "=" and is_name else None)

    def union(self) -> Expression:
        made = self.sum()
        while self.ahead() in ("\\union", "\\"):
            made = self.united(made, self.take(), self.sum())
        return made

    @staticmethod
    def united(left: Expression, sign: str, right: Expression) -> Expression:
        if sign == "\\":
            return Expression(lambda e: left.value(e) - right.value(e))
        return Expression(lambda e: left.value(e) | right.value(e))

    def sum(self) -> Expression:
        made = self.applied()
        while self.ahead() in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            made = self.shifted(made, sign, self.applied())
        return made

    @staticmethod
    def shifted(left: Expression, sign: int, right: Expression) -> Expression:
        return Expression(lambda e: left.value(e) + sign * right.value(e))

    def applied(self) -> Expression:
        made = self.atom()
        while self.ahead() in ("[", "."):
            if self.take() == ".":
                made = self.at_key(made, constant(self.take()))
            else:
                made = self.at_key(made, self.implication())
                self.take("]")
        return made

    @staticmethod
    def at_key(function: Expression, key: Expression) -> Expression:
        return Expression(lambda e: function.value(e)[key.value(e)])

    def atom(self) -> Expression:  # noqa: C901 - one case for each word
        token = self.take()
        if token.isdigit():
            return constant(int(token))
        match token:
            case "-":
                return constant(-int(self.take()))
            case "TRUE" | "FALSE":
                return constant(token == "TRUE")
            case "(":
                made = self.implication()
                self.take(")")
                return made
            case "[":
                return self.bracket()
            case "{":
                return self.set()
            case "\\A" | "\\E":
                return self.quantified(token)
            case "IF":
                return self.conditional()
            case "LET":
                return self.let()
            case "CHOOSE":
                return self.choice()
            case "First" | "Last":
                return self.extreme(min if token == "First" else max)
            case "Cardinality":
                self.take("(")
                of = self.implication()
                self.take(")")
                return Expression(lambda e: len(of.value(e)))
            case "UNCHANGED":
                return self.unchanged()
            case _:
                assert re.fullmatch(r"@|[A-Za-z]\w*'?", token), token
                return self.name(token)

    def name(self, name: str) -> Expression:
        arguments: list[Expression] = []
        if self.takes("("):
            arguments.append(self.implication())
            while self.takes(","):
                arguments.append(self.implication())
            self.take(")")

        def value(e: Env) -> Any:
            found = e[name]
            if isinstance(found, Operator):
                return found.body.value(found.applied(arguments, e))
            return found.of.value(found.env) if isinstance(found, Lazy) else found

        def branches(e: Env) -> Iterator[Env]:
            found = e[name]
            if isinstance(found, Operator):
                for after in found.body.nexts(found.applied(arguments, e)):
                    yield {**after, **{p: e[p] for p in found.params if p in e}}
            elif value(e) is True:
                yield e

        return Expression(value, branches)

    # ---- words

    def ranges(self) -> list[tuple[str, Expression]]:
        found = [self.one_range()]
        while self.takes(","):
            found.append(self.one_range())
        return found

    def one_range(self) -> tuple[str, Expression]:
        name = self.take()
        self.take("\\in")
        return name, self.union()

    def quantified(self, quantifier: str) -> Expression:
        ranges = self.ranges()
        self.take(":")
        body = self.implication()
        names = [name for name, _ in ranges]

        def inner(e: Env) -> Iterator[Env]:
            for values in product(*(ordered(s.value(e)) for _, s in ranges)):
                yield {**e, **dict(zip(names, values, strict=True))}

        def each(e: Env) -> Iterator[Env]:
            return (after for x in inner(e) for after in body.nexts(x))

        if quantifier == "\\E":
            return Expression(lambda e: any(body.value(x) for x in inner(e)), each)

        def every(e: Env) -> Iterator[Env]:
            ends = [e]
            for x in inner(e):
                bound = {name: x[name] for name in names}
                ends = [after for end in ends for after in body.nexts({**end, **bound})]
            yield from ends

        return Expression(lambda e: all(body.value(x) for x in inner(e)), every)

    def conditional(self) -> Expression:
        test = self.implication()
        self.take("THEN")
        then = self.implication()
        self.take("ELSE")
        other = self.implication()
        return Expression(
            lambda e: (then if test.value(e) else other).value(e),
            lambda e: (then if test.value(e) else other).nexts(e),
        )

    def let(self) -> Expression:
        defined: dict[str, Operator] = {}
        while not self.takes("IN"):
            name, params = self.take(), list[str]()
            while self.ahead() in ("(", ","):
                self.take()
                params.append(self.take())
            if params:
                self.take(")")
            self.take("=")
            self.take("=")
            defined[name] = Operator(tuple(params), self.implication())
        body = self.implication()

        def within(e: Env) -> Env:
            return {**e, **defined}

        return Expression(lambda e: body.value(within(e)), lambda e: body.nexts(within(e)))

    def choice(self) -> Expression:
        _, among = self.one_range()
        self.take(":")
        self.take("TRUE")
        return Expression(lambda e: ordered(among.value(e))[0])

    def extreme(self, which: Callable[[Any], Any]) -> Expression:
        self.take("(")
        among = self.union()
        self.take(",")
        self.take("LAMBDA")
        name = self.take()
        self.take(":")
        test = self.implication()
        self.take(",")
        default = self.implication()
        self.take(")")

        def value(e: Env) -> Any:
            found = [x for x in among.value(e) if test.value({**e, name: x})]
            return which(found) if found else default.value(e)

        return Expression(value)

    def unchanged(self) -> Expression:
        self.take("<<")
        names = [self.take()]
        while self.takes(","):
            names.append(self.take())
        self.take(">>")

        def branches(e: Env) -> Iterator[Env]:
            yield {**e, **{f"{name}'": e[name] for name in names}}

        return Expression(lambda _: False, branches)

    # ---- brackets

    def set(self) -> Expression:
        """Parses `{}`, `{a, b}` or `{x \\in S : p}`."""
        if self.takes("}"):
            return constant(frozenset())
        if self.tokens[self.at + 1].text == "\\in":
            return self.comprehension()
        elements = [self.implication()]
        while self.takes(","):
            elements.append(self.implication())
        self.take("}")
        return Expression(lambda e: frozenset(x.value(e) for x in elements))

    def comprehension(self) -> Expression:
        name, among = self.one_range()
        sets = [among]
        while self.takes("\\X"):
            sets.append(self.union())
        self.take(":")
        test = self.implication()
        self.take("}")

        def value(e: Env) -> Any:
            every = product(*(ordered(s.value(e)) for s in sets))
            if len(sets) == 1:
                return frozenset(x for (x,) in every if test.value({**e, name: x}))
            tuples = (dict(enumerate(xs, start=1)) for xs in every)
            return frozenset(tuple(x.values()) for x in tuples if test.value({**e, name: x}))

        return Expression(value)

    def bracket(self) -> Expression:
        r"""Parses `[x \in S |-> e]`, `[a |-> e, ...]` or `[f EXCEPT ![a].b = e, ...]`."""
        following = self.tokens[self.at + 1].text
        if following == "|->":
            return self.record()
        if following == "\\in":
            name, among = self.one_range()
            self.take("|->")
            body = self.implication()
            self.take("]")
            return Expression(
                lambda e: {x: body.value({**e, name: x}) for x in ordered(among.value(e))}
            )
        before = self.applied()
        self.take("EXCEPT")
        changes = [self.change()]
        while self.takes(","):
            changes.append(self.change())
        self.take("]")

        def value(e: Env) -> Any:
            made = before.value(e)
            for path, new in changes:
                made = replaced(made, [k.value(e) for k in path], new, e)
            return made

        return Expression(value)

    def record(self) -> Expression:
        fields: dict[str, Expression] = {}
        while not fields or self.takes(","):
            name = self.take()
            self.take("|->")
            fields[name] = self.implication()
        self.take("]")
        return Expression(lambda e: {name: of.value(e) for name, of in fields.items()})

    def change(self) -> tuple[list[Expression], Expression]:
        self.take("!")
        path: list[Expression] = []
        while self.ahead() in ("[", "."):
            if self.take() == ".":
                path.append(constant(self.take()))
            else:
                path.append(self.implication())
                self.take("]")
        self.take("=")
        return path, self.implication()
