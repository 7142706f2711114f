"""The interface of a mapping from events of a trace to actions of a spec.

The mapping can go back to an earlier position of the trace, so a search can try other orders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as MappingOf
from typing import Any, NamedTuple, Protocol

from checkers.tracing.logged_events import Event
from properties.refinement.behaviour import Behaviour, Call, Refusal, Taken

ElementNames = MappingOf[str, Sequence[str]]


class Needs(NamedTuple):
    """The action that an event requires but the spec refuses, and the latest action before the
    event.
    """

    refusal: Refusal
    last: Taken | None


class Refused(NamedTuple):
    why: str
    is_outside: bool = False
    needs: Needs | None = None  # None: a value of the line differs from the spec's state


Outcome = Refused | None


def compared(what: str, found: object, expected: object) -> Outcome:
    """Returns None if a value in a log line equals the spec's value, else a refusal that names
    `what`.
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
    """Returns None if the spec's value is at least the log line's, else a refusal that names
    `what`.
    """
    if found >= least:
        return None
    return Refused(f"{what}: the line has {least}, the spec at most {found}")


class Mapping(Protocol):
    behaviour: Behaviour

    @property
    def elements(self) -> ElementNames:
        """The names of the spec's elements in the traced run, such as `broker 1` for a replica."""
        ...

    @property
    def position(self) -> Any:
        """The current position in the trace, for a later `back_to`; positions can be compared."""
        ...

    def back_to(self, position: Any) -> None:
        """Restores an earlier position of the trace, with its state of the spec."""
        ...

    def take(self, event: Event) -> Outcome:
        """Performs all actions of the event; or none, and returns the refusal."""
        ...

    def shown(self, event: Event) -> Iterator[str]:
        """Yields the spec's current state as lines of text, for the report on a forbidden event.

        Parts of the state that do not concern `event` may be left out.
        """
        ...
