"""Programs: the calls of a machine's rules, as Hypothesis prints them and as they run again.

    state.send_and_await(count=1)
    state.crash_leader()

Arguments are literals and have names, so a call is data: it can be made, compared and simplified.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_STATE: Final = "state."
_TEARDOWN: Final = "state.teardown()"  # every run ends with it; it is no rule


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a rule; the arguments by name, in the order in which they are printed."""

    rule: str
    arguments: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return f"{_STATE}{self.rule}({', '.join(f'{k}={v}' for k, v in self.arguments)})"

    def make(self, machine: object) -> None:
        """The call is made."""
        getattr(machine, self.rule)(**dict(self.arguments))

    def simplified(self, simpler: Mapping[str, tuple[int, ...]]) -> Iterator[Call]:
        """The same call with one argument simpler, the simplest first."""
        for at, (name, value) in enumerate(self.arguments):
            values = simpler.get(name, ())
            for simple in values[: values.index(value)] if value in values else ():
                arguments = (*self.arguments[:at], (name, simple), *self.arguments[at + 1 :])
                yield Call(self.rule, arguments)


def calls_in(text: str) -> tuple[Call, ...]:
    """The calls of rules among the lines of a text."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(_parsed(line) for line in lines if line.startswith(_STATE) and line != _TEARDOWN)


def _parsed(line: str) -> Call:
    call = ast.parse(line, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    arguments = tuple(
        (word.arg, ast.literal_eval(word.value)) for word in call.keywords if word.arg is not None
    )
    return Call(call.func.attr, arguments)
