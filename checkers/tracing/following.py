"""Applies the events of a trace to a spec, and looks ahead for events whose log lines came late.

A thread A of Kafka usually acts first, and then writes a log line. Before the line is written,
another thread B may see the effect of the action and write a line of its own. Then the event of A
is *late*, and the spec refuses the event of B until the late event is applied. An event may be late
if three conditions are true:

- Kafka writes lines of this kind after their effect.
- The line comes at most `ahead_ms` after the line of the refused event.
- The event is the next event of its thread, because a thread writes its lines in order.

A bounded search finds a short sequence of late events after which the spec allows the refused
event. It tries shorter sequences first.

Source: Cirstea, Kuppe, Loillier and Merz, Validating Traces of Distributed Programs Against TLA+
Specifications; Smart Casual Verification (arXiv 2406.17455).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from checkers.tracing.logged_events import Event
from checkers.tracing.outcomes import Mapping, Needs, Refused
from properties.refinement.behaviour import Taken

AHEAD_MS: Final = 100
MOST_EARLY: Final = 6  # events taken before a refused one
MOST_TRIED: Final = 400  # sequences tried for a refused one
SHOWN_BEFORE: Final = 6
SHOWN_AFTER: Final = 3


class TakenEvent(NamedTuple):
    """The number of an event that was applied to the spec, and the final action of the spec for
    this event.
    """

    number: int  # in the order of the clock
    last: Taken | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbidden:
    number: int  # of the event, in the order of the clock
    event: Event
    why: str
    is_outside: bool  # the spec has no steps of this kind
    state: tuple[str, ...]
    around: tuple[Event, ...]  # in the order of the clock
    needs: Needs | None = None  # None: a value of the line differs from the spec's state


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """The result of checking the trace of one partition or of one transactional id against a
    spec.
    """

    subject: str
    events: int
    taken: int
    actions: Counter[str]
    early: int  # events taken before an event with an earlier line
    latest_ns: int  # the longest time by which an event was taken early
    forbidden: Forbidden | None
    in_order: tuple[TakenEvent, ...] = ()  # the events in the order in which they were taken

    @property
    def accepted(self) -> bool:
        return self.forbidden is None and 0 < self.events == self.taken


@dataclass(slots=True)
class Following:
    """The state of a check of one trace. `start` is the number of the next event to check."""

    mapping: Mapping
    events: Sequence[Event]
    ahead_ns: int = AHEAD_MS * 1_000_000
    start: int = 0
    early: set[int] = field(default_factory=set[int])
    early_ever: int = 0
    latest_ns: int = 0
    in_order: list[TakenEvent] = field(default_factory=list[TakenEvent])

    def run(self, progress: Callable[[int], None] | None = None) -> Refused | None:
        """Applies the remaining events. Returns None at the end of the trace, or the refusal of
        the first event that the spec forbids.
        """
        while self.start < len(self.events):
            refused = self.next()
            if refused is not None:
                return refused
            if progress is not None and self.start % 1_000 == 0:
                progress(self.start)
        return None

    def next(self) -> Refused | None:
        """Applies the next event, and returns None if the spec allows the event. Otherwise, returns
        the refusal.

        If the spec refuses the event at first, the method tries to apply late events before it.
        """
        if self.start in self.early:
            self.early.discard(self.start)
        else:
            refused = self.mapping.take(self.events[self.start])
            if refused is None:
                self.in_order.append(TakenEvent(self.start, self.mapping.behaviour.last))
            elif refused.is_outside or not self._look_ahead():
                return refused
        self.start += 1
        return None

    def _look_ahead(self) -> bool:
        """Applies late events and then the next event, and returns True if the spec allows this
        sequence.

        Returns False, and changes nothing, if the search finds no such sequence.
        """
        event, tried = self.events[self.start], 0
        here = self.mapping.position
        waiting = deque[tuple[Any, tuple[TakenEvent, ...]]]([(here, ())])
        seen = {frozenset[int]()}
        while waiting and tried < MOST_TRIED:
            position, taken = waiting.popleft()
            numbers = [one.number for one in taken]
            for k in self._heads(numbers):
                chosen = frozenset((*numbers, k))
                if chosen in seen:
                    continue
                seen.add(chosen)
                tried += 1
                self.mapping.back_to(position)
                if self.mapping.take(self.events[k]) is not None:
                    continue
                after = self.mapping.position
                now = (*taken, TakenEvent(k, self.mapping.behaviour.last))
                if self.mapping.take(event) is None:
                    self._took_early([*numbers, k])
                    self.in_order += now
                    self.in_order.append(TakenEvent(self.start, self.mapping.behaviour.last))
                    return True
                if len(chosen) < MOST_EARLY:
                    waiting.append((after, now))
        self.mapping.back_to(here)
        return False

    def _heads(self, taken: Sequence[int]) -> list[int]:
        # Each thread has at most one: its first event that is not yet taken.
        first = self.events[self.start].line
        threads, found = {(first.node, first.thread)}, list[int]()
        for k in range(self.start + 1, len(self.events)):
            line = self.events[k].line
            if line.at_ns > first.at_ns + self.ahead_ns:
                break
            if k in self.early or k in taken or (line.node, line.thread) in threads:
                continue
            threads.add((line.node, line.thread))
            if self.events[k].is_late:
                found.append(k)
        return found

    def _took_early(self, numbers: Sequence[int]) -> None:
        self.early.update(numbers)
        self.early_ever += len(numbers)
        at_ns = self.events[self.start].line.at_ns
        late = (self.events[k].line.at_ns - at_ns for k in numbers)
        self.latest_ns = max(self.latest_ns, *late)


def follow(
    begun: Mapping | Refused,
    events: Sequence[Event],
    *,
    ahead_ms: int = AHEAD_MS,
    progress: Callable[[int], None] | None = None,
) -> Followed:
    """Checks a trace against the spec, event by event, up to the first event that the spec forbids.

    `begun` maps events to actions, and has the spec's first state. If no state of the spec fits the
    beginning of the trace, `begun` is a `Refused`, and the first event counts as forbidden. The
    trace must have at least one event.

    If the spec refuses an event, the search for late events reads the lines up to `ahead_ms` after
    the line of this event.
    """
    subject = events[0].subject
    if isinstance(begun, Refused):
        first = Forbidden(
            number=0,
            event=events[0],
            why=begun.why,
            is_outside=begun.is_outside,
            state=(),
            around=tuple(events[: SHOWN_AFTER + 1]),
        )
        return Followed(
            subject=subject,
            events=len(events),
            taken=0,
            actions=Counter(),
            early=0,
            latest_ns=0,
            forbidden=first,
        )
    following = Following(begun, events, ahead_ms * 1_000_000)
    refused = following.run(progress)
    return Followed(
        subject=subject,
        events=len(events),
        taken=following.start,
        actions=begun.behaviour.taken,
        early=following.early_ever,
        latest_ns=following.latest_ns,
        forbidden=None if refused is None else _forbidden(following, refused),
        in_order=tuple(following.in_order),
    )


def _forbidden(following: Following, refused: Refused) -> Forbidden:
    k, event = following.start, following.events[following.start]
    return Forbidden(
        number=k,
        event=event,
        why=refused.why,
        is_outside=refused.is_outside,
        state=tuple(following.mapping.shown(event)),
        around=tuple(following.events[max(k - SHOWN_BEFORE, 0) : k + SHOWN_AFTER + 1]),
        needs=refused.needs,
    )
