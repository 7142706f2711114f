"""Programs: the rule calls of a run, in the form in which Hypothesis prints them.

    state.send_and_await(count=1)
    state.crash_leader()

All arguments are literals with names, so that a call can be run again, compared and simplified.
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
    """One call of a rule, with its arguments in the order in which they are printed."""

    rule: str
    arguments: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return f"{_STATE}{self.rule}({', '.join(f'{k}={v}' for k, v in self.arguments)})"

    def run(self, machine: object) -> None:
        getattr(machine, self.rule)(**dict(self.arguments))

    def simplified(self, simpler: Mapping[str, tuple[int, ...]]) -> Iterator[Call]:
        """Yields copies of the call with one argument made simpler, the simplest value first."""
        for at, (name, value) in enumerate(self.arguments):
            values = simpler.get(name, ())
            for simple in values[: values.index(value)] if value in values else ():
                arguments = (*self.arguments[:at], (name, simple), *self.arguments[at + 1 :])
                yield Call(self.rule, arguments)


def calls_in(text: str) -> tuple[Call, ...]:
    """Returns the calls of a state machine's rules in a program, without the final `teardown`."""
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
