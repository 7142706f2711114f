"""A reproduction: a counterexample of a spec, as a fixed list of steps on real brokers.

A reproduction has two cases. The first case must show the defect. The second case is a control
experiment, which must not show it. The cases differ in one version, one setting or one step. Each
step has a check that it happened. If a check fails, the verdict on the case is undecided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checkers.systems.system import Layout

if TYPE_CHECKING:
    from checkers.reproduce.stage import Stage


@dataclass(frozen=True, slots=True)
class Seen:
    reached: bool
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """An action on the cluster, and a check whether the step has happened. The check is repeated
    for at most `within_s` seconds.
    """

    text: str
    do: Callable[[Stage], None]
    happened: Callable[[Stage], Seen]
    within_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A case of a reproduction: its brokers with their settings, and its steps. It is either the
    case that shows the defect, or the control experiment.
    """

    about: str  # how this case differs from the other one, in a few words
    steps: tuple[Step, ...]
    layout: Layout
    version: str | None = None  # None: the version that the user names
    partitions: int = 1  # of the topic; the steps use the last one
    breaks: bool | None = (
        None  # the promise, by the answer to the last step; None: the history does
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """The variant of a spec, and the property, for which `urteil check` finds the defect in the
    model.
    """

    spec: str
    variant: str
    claim: str  # the property that the counterexample breaks
    settings: tuple[str, ...] = ()  # of the constants, such as `batches=2`

    @property
    def command(self) -> str:
        settings = "".join(f" --set {one}" for one in self.settings)
        chosen = f"urteil check {self.spec} --variant {self.variant}"
        return f"{chosen}{settings} --property {self.claim}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    name: str
    promise: str  # what is promised and broken
    because: str  # why it breaks, one sentence
    case: Case
    control: Case
    anomalies: tuple[str, ...] = ()  # of the history: the case has each, the control none
    log_anomalies: tuple[str, ...] = ()  # of the log directories, instead of the history
    model: tuple[Instance, ...] = ()
    since: tuple[int, int] = (3, 5)  # versions that have it
    until: tuple[int, int] | None = None  # None: the newest version has it too
    shown_on: str = "4.3.0"  # a version that has it
    page: str | None = None  # in docs/findings/

    def has(self, number: tuple[int, int]) -> bool:
        return self.since <= number and (self.until is None or number <= self.until)
