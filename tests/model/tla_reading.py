"""Reads an exported TLA+ module and its configuration, and explores the module's states.

Where TLC's jar is available, TLC checks larger scopes; this reader works everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.model.tla_expressions import Env, Expression, Operator, Value
from tests.model.tla_parsing import Parser
from tests.model.tla_tokens import tokens_of


def frozen(value: Any) -> Any:
    return tuple((k, frozen(v)) for k, v in value.items()) if isinstance(value, dict) else value


@dataclass
class Module:
    """A TLA+ module and its configuration, translated to Python functions."""

    text: str
    configuration: str

    def __post_init__(self) -> None:
        bare = re.sub(r"\(\*.*?\*\)", "", self.text, flags=re.DOTALL)
        (variables,) = re.findall(r"^VARIABLES ([^=]*?)\n\n", bare, re.MULTILINE)
        self.variables: list[str] = re.findall(r"\w+", variables)
        self.env: Env = {"BOOLEAN": frozenset([False, True])}
        for name, value in re.findall(r"^  (\w+) = (.*)$", self.configuration, re.MULTILINE):
            if value.startswith("{"):
                self.env[name] = frozenset(value[1:-1].split(", "))
            else:
                self.env[name] = int(value) if re.fullmatch(r"-?\d+", value) else value
        for head, body in self.definitions(bare):
            name, *params = re.findall(r"\w+", head)
            if name not in ("First", "Last", "vars", "TypeOK", "Spec", "Symmetry"):
                self.define(name, tuple(params), body)

    @staticmethod
    def definitions(bare: str) -> Iterator[tuple[str, str]]:
        """Yields the head and the body of each definition; the body keeps its indentation."""
        starts = list(re.finditer(r"^([A-Za-z]\w*(?:\([^)]*\))?) ==", bare, re.MULTILINE))
        ends = [m.start() for m in starts[1:]] + [bare.rindex("\n====")]
        for match, end in zip(starts, ends, strict=True):
            body = " " * len(match[0]) + bare[match.end() : end]
            yield match[1], body.partition("\n\n")[0]

    def define(self, name: str, params: tuple[str, ...], body: str) -> None:
        if interval := re.fullmatch(r"\s*(.*)\.\.(.*?)\s*", body, re.DOTALL):
            low, high = (self.value(Parser(tokens_of(x)).whole()) for x in interval.groups())
            self.env[name] = frozenset(range(low, high + 1))
        elif re.search(r"\[\]|<>|~>|SUBSET|\[\w+ ->|^\s*\[\w+:", body):
            self.env[name] = body  # temporal, or a set of records
        else:
            self.env[name] = Operator(params, Parser(tokens_of(body)).whole())

    def value(self, of: Expression) -> Any:
        return of.value(self.env)

    def formula(self, name: str) -> Value:
        """Returns the named predicate, as a function of a state's values."""
        return self.env[name].body.value  # type: ignore[no-any-return]

    def state(self, env: Env, suffix: str = "") -> Env:
        return {name: env[name + suffix] for name in self.variables}

    def initial(self) -> list[Env]:
        return [self.state(e) for e in self.env["Init"].body.nexts(dict(self.env))]

    def explored(self, limit: int | None = None) -> tuple[list[Env], int]:
        """Returns the reachable states, up to a limit, and how many states were generated."""
        first = self.initial()
        states = {frozen(s): s for s in first}
        todo, generated = list(states.values()), len(first)
        for state in todo:  # grows while it is read
            for after in self.env["Next"].body.nexts({**self.env, **state}):
                generated += 1
                following = self.state(after, "'")
                if frozen(following) not in states:
                    states[frozen(following)] = following
                    todo.append(following)
            if limit is not None and len(todo) > limit:
                break
        return todo, generated
