"""Searching for a program that breaks a claim, or that shows a goal, with Hypothesis.

A machine raises `Shown` when its run shows what is searched for. Hypothesis generates runs from a
seed, without any example database, and shrinks the first one that shows it. What comes back is a
list of calls of the machine's rules; at last no single call can be left out.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis.reporting import with_reporter
from hypothesis.stateful import RuleBasedStateMachine, get_state_machine_test

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PHASES: Final = (Phase.generate, Phase.shrink)
_MAY: Final = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
_STATE: Final = "state."  # how Hypothesis writes the call of a rule


class Shown(Exception):
    """The run of a machine shows what is searched for: its name, and how."""

    def __init__(self, name: str, how: str) -> None:
        super().__init__(f"{name}: {how}")
        self.name = name
        self.how = how


@dataclass(slots=True)
class Tally:
    """What a search has cost so far; `progress` hears of every finished run."""

    runs: int = 0  # those of the shrinking included
    broker_steps: int = 0
    progress: Callable[[Tally], None] | None = None

    def add(self, broker_steps: int) -> None:
        """One more run has finished."""
        self.runs += 1
        self.broker_steps += broker_steps
        if self.progress is not None:
            self.progress(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The smallest run that was found: what it shows, and the calls of the machine `state`."""

    name: str
    how: str
    calls: tuple[str, ...]


def search(
    machine: Callable[[], RuleBasedStateMachine], *, seed: int, runs: int, rules: int
) -> Found | None:
    """What some run of the machine shows, shrunk; None if none of so many runs shows anything.

    Equal arguments give equal results. Whatever else a run raises passes through.
    """
    test = get_state_machine_test(
        machine,  # type: ignore[arg-type]  # it takes any factory, its annotation says a class
        settings=settings(
            database=None,
            deadline=None,
            max_examples=runs,
            stateful_step_count=rules,
            phases=_PHASES,
            print_blob=False,
            report_multiple_bugs=False,
            suppress_health_check=_MAY,
        ),
    )
    try:
        with with_reporter(_silent):
            seeded(seed)(test)()
    except Shown as shown:
        found = Found(name=shown.name, how=shown.how, calls=_calls(shown))
        return without_needless_calls(machine, found)
    return None


def without_needless_calls(machine: Callable[[], RuleBasedStateMachine], found: Found) -> Found:
    """The same with every call left out that can be, one at a time, the last ones first."""
    at = len(found.calls) - 1
    while at >= 0:
        shorter = found.calls[:at] + found.calls[at + 1 :]
        shown = replay(machine(), shorter)
        if isinstance(shown, Shown) and shown.name == found.name:
            found = replace(found, how=shown.how, calls=shorter)
        at -= 1
    return found


def replay(machine: RuleBasedStateMachine, calls: Iterable[str]) -> Shown | None:
    """What a run of these calls shows, from the first to the end of the run."""
    try:
        for call in calls:
            rule, arguments = _parsed(call)
            getattr(machine, rule)(**arguments)
        machine.teardown()
    except Shown as shown:
        return shown
    return None


def _parsed(call: str) -> tuple[str, dict[str, object]]:
    """The rule and the arguments of `state.rule(name=literal, ...)`."""
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call)
    assert isinstance(tree.func, ast.Attribute)
    arguments = {word.arg: ast.literal_eval(word.value) for word in tree.keywords if word.arg}
    return tree.func.attr, arguments


def _silent(_: object) -> None:
    """Whoever searches reports; Hypothesis does not."""


def _calls(shown: Shown) -> tuple[str, ...]:
    """The calls of the smallest run, as Hypothesis noted them on the exception."""
    notes: list[str] = getattr(shown, "__notes__", [])
    lines = [line for note in notes for line in note.splitlines()]
    return tuple(
        line for line in lines if line.startswith(_STATE) and line != f"{_STATE}teardown()"
    )
