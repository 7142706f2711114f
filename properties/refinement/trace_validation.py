"""A run is followed, event by event: each is actions of a spec, in order, or changes nothing.

A mapping says what an event looks like: which actions made it, and what the state of the spec must
be after them. There is no search: a table of what changed gives the actions, bounded by what
changed, and the spec decides. A step is a stutter only if nothing that the mapping sees has
changed; what has changed must be in the state that the actions made, so it takes some action.

A run is accepted when its last event was consumed, and that is counted. Else the answer is the
first event that no actions explain, what was tried, and the conjunct that was false.

Source: Cirstea, Kuppe, Loillier, Merz, Validating Traces of Distributed Programs Against TLA+
Specifications; smart casual verification (arXiv 2406.17455).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol, Self

from model.language.interpreter import Cell, State, Value
from properties.refinement.behaviour import Behaviour, Call
from reference_impl.simulation.trace import Traced


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedStep:
    """What an event looks like to a spec."""

    calls: Iterable[Call]  # may look at the state that those before have made
    shows: Mapping[Cell, Value] = field(default_factory=dict[Cell, Value])  # true afterwards
    at_least: Mapping[Cell, int] = field(default_factory=dict[Cell, int])  # and so
    allowed_actions: frozenset[str] | None = None  # actions that such an event can be; None: any
    violation: str = ""  # what no such event does, whatever the spec allows


class Refinement(Protocol):
    """How events look to one spec."""

    behaviour: Behaviour

    def fork(self) -> Self:
        """The same, to go on in another way."""
        ...

    def expected_step(self, traced: Traced) -> ExpectedStep | None:
        """What the event looks like; None: nothing that this spec speaks of has changed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Unexplained:
    """The first event that is no step of the spec."""

    number: int  # of the event in the run
    event: str
    why: tuple[str, ...]  # what was tried, the decisive reason last

    def __str__(self) -> str:
        return f"event {self.number}, {self.event}: {'; '.join(self.why)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """What became of a run."""

    events: int
    consumed: int
    steps: int  # events that took actions
    actions: Counter[str]
    unexplained: Unexplained | None

    @property
    def accepted(self) -> bool:
        """Every event was consumed."""
        return self.unexplained is None and self.consumed == self.events


def validate(mapping: Refinement, events: Sequence[Traced], done: int = 0) -> Validated:
    """The run as far as the spec goes along; so many events were followed before."""
    consumed, steps = done, 0
    unexplained: Unexplained | None = None
    for number, traced in enumerate(islice(events, done, None), done):
        seen = mapping.expected_step(traced)
        unexplained = None if seen is None else _unexplained(mapping, seen, number, traced)
        steps += seen is not None
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
    """The first event at which one of the specs does not go along; they follow side by side."""
    for number, traced in enumerate(islice(events, done, None), done):
        for mapping in mappings:
            seen = mapping.expected_step(traced)
            found = None if seen is None else _unexplained(mapping, seen, number, traced)
            if found is not None:
                return found
    return None


def _unexplained(
    mapping: Refinement, seen: ExpectedStep, number: int, traced: Traced
) -> Unexplained | None:
    why = explain(mapping.behaviour, seen)
    return Unexplained(number=number, event=_told(traced), why=why) if why else None


def explain(behaviour: Behaviour, seen: ExpectedStep) -> tuple[str, ...]:
    """The behaviour takes the actions; why it could not, or empty."""
    tried: list[str] = []
    for call in seen.calls:
        if seen.allowed_actions is not None and call.action not in seen.allowed_actions:
            return (*tried, f"such an event makes no {call.action}")
        refusal = behaviour.take(call)
        if refusal is not None:
            tried.append(str(refusal))
            if not call.maybe:
                return tuple(tried)
    different = _different(behaviour.state, seen) or seen.violation
    return (*tried, different) if different else ()


def _different(state: State, seen: ExpectedStep) -> str:
    """What is not as the event shows it."""
    for cell, value in seen.shows.items():
        if state[cell] != value:
            return f"{_named(cell)} is {value}, and by these actions {state[cell]}"
    for cell, least in seen.at_least.items():
        if int(state[cell] or 0) < least:
            return f"{_named(cell)} is {least}, and by these actions {state[cell]} at most"
    return ""


def _named(cell: Cell) -> str:
    name, keys = cell
    return f"{name}[{', '.join(map(str, keys))}]" if keys else name


def _told(traced: Traced) -> str:
    event = traced.event
    told = getattr(event, "request", getattr(event, "response", event))
    return f"{type(told).__name__} at node {traced.node}, {traced.at_ms} ms"
