"""The interface of a mapping from events to actions of a spec, and the refusal of an event.

A mapping takes events one by one, and can return to an earlier position.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from checkers.tracing.logged_events import Event
from properties.refinement.behaviour import Behaviour


class Refused(NamedTuple):
    """The reason why an event is no step of the spec."""

    why: str
    is_outside: bool = False


Outcome = Refused | None


def compared(what: str, found: object, expected: object) -> Outcome:
    """Compares a value in a log line with the expected value, that of the spec's state.

    Returns a refusal if the two differ, else None.
    """
    if found == expected:
        return None
    return Refused(f"{what}: the line has {found}, the spec {expected}")


def at_least(what: str, found: int, least: int) -> Outcome:
    """Returns a refusal if the spec's value is less than the value in the line, else None."""
    if found >= least:
        return None
    return Refused(f"{what}: the line has {least}, the spec at most {found}")


class Mapping(Protocol):
    """Maps the events of one partition or transactional id to actions of a spec."""

    behaviour: Behaviour

    @property
    def position(self) -> Any:
        """The point that the trace has reached, for a later `back_to`; points can be compared."""
        ...

    def back_to(self, position: Any) -> None:
        """Returns to a position that `position` returned earlier."""
        ...

    def take(self, event: Event) -> Outcome:
        """Takes the actions of the event, and returns None.

        If the spec does not allow them, returns the refusal and leaves the position unchanged.
        """
        ...

    def shown(self, event: Event) -> Iterator[str]:
        """Yields the spec's current state as lines of text, for the report of an event.

        Irrelevant parts may be missing.
        """
        ...
