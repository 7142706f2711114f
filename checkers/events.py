"""The one stream of events that a run emits and every reporter reads.

`--json` prints each as one object on a line: `"v": 1`, the name of the event, then its fields.
Fields may be added; none is renamed or removed within a version.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import ClassVar, Final

from checkers.verdicts import Verdict

VERSION: Final = 1
Constants = Mapping[str, int | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that a run has to tell."""

    name: ClassVar[str]

    def as_json(self) -> str:
        told = {f.name: getattr(self, f.name) for f in fields(self)}
        return json.dumps({"v": VERSION, "event": self.name, **told}, default=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """First event of a run that has a folder."""

    name: ClassVar[str] = "run_started"
    command: str
    folder: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyDecided(Event):
    """An engine's verdict on one property; null where a field does not apply.

    `depth` counts breadth-first levels, the initial states being level 1; `trace_length` counts
    transitions; `seconds` is wall time. `expected` is the verdict known to be right, where one is.
    """

    name: ClassVar[str] = "property_decided"
    property: str
    verdict: Verdict
    expected: Verdict | None = None
    engine: str
    spec: str | None = None
    variant: str | None = None
    constants: Constants | None = None
    distinct_states: int | None = None
    generated_states: int | None = None
    depth: int | None = None
    trace_length: int | None = None
    seconds: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomalyDecided(Event):
    """The analysis' verdict on one anomaly: `violated` whenever it occurs.

    `permitted` says whether something allows it. `observations` is how many observations of the
    history the verdict rests on: 0 means that nothing could have shown it.
    """

    name: ClassVar[str] = "anomaly_decided"
    anomaly: str
    verdict: Verdict
    expected: Verdict | None = None
    count: int
    permitted: bool
    observations: int | None = None
    history: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Event):
    """What shows a verdict, as text for a reader, and the file of the run folder that keeps it.

    `expected` evidence shows what had to be found: a terminal only says where it is.
    """

    name: ClassVar[str] = "evidence"
    about: str
    text: str
    file: str | None = None
    expected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(Event):
    """A figure that a run reports beside its verdicts."""

    name: ClassVar[str] = "measured"
    what: str
    value: int | float | str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Event):
    """One row of `urteil list`; `facts` are further fields, flat in the JSON."""

    name: ClassVar[str] = "listed"
    kind: str
    item: str
    says: str
    facts: Mapping[str, object] = field(default_factory=dict)

    def as_json(self) -> str:
        told = {"kind": self.kind, "name": self.item, "says": self.says, **self.facts}
        return json.dumps({"v": VERSION, "event": self.name, **told}, default=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready(Event):
    """The broker takes connections at these addresses."""

    name: ClassVar[str] = "ready"
    bootstrap_servers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(Event):
    """Last event of every run."""

    name: ClassVar[str] = "run_finished"
    exit_code: int
