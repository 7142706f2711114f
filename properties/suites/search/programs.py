"""Programs: the rule calls of a run, written as Hypothesis prints them.

    state.send_and_await(count=1)
    state.crash_leader()

All arguments are literals with names, so a call can be repeated, compared and simplified.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_STATE: Final = "state."
_TEARDOWN: Final = "teardown"  # ends every run, and is no rule


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a rule. The arguments have the order in which they are printed."""

    rule: str
    arguments: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return f"{_STATE}{self.rule}({', '.join(f'{k}={v}' for k, v in self.arguments)})"

    def run(self, machine: object) -> None:
        getattr(machine, self.rule)(**dict(self.arguments))

    def simplified(self, simpler: Mapping[str, tuple[int, ...]]) -> Iterator[Call]:
        """Yields copies of the call in which one argument has a simpler value. The simplest value
        is first.

        `simpler` lists the values of each argument, beginning with the simplest value.
        """
        for at, (name, value) in enumerate(self.arguments):
            values = simpler.get(name, ())
            for simple in values[: values.index(value)] if value in values else ():
                arguments = (*self.arguments[:at], (name, simple), *self.arguments[at + 1 :])
                yield Call(self.rule, arguments)


def calls_in(text: str) -> tuple[Call, ...]:
    """Returns the calls of rules in a printed program. The final call of `teardown` is not
    included.
    """
    lines = (line.strip() for line in text.splitlines())
    calls = (_parsed(line) for line in lines if line.startswith(_STATE))
    return tuple(call for call in calls if call.rule != _TEARDOWN)


def _parsed(line: str) -> Call:
    call = ast.parse(line, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    arguments = tuple(
        (word.arg, ast.literal_eval(word.value)) for word in call.keywords if word.arg is not None
    )
    return Call(call.func.attr, arguments)
