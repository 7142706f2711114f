"""What following needs of a mapping: it takes events, says why not, and can go back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from checkers.tracing.logged_events import Event
from properties.refinement.behaviour import Behaviour


class Refused(NamedTuple):
    """Why an event is no step; `is_outside` if the spec does not have steps of its kind."""

    why: str
    is_outside: bool = False


Outcome = Refused | None


class Mapping(Protocol):
    """The events of one subject as actions of a spec, as far as its trace was followed."""

    behaviour: Behaviour

    @property
    def position(self) -> Any:
        """Where the trace stands, to come back to; positions can be compared."""
        ...

    def back_to(self, position: Any) -> None:
        """Returns to an earlier position."""
        ...

    def take(self, event: Event) -> Outcome:
        """Takes the actions of the event, and returns None; or returns why not, taking nothing."""
        ...

    def shown(self, event: Event) -> Iterator[str]:
        """Yields lines that show the state near the event."""
        ...
