"""Searches with Hypothesis for a run that breaks a claim or reaches a goal, and shrinks the run.

Hypothesis generates runs (lists of rule calls) from a seed. This module shrinks the run that
Hypothesis found. It removes one or two calls, or makes an argument simpler, as long as the run
still breaks the same claim or reaches the same goal. In a measurement, Hypothesis's own shrinker
needed ten times as many runs, and its results were longer.
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

from properties.suites.machines.judged import Shown
from properties.suites.search.programs import Call, calls_in

_MAY: Final = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
_PAIRS_UP_TO: Final = 12  # calls; a longer program is shrunk one call at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A run that breaks a claim or reaches a goal, usually shrunk.

    `name` is the name of the claim or the goal. `how` describes the evidence.
    """

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
    """Returns the first run that breaks a claim or reaches a goal, or None if no run does.

    The search makes at most `runs` runs, each with at most `rules` rule calls. If `shrinks`, the
    result is shrunk. For this purpose, `simpler` lists the values of each argument, beginning with
    the simplest value.
    """
    test = get_state_machine_test(
        machine,  # type: ignore[arg-type]  # any factory works; the annotation wants a class
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
        found = Found(name=shown.name, how=shown.how, calls=_calls_of(shown))
        return shrink(machine, found, simpler) if shrinks else found
    return None


def shrink(
    machine: Callable[[], RuleBasedStateMachine],
    found: Found,
    simpler: Mapping[str, tuple[int, ...]],
) -> Found:
    """Returns a smaller run that breaks the same claim as `found`, or reaches the same goal.

    The result is minimal: none of its neighbours (see `_neighbours`) breaks this claim or reaches
    this goal.
    """
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
    """Yields smaller lists of calls: without one call, with a simpler argument, or without two
    calls.

    Two calls are removed together only if the list has at most `_PAIRS_UP_TO` calls.
    """
    for at in reversed(range(len(calls))):
        yield calls[:at] + calls[at + 1 :]
    for at, call in enumerate(calls):
        for simple in call.simplified(simpler):
            yield (*calls[:at], simple, *calls[at + 1 :])
    if len(calls) <= _PAIRS_UP_TO:
        for one, other in combinations(reversed(range(len(calls))), 2):
            yield tuple(call for at, call in enumerate(calls) if at not in {one, other})


def replay(machine: RuleBasedStateMachine, calls: Iterable[Call]) -> Shown | None:
    """Runs the calls, and then ends the run.

    Returns the exception `Shown` that names the broken claim or the reached goal, or None if there
    is no such finding.
    """
    try:
        for call in calls:
            call.run(machine)
        machine.teardown()
    except Shown as shown:
        return shown
    return None


def _silent(_: object) -> None: ...


def _calls_of(shown: Shown) -> tuple[Call, ...]:
    notes: list[str] = getattr(shown, "__notes__", [])
    return calls_in("\n".join(notes))
