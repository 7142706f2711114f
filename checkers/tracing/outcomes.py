"""The interface of a mapping from the events of a trace to the actions of a spec.

The mapping can go back to an earlier position of the trace, so a search can apply the events in a
different order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as MappingOf
from typing import Any, NamedTuple, Protocol

from checkers.tracing.logged_events import Event
from properties.refinement.behaviour import Behaviour, Call, Refusal, Taken

ElementNames = MappingOf[str, Sequence[str]]


class Needs(NamedTuple):
    """An action that an event requires and the spec refuses. `last` is the last action that the
    spec performed before the event.
    """

    refusal: Refusal
    last: Taken | None


class Refused(NamedTuple):
    why: str
    is_outside: bool = False
    needs: Needs | None = None  # None: a value of the line differs from the spec's state


Outcome = Refused | None


def compared(what: str, found: object, expected: object) -> Outcome:
    """Returns None if the log line's value `found` equals the spec's value `expected`. Otherwise,
    returns a refusal.

    `what` names the value in the text of the refusal.
    """
    if found == expected:
        return None
    return Refused(f"{what}: the line has {found}, the spec {expected}")


def done(behaviour: Behaviour, action: str, *arguments: int) -> Outcome:
    refusal = behaviour.take(Call(action, arguments))
    if refusal is None:
        return None
    return Refused(str(refusal), needs=Needs(refusal, behaviour.last))


def at_least(what: str, found: int, least: int) -> Outcome:
    """Returns None if the spec's value `found` is at least the log line's value `least`. Otherwise,
    returns a refusal.

    `what` names the value in the text of the refusal.
    """
    if found >= least:
        return None
    return Refused(f"{what}: the line has {least}, the spec at most {found}")


class Mapping(Protocol):
    behaviour: Behaviour

    @property
    def elements(self) -> ElementNames:
        """The names of the elements of the spec in the traced run. For example, a replica of the
        spec has the name `broker 1`.
        """
        ...

    @property
    def position(self) -> Any:
        """The current position in the trace. The method `back_to` can later restore it."""
        ...

    def back_to(self, position: Any) -> None:
        """Restores an earlier position in the trace, including the state of the spec at this
        position.
        """
        ...

    def take(self, event: Event) -> Outcome:
        """Performs all actions of the event, and returns None.

        If the spec refuses one of the actions, the method performs no action and returns the
        refusal.
        """
        ...

    def shown(self, event: Event) -> Iterator[str]:
        """Yields the spec's current state as lines of text, for the report on a forbidden event.

        The text may omit parts of the state that do not concern `event`.
        """
        ...
