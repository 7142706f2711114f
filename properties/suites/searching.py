"""Searching for a program that breaks a claim, or that shows a goal, with Hypothesis.

A machine raises `Shown` when its run shows what is searched for. Hypothesis generates runs of the
machine's rules from a seed, without any example database, until one shows it. That run, a list of
calls, is then shrunk here: calls are left out, one or two at a time, and arguments get simpler, as
long as the same is shown. Hypothesis could shrink too, but it shrinks the choices behind the calls,
and takes ten times as many runs to end with longer programs (measured).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis.reporting import with_reporter
from hypothesis.stateful import RuleBasedStateMachine, get_state_machine_test

from properties.suites.programs import Call, calls_in

_MAY: Final = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
_PAIRS_UP_TO: Final = 12  # calls: longer programs are shrunk one call at a time


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
    """The smallest run that was found: what it shows, how, and the calls of the machine."""

    name: str
    how: str
    calls: tuple[Call, ...]


def search(
    machine: Callable[[], RuleBasedStateMachine],
    *,
    seed: int,
    runs: int,
    rules: int,
    simpler: Mapping[str, tuple[int, ...]],
    shrinks: bool = True,
) -> Found | None:
    """What some run of the machine shows, as small as it gets if it is to be shrunk; None if none
    of so many runs shows anything.

    `simpler` lists the values of each argument, the simplest first. Equal arguments give equal
    results. Whatever else a run raises passes through.
    """
    test = get_state_machine_test(
        machine,  # type: ignore[arg-type]  # it takes any factory, its annotation says a class
        settings=settings(
            database=None,
            deadline=None,
            max_examples=runs,
            stateful_step_count=rules,
            phases=(Phase.generate,),
            print_blob=False,
            report_multiple_bugs=False,
            suppress_health_check=_MAY,
        ),
    )
    try:
        with with_reporter(_silent):
            seeded(seed)(test)()
    except Shown as shown:
        found = Found(name=shown.name, how=shown.how, calls=_noted_calls(shown))
        return shrunk(machine, found, simpler) if shrinks else found
    return None


def shrunk(
    machine: Callable[[], RuleBasedStateMachine],
    found: Found,
    simpler: Mapping[str, tuple[int, ...]],
) -> Found:
    """A program that shows the same and none of whose smaller neighbours does."""
    neighbours = _neighbours(found.calls, simpler)
    while (calls := next(neighbours, None)) is not None:
        shown = replay(machine(), calls)
        if shown is not None and shown.name == found.name:
            found = replace(found, how=shown.how, calls=calls)
            neighbours = _neighbours(calls, simpler)
    return found


def _neighbours(
    calls: tuple[Call, ...], simpler: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[Call, ...]]:
    """Smaller programs, the ones that are worth most first; later calls are left out earlier."""
    for at in reversed(range(len(calls))):
        yield calls[:at] + calls[at + 1 :]
    for at, call in enumerate(calls):
        for simple in call.simplified(simpler):
            yield (*calls[:at], simple, *calls[at + 1 :])
    if len(calls) <= _PAIRS_UP_TO:
        for one, other in combinations(reversed(range(len(calls))), 2):
            yield tuple(call for at, call in enumerate(calls) if at not in {one, other})


def replay(machine: RuleBasedStateMachine, calls: Iterable[Call]) -> Shown | None:
    """What a run of these calls shows, from the first to the end of the run."""
    try:
        for call in calls:
            call.make(machine)
        machine.teardown()
    except Shown as shown:
        return shown
    return None


def _silent(_: object) -> None:
    """Whoever searches reports; Hypothesis does not."""


def _noted_calls(shown: Shown) -> tuple[Call, ...]:
    """The calls of the run, as Hypothesis noted them on the exception."""
    notes: list[str] = getattr(shown, "__notes__", [])
    return calls_in("\n".join(notes))
