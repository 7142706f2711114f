"""Reads the events of a run. Each event is a line of JSON, as `--json` prints it and as a run
folder stores it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from checkers.events import (
    VERSION,
    AnomalyDecided,
    BaselineApplied,
    DeliveryDecided,
    EdgeShown,
    Event,
    Evidence,
    ExplorerReady,
    FaultShown,
    Measured,
    OperationShown,
    PropertyDecided,
    Ready,
    ReleaseDecided,
    RowShown,
    RunFinished,
    RunStarted,
    StateShown,
    TraceKept,
    VerdictCompared,
)
from checkers.plan_events import PassExplained, PassMeasured, StageExplained, StageMeasured
from model.faults import InputFault

_EVENTS: Final[Mapping[str, type[Event]]] = {
    event.name: event
    for event in (
        RunStarted,
        PropertyDecided,
        AnomalyDecided,
        DeliveryDecided,
        ReleaseDecided,
        RowShown,
        Evidence,
        TraceKept,
        Measured,
        PassExplained,
        PassMeasured,
        Ready,
        BaselineApplied,
        VerdictCompared,
        ExplorerReady,
        StateShown,
        RunFinished,
    )
}
_PARTS: Final[Mapping[str, type[Any]]] = {
    "operations": OperationShown,
    "faults": FaultShown,
    "edges": EdgeShown,
    "stages": StageExplained,
    "costs": StageMeasured,
}


class UnreadableEvents(InputFault):
    """Raised for a line that is not an event, or that has another version of the format than this
    release reads.
    """


def from_json(line: str) -> Event:
    """Returns the event in a line of JSON. Raises UnreadableEvents if the line has no saved event.

    Unknown fields are ignored, because a later release may have added fields. The events of
    `urteil list` are not saved, so they cannot be read.
    """
    try:
        cells = json.loads(line)
        if cells["v"] != VERSION:
            raise UnreadableEvents(
                f"this release reads events of version {VERSION}, the file has version "
                f"{cells['v']}: use the release that wrote it"
            )
        event: Event = _made(_EVENTS[cells["event"]], cells)
        return event
    except (ValueError, KeyError, TypeError) as why:
        raise UnreadableEvents(
            f"not an event: {line[:80]!r} ({type(why).__name__}: {why}); copy the file again"
        ) from why


def _made(kind: type[Any], cells: Mapping[str, Any]) -> Any:
    return kind(**{f.name: _part(f.name, cells[f.name]) for f in fields(kind) if f.name in cells})


def _part(name: str, cell: Any) -> Any:
    if name in _PARTS:
        return tuple(_made(_PARTS[name], part) for part in cell)
    return tuple(cell) if isinstance(cell, list) else cell
