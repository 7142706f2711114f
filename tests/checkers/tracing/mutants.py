"""Traces with one mutation, to test whether they are rejected.

    dropped    an event is missing
    swapped    two consecutive events of one thread are exchanged
    altered    a number of an event is one more or less, or a set has a broker more or less

Some mutants are *equivalent* to the real trace, so no check can reject them. For example, a dropped
event changed nothing, or two exchanged events lead to the same state in both orders.

Events of different threads are not exchanged, because their lines may come late and in any order.
Fields that the spec does not have are not altered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from checkers.tracing.following import AHEAD_MS, Following
from checkers.tracing.logged_events import NAMES, Event, Field
from checkers.tracing.outcomes import Mapping, Refused

NOT_OF_THE_SPEC: Final = frozenset({"lastKnownElr", "leaderRecoveryState", "directories"})
OTHER_TEXTS: Final = {  # what an altered text becomes
    "COMMIT": ("ABORT",),
    "ABORT": ("COMMIT",),
    "ONGOING": ("EMPTY", "PREPARE_COMMIT"),
    "EMPTY": ("ONGOING",),
    "PREPARE_COMMIT": ("PREPARE_ABORT", "ONGOING"),
    "PREPARE_ABORT": ("PREPARE_COMMIT", "ONGOING"),
    "COMPLETE_COMMIT": ("COMPLETE_ABORT", "PREPARE_COMMIT"),
    "COMPLETE_ABORT": ("COMPLETE_COMMIT", "PREPARE_ABORT"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A trace that differs from a real trace at one event."""

    kind: str
    number: int  # of the first event that differs
    events: Sequence[Event]
    original: Event

    def __str__(self) -> str:
        return f"{self.kind} at event {self.number}: {self.original} ({self.original.line.place})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdict on a mutant: whether it is equivalent, and why the spec rejected it.

    `rejected` is None if the spec accepted the mutant.
    """

    mutant: Mutant
    is_equivalent: bool
    rejected: Refused | None
    later: int  # events taken after the mutation before the rejection


Begin = Callable[[Sequence[Event]], Mapping | Refused]


def mutants(events: Sequence[Event]) -> Iterator[Mutant]:
    """Yields every mutant of the trace, ordered by the event that is mutated."""
    following = _next_of_thread(events)
    for k, event in enumerate(events):
        rest = [*events[:k], *events[k + 1 :]]
        yield Mutant(kind="dropped", number=k, events=rest, original=event)
        other = following[k]
        if other is not None:
            swapped = [*events]
            swapped[k] = replace(events[other], line=event.line)
            swapped[other] = replace(event, line=events[other].line)
            yield Mutant(kind="swapped", number=k, events=swapped, original=event)
        for name, value in event.fields.items():
            if name.removesuffix(" before") in NOT_OF_THE_SPEC:
                continue
            for changed in _neighbours(name, value):
                altered = replace(event, fields={**event.fields, name: changed})
                yield Mutant(
                    kind=f"altered {name}",
                    number=k,
                    events=[*events[:k], altered, *events[k + 1 :]],
                    original=event,
                )


def judged(
    events: Sequence[Event],
    wrong: Iterable[Mutant],
    begin: Begin,
    ahead_ms: int = AHEAD_MS,
) -> Iterator[Judged]:
    """Follows each mutant of a trace through the spec, and yields the verdict on it.

    The verdict says whether the spec rejected the mutant, and why. The mutants must be ordered by
    the position of the mutated event.
    """
    begun = begin(events)
    assert not isinstance(begun, Refused)
    real = Following(begun, events, ahead_ms * 1_000_000)
    for mutant in wrong:
        # The common events before the mutated one are followed only once. The spec must accept the
        # real trace.
        while real.start < mutant.number:
            assert real.next() is None, "the trace itself is accepted"
        here, early = begun.position, set(real.early)
        yield _judged(real, mutant, begin)
        begun.back_to(here)
        real.early = early


def _judged(real: Following, mutant: Mutant, begin: Begin) -> Judged:
    mapping, here = real.mapping, real.mapping.position
    if mutant.number == 0:
        begun = begin(mutant.events)
        if isinstance(begun, Refused):
            return Judged(mutant=mutant, is_equivalent=False, rejected=begun, later=0)
        mapping = begun
    run = Following(mapping, mutant.events, real.ahead_ns, mutant.number, set(real.early))
    is_equivalent = _is_equivalent(mapping, real.events, mutant)
    if mapping is real.mapping:
        mapping.back_to(here)
    rejected = run.run()
    return Judged(
        mutant=mutant,
        is_equivalent=is_equivalent,
        rejected=rejected,
        later=run.start - mutant.number,
    )


def _is_equivalent(mapping: Mapping, events: Sequence[Event], mutant: Mutant) -> bool:
    """Returns True if the spec accepts the mutation and is then in the same state as without it."""
    if mutant.number == 0 or mutant.kind.startswith("altered"):
        return False
    here, k = mapping.position, mutant.number
    if mutant.kind == "dropped":
        return mapping.take(events[k]) is None and same(here, mapping.position)
    one, other = events[k], mutant.events[k]
    real = _after(mapping, here, (one, other))
    exchanged = _after(mapping, here, (other, one))
    return real is not None and exchanged is not None and same(real, exchanged)


def _after(mapping: Mapping, here: Any, events: Sequence[Event]) -> Any:
    mapping.back_to(here)
    if any(mapping.take(event) is not None for event in events):
        return None
    return mapping.position


def same(one: Any, other: Any) -> bool:
    return bool(one._replace(taken=other.taken) == other)


def _neighbours(name: str, value: Field) -> Iterator[Field]:
    match value:
        case int():
            yield value + 1
            if value > 0:
                yield value - 1
        case str():
            yield from OTHER_TEXTS.get(value, ())
        case _:
            yield from _other_sets(name, value)


def _other_sets(name: str, value: frozenset[int] | frozenset[str]) -> Iterator[Field]:
    names = sorted(member for member in value if isinstance(member, str))
    numbers = sorted(member for member in value if isinstance(member, int))
    if name in NAMES:
        yield frozenset((*names, "other-0"))
    else:
        yield frozenset((*numbers, max(numbers, default=0) + 1))
    if names:
        yield frozenset(names[:-1])
    if numbers:
        yield frozenset(numbers[:-1])


def _next_of_thread(events: Sequence[Event]) -> list[int | None]:
    found: list[int | None] = [None] * len(events)
    last: dict[tuple[int, str], int] = {}
    for k, event in enumerate(events):
        thread = event.line.node, event.line.thread
        if thread in last:
            found[last[thread]] = k
        last[thread] = k
    return found
