"""Trace validation of a run: each event must be one or more actions of a spec, or change nothing.

A mapping translates each event to actions of the spec. It also reads from the broker the values
that the spec's state must have after these actions. No search is needed: the change of the broker's
state determines the actions, and the spec decides whether they are allowed. An event without
actions (a stutter) must change nothing that the mapping covers.

A run is accepted if the spec allows all its events. Otherwise the result names the first event that
the spec does not allow, the actions that were tried, and the condition that was false.

Source: Cirstea, Kuppe, Loillier and Merz, Validating Traces of Distributed Programs Against TLA+
Specifications; Smart Casual Verification (arXiv 2406.17455).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, Protocol, Self

from model.language.interpreter import Cell, State, Value
from properties.refinement.behaviour import Behaviour, Call, Refusal
from reference_impl.simulation.trace import Traced


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedStep:
    """The actions of the spec for an event, and values that the spec's state must have after these
    actions.
    """

    calls: Iterable[Call]  # lazy: a call may depend on the state after the calls before it
    cells: Mapping[Cell, Value] = field(default_factory=dict[Cell, Value])  # values that follow
    at_least: Mapping[Cell, int] = field(default_factory=dict[Cell, int])  # lower bounds
    allowed_actions: frozenset[str] | None = None  # for an event of this kind; None: any
    violation: str = ""  # a reason to reject the event, whatever the spec allows


class Refinement(Protocol):
    """Maps the events of a run to the actions of one spec that these events perform."""

    behaviour: Behaviour

    @property
    def elements(self) -> Mapping[str, Sequence[str]]:
        """Maps each sort (type) of the spec to the names of its elements. For example, the name of
        replica 0 may be `broker 1`.
        """
        ...

    def fork(self) -> Self: ...

    def expected_step(self, traced: Traced) -> ExpectedStep | None:
        """Returns the actions that the spec must take at the event, and the values that the state
        must have after these actions.

        Returns None if the event changes nothing that the spec covers.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Unexplained:
    """In a run, the first event that the spec does not allow, and the reasons."""

    number: int  # of the event in the run
    event: str
    why: tuple[str, ...]  # the attempts, with the decisive reason last

    def __str__(self) -> str:
        return f"event {self.number}, {self.event}: {'; '.join(self.why)}"


class Rejected(NamedTuple):
    """The reasons why the spec rejects an event. The last reason in `why` is decisive.

    The earlier reasons belong to optional actions that the spec refused. `refusal` is the refused
    action if the spec refuses an action that the event needs. It is None if the event is rejected
    for another reason: for example, values of the run differ from values of the spec.
    """

    why: tuple[str, ...]
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """The result of the validation of a run against one spec.

    `consumed` is the number of events before the first event that the spec rejects. `actions` has
    how often each action was taken.
    """

    events: int
    consumed: int
    steps: int  # events that took actions
    actions: Counter[str]
    unexplained: Unexplained | None

    @property
    def accepted(self) -> bool:
        return self.unexplained is None and self.consumed == self.events


def validate(mapping: Refinement, events: Sequence[Traced], done: int = 0) -> Validated:
    """Validates a run against one spec, up to the first event that the spec rejects.

    The first `done` events of the run are skipped, because they are already validated.
    """
    consumed, steps = done, 0
    unexplained: Unexplained | None = None
    for number, traced in enumerate(islice(events, done, None), done):
        step = mapping.expected_step(traced)
        unexplained = None if step is None else _unexplained(mapping, step, number, traced)
        steps += step is not None
        if unexplained is not None:
            break
        consumed += 1
    return Validated(
        events=len(events),
        consumed=consumed,
        steps=steps,
        actions=mapping.behaviour.taken,
        unexplained=unexplained,
    )


def first_unexplained(
    mappings: Sequence[Refinement], events: Sequence[Traced], done: int = 0
) -> Unexplained | None:
    """Returns the first event that one of the specs rejects, or None if every spec allows all
    events.

    The first `done` events of the run are skipped, because they are already validated.
    """
    for number, traced in enumerate(islice(events, done, None), done):
        for mapping in mappings:
            step = mapping.expected_step(traced)
            found = None if step is None else _unexplained(mapping, step, number, traced)
            if found is not None:
                return found
    return None


def _unexplained(
    mapping: Refinement, step: ExpectedStep, number: int, traced: Traced
) -> Unexplained | None:
    why = explain(mapping.behaviour, step)
    return Unexplained(number=number, event=_described(traced), why=why) if why else None


def explain(behaviour: Behaviour, step: ExpectedStep) -> tuple[str, ...]:
    """Performs the spec's actions for an event, and returns the reasons why the spec rejects the
    event.

    The reasons are empty if the spec allows the event. `behaviour` is changed: it has performed the
    actions that the spec allowed.
    """
    rejected = attempt(behaviour, step)
    return () if rejected is None else rejected.why


def attempt(behaviour: Behaviour, step: ExpectedStep) -> Rejected | None:
    """Performs the spec's actions for an event. Returns None if the spec allows the event, and
    otherwise the reasons of the rejection.

    `behaviour` is changed: it has performed the actions that the spec allowed.
    """
    tried: list[str] = []
    for call in step.calls:
        if step.allowed_actions is not None and call.action not in step.allowed_actions:
            return Rejected((*tried, f"an event of this kind cannot be {call.action}"))
        refusal = behaviour.take(call)
        if refusal is not None:
            tried.append(str(refusal))
            if not call.maybe:
                return Rejected(tuple(tried), refusal)
    different = _different(behaviour.state, step) or step.violation
    return Rejected((*tried, different)) if different else None


def _different(state: State, step: ExpectedStep) -> str:
    for cell, value in step.cells.items():
        if state[cell] != value:
            return f"the run has {_named(cell)} = {value}, these actions lead to {state[cell]}"
    for cell, least in step.at_least.items():
        if int(state[cell] or 0) < least:
            return (
                f"the run has {_named(cell)} = {least}, these actions lead to {state[cell]} at most"
            )
    return ""


def _named(cell: Cell) -> str:
    name, keys = cell
    return f"{name}[{', '.join(map(str, keys))}]" if keys else name


def _described(traced: Traced) -> str:
    event = traced.event
    message = getattr(event, "request", getattr(event, "response", event))
    return f"{type(message).__name__} at node {traced.node}, {traced.at_ms} ms"
