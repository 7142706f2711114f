"""The events of a run: one stream that every reporter reads.

`--json` prints each event as one line with a JSON object: `"v": 2`, the event's name, its fields.
Within a version, fields may be added, but no field is renamed or removed.
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
    """One event of a run; its dataclass fields become the fields of the JSON object."""

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

    `command_line` repeats the run. `judged_by_expectation` is true if the exit code depends on
    whether each verdict is the expected one.
    """

    name: ClassVar[str] = "run_started"
    command: str
    folder: str
    seed: int
    command_line: str = ""
    judged_by_expectation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyDecided(Event):
    """An engine's verdict on one property; a field without a value is null.

    `depth` counts breadth-first levels from 1, the initial states. `trace_length` counts
    transitions. `in_force` has the releases of Kafka with this variant. `system` is the running
    system.

    A fingerprint identifies a violation in every run. `fingerprints` maps it to what it is made of,
    such as the action that breaks the property. `known` has its valid entry in the user's baseline;
    `expired` has an entry whose date is past.
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
    counts the observations that could have shown the anomaly; `observed` is their kind, such as
    acknowledged sends. `may_follow_from` has other anomalies that occur and may have caused the
    anomaly. `fingerprints`, `known` and `expired` are as in PropertyDecided, for the 32 worst
    violations.
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
    """An operation in a timeline: `text` is its tooltip, and `label` stands above its bar.

    Times are in ns since the first invocation of the history. `relevant` is false if the operation
    uses none of the keys of the anomaly.
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
    """A fault that was injected; if it lasted to the end, `until_ns` is None."""

    description: str
    from_ns: int
    until_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeShown:
    """A directed edge of a dependency cycle: operation `source` precedes operation `target`.

    `kind` is ww, wr, rw, process or realtime; `reason` says why the edge exists.
    """

    source: int
    target: int
    kind: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowShown(Event):
    """One of the worst occurrences of an anomaly: a text, and the operations that the text names.

    `number` is its rank; 1 is the worst. Only a few of the worst occurrences have `operations` and
    `faults` to draw, and only cycles have `edges`. `shape` has the parts that are the same in every
    recording of one bug, such as the kinds of operations; `fingerprint` is a hash of the anomaly
    and the shape.
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

    `semantics` is `neither` if records were both skipped and repeated. `applications` counts the
    applications with each semantics. `breaks` lists the anomalies that exclude a stronger
    semantics, with their records.
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
    """The verdict on a claim for a release of Kafka, and the verdict for `fixed_by`, the variant
    with the fix.

    `variant` names the version of the spec with the rules of the release, or a bug in the release.
    `steps` is the length of the counterexample. If no version has the rules of the release,
    `verdict` is null and `reason` says why.
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
    """The evidence for a verdict as text, and the file in the run folder that contains it.

    `about` is a property or a history. If `expected` is true, the terminal prints only one line.
    `trace` is a trace in ITF. `shape` is the part of the violation that is the same in every
    recording.
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
    """A trace in the run folder, and the command that opens it in the page of `urteil explore`.

    `about` is the subject of the trace, such as a property. `summary` says how many log lines the
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
    """One row of `urteil list`; as JSON, each entry of `facts` is a field.

    `in_force` is the range of Kafka releases that have the item, such as a bug. Only the terminal
    shows this range; JSON has its text, `releases`.
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
    """The broker accepts connections at `bootstrap_servers`; emitted once, after its start."""

    name: ClassVar[str] = "ready"
    bootstrap_servers: str
    control: str | None = None  # the URL of the control port
    # The process id of each broker, and of the "controller"; empty if all are in this process.
    pids: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineApplied(Event):
    """The entries of the baseline, a file of known violations, grouped by the result of the run.

    The run showed the violations in `known` and `expired`; an entry in `expired` is past its expiry
    date. The run decided the claims of `unmatched` without showing the violations, and did not
    decide those of `not_checked`.
    """

    name: ClassVar[str] = "baseline_applied"
    file: str
    known: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictCompared(Event):
    """A difference between the verdicts of two runs on one claim; `urteil diff` emits it.

    `change` is `new`, `gone` or `changed`. A violation is new if the earlier run did not have its
    fingerprint (a hash that identifies it).
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
    """The address of the page of `urteil explore`.

    `url` is the page; `link` opens the state that the options name.
    """

    name: ClassVar[str] = "explorer_ready"
    url: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StateShown(Event):
    """The last state of a path of `urteil explore --print`.

    `view` is the answer of the request /api/walk, which `checkers.explore.requests` documents.
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
