"""Parses exported TLA+ text and explores its states, without any code of the specs.

The parser reads only the part of TLA+ that the export uses. Where TLC's jar is available, TLC
checks larger scopes; this parser works everywhere.

A conjunct of an action is explored as TLC explores it (`Tool.getNextStatesApplSwitch`): each
disjunct, and each element of an `\\E`, is a branch. Every branch is evaluated, and each true one
generates a state. Everywhere else a formula is evaluated from left to right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

Env = dict[str, Any]
Expression = Callable[[Env], Any]
Ways = Callable[[Env], int]
TOKEN = re.compile(r"\s*(\d+|\w+'?|/\\|\\/|\\[A-Za-z]+|=>|<=|\|->|\.\.|[-+=#<~()\[\]{},:!])")


WAYS = "ways"  # attribute of an expression that TLC splits into branches


def split(expression: Expression, ways: Ways) -> Expression:
    setattr(expression, WAYS, ways)
    return expression


def ways(conjunct: Expression, e: Env) -> int:
    """Returns how many branches of a conjunct are true; evaluates each one, as TLC does."""
    counted: Ways | None = getattr(conjunct, WAYS, None)
    return int(bool(conjunct(e))) if counted is None else counted(e)


def all_ways(conjuncts: Iterable[tuple[Expression, Env]]) -> int:
    """Returns in how many ways all conjuncts are true; stops at the first that is false."""
    total = 1
    for conjunct, e in conjuncts:
        total *= ways(conjunct, e)
        if not total:
            break
    return total


@dataclass
class Parser:
    """A recursive-descent parser of one TLA+ expression."""

    text: str

    def __post_init__(self) -> None:
        self.tokens = TOKEN.findall(self.text)
        assert "".join(self.tokens) == re.sub(r"\s", "", self.text), self.text
        self.at = 0

    def whole(self) -> Expression:
        made = self.implication()
        assert self.at == len(self.tokens), (self.text, self.tokens[self.at :])
        return made

    def ahead(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.ahead()
        assert not expected or token in expected, (expected, token, self.text)
        self.at += 1
        return str(token)

    def takes(self, token: str) -> bool:
        if self.ahead() != token:
            return False
        self.at += 1
        return True

    # ---- from what binds least

    def implication(self) -> Expression:
        left = self.disjunction()
        if not self.takes("=>"):
            return left
        right = self.implication()
        return split(lambda e: not left(e) or right(e), lambda e: ways(right, e) if left(e) else 1)

    def disjunction(self) -> Expression:
        parts = [self.conjunction()]
        while self.takes("\\/"):
            parts.append(self.conjunction())
        if len(parts) == 1:
            return parts[0]
        return split(lambda e: any(p(e) for p in parts), lambda e: sum(ways(p, e) for p in parts))

    def conjunction(self) -> Expression:
        parts = [self.negation()]
        while self.takes("/\\"):
            parts.append(self.negation())
        if len(parts) == 1:
            return parts[0]
        return split(lambda e: all(p(e) for p in parts), lambda e: all_ways((p, e) for p in parts))

    def negation(self) -> Expression:
        if self.takes("~"):
            of = self.negation()
            return lambda e: not of(e)
        return self.comparison()

    def comparison(self) -> Expression:
        left = self.sum()
        if self.ahead() not in ("=", "#", "<=", "<"):
            return left
        sign, right = self.take(), self.sum()
        compared: Mapping[str, Expression] = {
            "=": lambda e: left(e) == right(e),
            "#": lambda e: left(e) != right(e),
            "<=": lambda e: left(e) <= right(e),
            "<": lambda e: left(e) < right(e),
        }
        return compared[sign]

    def sum(self) -> Expression:
        made = self.applied()
        while self.ahead() in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            made = self.shifted(made, sign, self.applied())
        return made

    @staticmethod
    def shifted(left: Expression, sign: int, right: Expression) -> Expression:
        return lambda e: left(e) + sign * right(e)

    def applied(self) -> Expression:
        made = self.atom()
        while self.takes("["):
            made = self.application(made, self.implication())
            self.take("]")
        return made

    @staticmethod
    def application(function: Expression, key: Expression) -> Expression:
        return lambda e: function(e)[key(e)]

    def atom(self) -> Expression:
        token = self.take()
        if token.isdigit():
            return lambda e: int(token)
        match token:
            case "-":
                number = int(self.take())
                return lambda e: -number
            case "TRUE" | "FALSE":
                return lambda e: token == "TRUE"
            case "(":
                made = self.implication()
                self.take(")")
                return made
            case "[":
                return self.function()
            case "\\A" | "\\E":
                return self.quantified(token)
            case "IF":
                return self.conditional()
            case "CHOOSE":
                return self.choice()
            case "Least":
                return self.least()
            case "First" | "Last":
                return self.extreme(min if token == "First" else max)
            case "Cardinality":
                return self.cardinality()
            case _:
                assert re.fullmatch(r"[A-Za-z]\w*'?", token), (token, self.text)
                return lambda e: e[token]

    # ---- words

    def ranges(self) -> list[tuple[str, Expression]]:
        found = [self.one_range()]
        while self.takes(","):
            found.append(self.one_range())
        return found

    def one_range(self) -> tuple[str, Expression]:
        name = self.take()
        self.take("\\in")
        return name, self.atom()

    def quantified(self, quantifier: str) -> Expression:
        ranges = self.ranges()
        self.take(":")
        body = self.implication()
        names = [name for name, _ in ranges]

        def inner(e: Env) -> Iterator[Env]:
            for values in product(*(s(e) for _, s in ranges)):
                yield {**e, **dict(zip(names, values, strict=True))}

        if quantifier == "\\A":
            return split(
                lambda e: all(body(x) for x in inner(e)),
                lambda e: all_ways((body, x) for x in inner(e)),
            )
        return split(
            lambda e: any(body(x) for x in inner(e)),
            lambda e: sum(ways(body, x) for x in inner(e)),
        )

    def conditional(self) -> Expression:
        test = self.implication()
        self.take("THEN")
        then = self.implication()
        self.take("ELSE")
        other = self.implication()
        return split(
            lambda e: then(e) if test(e) else other(e),
            lambda e: ways(then if test(e) else other, e),
        )

    def choice(self) -> Expression:
        _, among = self.one_range()
        self.take(":")
        self.take("TRUE")
        return lambda e: among(e)[0]

    def least(self) -> Expression:
        self.take("(")
        among = self.atom()
        self.take(")")
        return lambda e: min(among(e))

    def extreme(self, which: Callable[[Any], Any]) -> Expression:
        self.take("(")
        among = self.atom()
        self.take(",")
        self.take("LAMBDA")
        name = self.take()
        self.take(":")
        test = self.implication()
        self.take(",")
        default = self.implication()
        self.take(")")

        def made(e: Env) -> Any:
            found = [x for x in among(e) if test({**e, name: x})]
            return which(found) if found else default(e)

        return made

    def cardinality(self) -> Expression:
        self.take("(")
        self.take("{")
        name, among = self.one_range()
        sets = [among]
        while self.takes("\\X"):
            sets.append(self.atom())
        self.take(":")
        test = self.implication()
        self.take("}")
        self.take(")")
        if len(sets) == 1:
            return lambda e: sum(bool(test({**e, name: x})) for x in among(e))
        return lambda e: sum(
            bool(test({**e, name: dict(enumerate(xs, start=1))}))
            for xs in product(*(s(e) for s in sets))
        )

    def function(self) -> Expression:
        r"""Parses `[k \in S |-> e]` or `[f EXCEPT ![a][b] = e, ...]`; the last change wins."""
        name = self.take()
        if self.takes("\\in"):
            among = self.atom()
            self.take("|->")
            body = self.implication()
            self.take("]")
            return lambda e: {x: body({**e, name: x}) for x in among(e)}
        self.take("EXCEPT")
        changes: list[tuple[list[Expression], Expression]] = []
        while self.takes("!") or self.takes(","):
            self.takes("!")
            keys: list[Expression] = []
            while self.takes("["):
                keys.append(self.implication())
                self.take("]")
            self.take("=")
            changes.append((keys, self.implication()))
        self.take("]")

        def made(e: Env) -> Any:
            value = e[name]
            for keys, new in changes:
                value = replaced(value, [k(e) for k in keys], new(e))
            return value

        return made


def replaced(function: Any, keys: list[Any], new: Any) -> Any:
    if not keys:
        return new
    assert keys[0] in function, "outside the domain"
    return {**function, keys[0]: replaced(function[keys[0]], keys[1:], new)}


def frozen(value: Any) -> Any:
    return tuple((k, frozen(v)) for k, v in value.items()) if isinstance(value, dict) else value


def parsed(text: str) -> Expression:
    return Parser(text).whole()


@dataclass
class Module:
    """A TLA+ module and its configuration, translated to Python functions."""

    text: str
    configuration: str

    def __post_init__(self) -> None:
        self.sets: Env = {"BOOLEAN": [False, True], "Nothing": "Nothing"}
        for name, elements in re.findall(r"^  (\w+) = \{(.*)\}$", self.configuration, re.MULTILINE):
            self.sets[name] = elements.split(", ")
        for name, low, high in re.findall(
            r"^(\w+) == (-?\d+)\.\.(-?\d+)$", self.text, re.MULTILINE
        ):
            self.sets[name] = list(range(int(low), int(high) + 1))
        blocks = [
            re.sub(r"^\(\*.*?\*\)\n", "", b, flags=re.DOTALL) for b in self.text.split("\n\n")
        ]
        self.blocks = {b.split("\n")[0]: b.split("\n")[1:] for b in blocks if " ==" in b}
        (variables,) = re.findall(r"^VARIABLES (.*)$", self.text, re.MULTILINE)
        self.variables: list[str] = variables.split(", ")

    def formula(self, name: str) -> Expression:
        return parsed(" ".join(self.blocks[f"{name} =="]))

    def initial(self) -> list[Env]:
        lines = self.blocks["Init =="]
        names, choices = (
            self.opened(lines[0].strip()) if lines[0].startswith("  \\E") else ([], [()])
        )
        assigned = [line.removeprefix("  /\\ ").split(" = ", 1) for line in lines if " = " in line]
        values = {name: parsed(text) for name, text in assigned if name in self.variables}
        return [
            {name: value({**self.sets, **dict(zip(names, choice, strict=True))})
             for name, value in values.items()}
            for choice in choices
        ]  # fmt: skip

    def opened(self, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        r"""Parses `\E x \in S, y \in T :`; returns the names and all combinations of values."""
        found = re.findall(r"(\w+) \\in (\w+)", text)
        return [n for n, _ in found], list(product(*(self.sets[s] for _, s in found)))

    def steps(self) -> list[tuple[list[str], list[tuple[Any, ...]], list[Expression], Any]]:
        """Returns the actions of `Next` in their order, each as a tuple of four parts.

        The parts are: the names of the parameters, all combinations of their values, the conjuncts
        of the guard, and the new values of the changed variables by name.
        """
        made = []
        for line in self.blocks["Next =="]:
            text = line.removeprefix("  \\/ ")
            opening, _, call = text.rpartition(" : ")
            call = call or text
            names, choices = self.opened(opening)
            (block,) = (b for h, b in self.blocks.items() if h == f"{call} ==")
            lines = [x.removeprefix("  /\\ ") for x in block]
            updates = [re.fullmatch(r"(\w+)' = (.*)", x) for x in lines]
            guard = [parsed(x) for x in lines if not re.match(r"\w+' = |UNCHANGED|  TRUE", x)]
            made.append((names, choices, guard, {u[1]: parsed(u[2]) for u in updates if u}))
        return made

    def explored(self) -> tuple[list[Env], int]:
        states = {frozen(s): s for s in self.initial()}
        steps, todo = self.steps(), list(states.values())
        generated = len(todo)
        for state in todo:  # grows while it is read
            for names, choices, guard, updates in steps:
                for choice in choices:
                    env = {**self.sets, **state, **dict(zip(names, choice, strict=True))}
                    taken = all_ways((g, env) for g in guard)
                    generated += taken
                    if taken:
                        after = {**state, **{name: value(env) for name, value in updates.items()}}
                        if frozen(after) not in states:
                            states[frozen(after)] = after
                            todo.append(after)
        return todo, generated
