r"""TLA+ expressions as Python functions: each is evaluated as a formula, or executed as an action.

An action is explored as TLC explores it (`Tool.getNextStatesApplSwitch`). Each disjunct, and each
element of an `\E`, is a branch. In a branch, `x' = e` gives x' a value. A branch generates a next
state if all its conjuncts are true. Conjuncts are evaluated from left to right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Env = dict[str, Any]
Value = Callable[[Env], Any]


@dataclass(frozen=True)
class Expression:
    """A parsed expression; `value` evaluates it as a formula.

    `nexts` executes it as an action, and yields the values of all variables in each next state.
    """

    value: Value
    branches: Callable[[Env], Iterator[Env]] | None = None

    def nexts(self, e: Env) -> Iterator[Env]:
        if self.branches is not None:
            yield from self.branches(e)
        elif self.value(e) is True:
            yield e


@dataclass(frozen=True)
class Lazy:
    """An argument, which is evaluated where it is used."""

    of: Expression
    env: Env


@dataclass(frozen=True)
class Operator:
    params: tuple[str, ...]
    body: Expression

    def applied(self, arguments: Sequence[Expression], e: Env) -> Env:
        given = {p: Lazy(a, e) for p, a in zip(self.params, arguments, strict=True)}
        return {**e, **given}


def conjunction(parts: Sequence[Expression]) -> Expression:
    def branches(e: Env) -> Iterator[Env]:
        ends = [e]
        for part in parts:
            ends = [after for end in ends for after in part.nexts(end)]
        yield from ends

    return Expression(lambda e: all(p.value(e) for p in parts), branches)


def disjunction(parts: Sequence[Expression]) -> Expression:
    return Expression(
        lambda e: any(p.value(e) for p in parts),
        lambda e: (after for p in parts for after in p.nexts(e)),
    )


JOINED: Mapping[str, Callable[[Sequence[Expression]], Expression]] = {
    "/\\": conjunction,
    "\\/": disjunction,
}
COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "#": lambda a, b: a != b,
    "<=": lambda a, b: a <= b,
    "<": lambda a, b: a < b,
    "\\in": lambda a, b: a in b,
    "\\notin": lambda a, b: a not in b,
}


def constant(value: Any) -> Expression:
    return Expression(lambda _: value)


def ordered(elements: Any) -> list[Any]:
    return sorted(elements, key=lambda x: (str(type(x)), x))


def replaced(old: Any, path: Sequence[Any], new: Expression, e: Env) -> Any:
    if not path:
        return new.value({**e, "@": old})
    assert path[0] in old, "outside the domain"
    return {**old, path[0]: replaced(old[path[0]], path[1:], new, e)}
