"""The events of a run: one stream that every reporter reads.

`--json` prints each event as one line with a JSON object. The object has the field `"v": 2` (the
version of the format), the name of the event, and the fields of the event. Within a version of the
format, fields may be added, but no field is renamed or removed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Final

from checkers.verdicts import Verdict
from model.histories import Outcome
from model.releases import InForce

VERSION: Final = 2
HISTORY: Final = "history"
Constants = Mapping[str, int | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a run. Its dataclass fields become the fields of the JSON object."""

    name: ClassVar[str]

    def as_json(self) -> str:
        cells = {f.name: getattr(self, f.name) for f in fields(self)}
        return _line(self.name, cells)


def _line(event: str, cells: Mapping[str, object]) -> str:
    return json.dumps({"v": VERSION, "event": event, **cells}, default=_plain)


def _plain(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """The first event of a run that has a folder.

    `command_line` is a command that repeats the run. `judged_by_expectation` is true if the exit
    code depends on whether each verdict is the expected one.
    """

    name: ClassVar[str] = "run_started"
    command: str
    folder: str
    seed: int
    command_line: str = ""
    judged_by_expectation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyDecided(Event):
    """An engine's verdict on one property. A field without a value is null.

    `depth` is the number of levels of the breadth-first search; the initial states are level 1.
    `trace_length` is the number of transitions of the counterexample. `in_force` is the range of
    Kafka releases that have this variant of the spec. `system` is the running system on which the
    property was tested.

    A fingerprint is a hash that identifies a violation in every run. `fingerprints` maps each
    fingerprint to the text from which it was computed, such as the action that breaks the property.
    `known` and `expired` concern violations with an entry in the user's baseline, a file of known
    violations. `known` has the entries that are still valid, and `expired` has the entries whose
    expiry date is past.
    """

    name: ClassVar[str] = "property_decided"
    property: str
    statement: str | None = None
    verdict: Verdict
    expected: Verdict | None = None
    engine: str
    spec: str | None = None
    variant: str | None = None
    in_force: str | None = None
    constants: Constants | None = None
    distinct_states: int | None = None
    generated_states: int | None = None
    depth: int | None = None
    trace_length: int | None = None
    seconds: float | None = None
    reason: str | None = None
    system: str | None = None
    fingerprints: Mapping[str, str] = field(default_factory=dict[str, str])
    known: Mapping[str, str] = field(default_factory=dict[str, str])
    expired: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomalyDecided(Event):
    """The verdict of an analysis on one anomaly: `violated` if the anomaly occurs.

    `permitted` is true if an option or a setting of the clients allows the anomaly. `observations`
    is the number of observations that could have shown the anomaly, and `observed` is their kind,
    such as acknowledged sends. `may_follow_from` lists other anomalies that occur and that may have
    caused this anomaly. `fingerprints`, `known` and `expired` have the same meaning as in
    PropertyDecided; they concern the 32 worst violations.
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
    observed: str | None = None  # such as `acknowledged sends`
    history: str | None = None  # the path of the input, or its title
    input_kind: str = HISTORY  # or `log directories`, or `sweep`
    reason: str | None = None
    may_follow_from: tuple[str, ...] = ()
    file: str | None = None
    replay: str | None = None
    system: str | None = None
    fingerprints: Mapping[str, str] = field(default_factory=dict[str, str])
    known: Mapping[str, str] = field(default_factory=dict[str, str])
    expired: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def is_one_file(self) -> bool:
        return self.input_kind == HISTORY


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationShown:
    """An operation in a drawn timeline. `text` is the tooltip of its bar, and `label` is printed
    above its bar.

    The times are in nanoseconds since the first invocation of the history. `relevant` is false if
    the operation uses none of the keys that the anomaly concerns.
    """

    op: int
    process: int
    outcome: Outcome
    invoked_ns: int
    completed_ns: int | None
    text: str
    label: str
    relevant: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultShown:
    """A fault that was injected. `until_ns` is None if the fault lasted until the end of the
    history.
    """

    description: str
    from_ns: int
    until_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeShown:
    """A directed edge of a dependency cycle. The operation `source` precedes the operation
    `target`.

    `kind` is ww, wr, rw, process or realtime, and `reason` states why the edge exists.
    """

    source: int
    target: int
    kind: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowShown(Event):
    """One of the worst occurrences of an anomaly: a text, and the operations that the text names.

    `number` is the rank of the occurrence, and the worst has rank 1. `operations` and `faults` are
    the data of a drawing. A few of the worst occurrences have a drawing, and for every other
    occurrence both fields are empty. `edges` is empty unless the occurrence is a cycle. `shape`
    lists features that are the same in every recording of one bug, such as the kinds of operations.
    `fingerprint` is a hash of the anomaly and the shape.
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
    shape: str = ""
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryDecided(Event):
    """The delivery semantics that all applications of a history observed, such as `at-least-once`.

    `semantics` is `neither` if some records were skipped and some were repeated. `applications`
    maps each delivery semantics to the number of applications that observed it. `breaks` lists the
    anomalies that exclude a stronger semantics, each with its records.
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
class ReleaseDecided(Event):
    """Two verdicts on a claim: for a release of Kafka, and for the fix. `fixed_by` is the variant
    of the spec that has the fix.

    `variant` is the version of the spec that has the rules of the release, or a bug that the
    release has. `steps` is the length of the counterexample. If no version of the spec has the
    rules of the release, `verdict` is null and `reason` states why.
    """

    name: ClassVar[str] = "release_decided"
    release: str
    spec: str
    claim: str | None = None
    variant: str | None = None
    verdict: Verdict | None = None
    steps: int | None = None
    fixed_by: str | None = None
    fixed_verdict: Verdict | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Event):
    """The evidence for a verdict as text, and the file in the run folder that contains the text.

    `about` is a property or a history. If `expected` is true, the terminal prints one line instead
    of the whole text. `trace` is a trace in the format ITF. `shape` lists features of the violation
    that are the same in every recording of one bug.
    """

    name: ClassVar[str] = "evidence"
    about: str
    text: str
    file: str | None = None
    expected: bool = False
    drawing: str | None = None
    trace: Mapping[str, Any] | None = None
    shape: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceKept(Event):
    """A trace in the run folder, and the command that opens the trace in the page of
    `urteil explore`.

    `about` is the subject of the trace, such as a property. `summary` states how many log lines the
    spec explains, and which line the spec forbids.
    """

    name: ClassVar[str] = "trace_kept"
    about: str
    spec: str
    file: str
    command: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(Event):
    """One measured value of a run, such as a count of operations, and its unit."""

    name: ClassVar[str] = "measured"
    metric: str
    value: int | float | str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Event):
    """One row of `urteil list`. As JSON, each entry of `facts` is a field of the row's object.

    `in_force` is the range of Kafka releases that have the item, such as a bug. The terminal prints
    this range in a column. The JSON object does not contain it.
    """

    name: ClassVar[str] = "listed"
    kind: str
    item: str
    statement: str
    in_force: InForce | None = None
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def releases(self) -> str:
        return "" if self.in_force is None else self.in_force.short

    def as_json(self) -> str:
        cells = {"kind": self.kind, "name": self.item, "statement": self.statement}
        return _line(self.name, {**cells, **self.facts})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready(Event):
    """The broker accepts connections at `bootstrap_servers`. The event is emitted one time, after
    the start of the broker.
    """

    name: ClassVar[str] = "ready"
    bootstrap_servers: str
    control: str | None = None  # the URL of the control port
    # The process id of each broker, and of the "controller"; empty if all are in this process.
    pids: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineApplied(Event):
    """The entries of the baseline, a file of known violations, in four groups.

    The run showed the violations of the entries in `known` and `expired`. The expiry date of each
    entry in `expired` is past. The run decided the claims of the entries in `unmatched`, but did
    not show the violations. The run did not decide the claims of the entries in `not_checked`.
    """

    name: ClassVar[str] = "baseline_applied"
    file: str
    known: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictCompared(Event):
    """A difference between the verdicts of two runs on one claim. `urteil diff` emits this event.

    `change` is `new`, `gone` or `changed`. A violation is new if the earlier run had no violation
    with the same fingerprint (a hash that identifies a violation in every run).
    """

    name: ClassVar[str] = "verdict_compared"
    change: str
    claim: str
    subject: str
    before: str | None = None
    after: str | None = None
    count_before: int | None = None
    count_after: int | None = None
    fingerprints: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorerReady(Event):
    """The address of the page that `urteil explore` serves.

    `url` is the address of the page, and `link` is the address of the state that the command's
    options select.
    """

    name: ClassVar[str] = "explorer_ready"
    url: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StateShown(Event):
    """The final state of a path that `urteil explore --print` prints.

    `view` is the response to the request /api/walk, which `checkers.explore.requests` documents.
    """

    name: ClassVar[str] = "state_shown"
    text: str
    view: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(Event):
    """The last event of every run, with its exit code and its duration."""

    name: ClassVar[str] = "run_finished"
    exit_code: int
    seconds: float | None = None
