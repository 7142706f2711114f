"""The one stream of events that a run emits and every reporter reads.

`--json` prints each as one object on a line: `"v": 1`, the name of the event, then its fields.
Fields may be added; none is renamed or removed within a version.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Final

from checkers.verdicts import Verdict
from model.faults import InputFault
from model.histories import Outcome

VERSION: Final = 1
HISTORY: Final = "history"
Constants = Mapping[str, int | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that a run has to tell."""

    name: ClassVar[str]

    def as_json(self) -> str:
        told = {f.name: getattr(self, f.name) for f in fields(self)}
        return json.dumps({"v": VERSION, "event": self.name, **told}, default=_plain)


def _plain(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """First event of a run that has a folder; `line` is the command as it was typed."""

    name: ClassVar[str] = "run_started"
    command: str
    folder: str
    seed: int
    line: str = ""
    judged_by_expectation: bool = False  # what is expected to fail has to


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyDecided(Event):
    """An engine's verdict on one property; null where a field does not apply.

    `depth` counts breadth-first levels, the initial states being level 1; `trace_length` counts
    transitions; `seconds` is wall time. `expected` is the verdict known to be right, where one is.
    """

    name: ClassVar[str] = "property_decided"
    property: str
    statement: str | None = None
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
    history the verdict rests on: 0 means that nothing could have shown it. `file` of the run folder
    holds all offending rows; `replay` is the command that decides it again.
    """

    name: ClassVar[str] = "anomaly_decided"
    anomaly: str
    statement: str | None = None
    rule: str | None = None
    explanation: str | None = None
    source: str | None = None
    verdict: Verdict
    expected: Verdict | None = None
    count: int
    permitted: bool
    observations: int | None = None
    history: str | None = None
    over: str = HISTORY  # what kind of thing that is
    reason: str | None = None
    file: str | None = None
    replay: str | None = None

    @property
    def is_of_a_file(self) -> bool:
        """Whether `history` is the path of what was judged, and not of several folders."""
        return self.over == HISTORY


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationShown:
    """An operation as a picture needs it: `text` is cut to what concerns the row, `label` is brief.

    Times are ns since the first invocation of the history; None: it never completed. `touches`
    says whether it did anything to what the row is about.
    """

    op: int
    process: int
    outcome: Outcome
    invoked_ns: int
    completed_ns: int | None
    text: str
    label: str
    touches: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultShown:
    """Something that was done to the cluster, on the clock of the operations; None: to the end."""

    says: str
    from_ns: int
    until_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeShown:
    """Why one operation of a cycle precedes another; `kind`: ww, wr, rw, process or realtime."""

    source: int
    target: int
    kind: str
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowShown(Event):
    """One of the worst rows of an anomaly in words, and the operations around it in time.

    `number` counts from 1, the worst first; `ops` are the operations that show it. The worst few
    have `operations`; a cycle has `edges`.
    """

    name: ClassVar[str] = "row_shown"
    anomaly: str
    history: str
    number: int
    text: str
    ops: tuple[int, ...] = ()
    operations: tuple[OperationShown, ...] = ()
    faults: tuple[FaultShown, ...] = ()
    edges: tuple[EdgeShown, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryDecided(Event):
    """The strongest delivery semantics that all applications of a history were given.

    `neither`: something was skipped and something came again. `applications` counts them by what
    each was given; `records`, `repeated` and `skipped` count theirs together. `breaks` says which
    record breaks what is stronger.
    """

    name: ClassVar[str] = "delivery_decided"
    history: str
    semantics: str
    applications: Mapping[str, int]
    records: int
    repeated: int
    skipped: int
    breaks: tuple[str, ...]


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
    drawing: str | None = None  # the same as SVG
    trace: Mapping[str, Any] | None = None  # the same as ITF, for programs


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
        return json.dumps({"v": VERSION, "event": self.name, **told}, default=_plain)


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


_EVENTS: Final[Mapping[str, type[Event]]] = {
    event.name: event
    for event in (
        RunStarted,
        PropertyDecided,
        AnomalyDecided,
        DeliveryDecided,
        RowShown,
        Evidence,
        Measured,
        Ready,
        RunFinished,
    )
}
_PARTS: Final[Mapping[str, type[Any]]] = {
    "operations": OperationShown,
    "faults": FaultShown,
    "edges": EdgeShown,
}


class UnreadableEvents(InputFault):
    """Lines that are no events of this version; names the line."""


def from_json(line: str) -> Event:
    """The event that a line of `as_json` tells; UnreadableEvents.

    Fields that this version does not know were added later and are left out. What `list` says is
    kept nowhere, and not read.
    """
    try:
        told = json.loads(line)
        if told["v"] != VERSION:
            raise UnreadableEvents(f"events of version {told['v']}, this reads {VERSION}")
        event: Event = _made(_EVENTS[told["event"]], told)
        return event
    except (ValueError, KeyError, TypeError) as why:
        raise UnreadableEvents(f"no event: {line[:80]!r} ({type(why).__name__}: {why})") from why


def _made(kind: type[Any], told: Mapping[str, Any]) -> Any:
    return kind(**{f.name: _part(f.name, told[f.name]) for f in fields(kind) if f.name in told})


def _part(name: str, cell: Any) -> Any:
    if name in _PARTS:
        return tuple(_made(_PARTS[name], part) for part in cell)
    return tuple(cell) if isinstance(cell, list) else cell
