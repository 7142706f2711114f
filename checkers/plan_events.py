"""The events about the passes of an analysis: the plan of a pass, and its measured cost.

A pass reads a source of rows once, and has stages: the steps of query plans that need this source.
A stage has the same name in both events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from checkers.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class StageExplained:
    """A stage of a query plan: the columns that it reads, and the columns of its result.

    `shuffled_by` has the parts of the shuffle key, if the stage shuffles. `used_by` names the
    anomalies that need the stage; if all anomalies need the stage, `used_by` is empty. `is_always`
    is false if some histories do not need the stage; for these histories the stage is skipped.
    """

    stage: str
    reads: tuple[str, ...]
    keeps: tuple[str, ...]
    shuffled_by: tuple[str, ...] = ()
    used_by: tuple[str, ...] = ()
    is_always: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PassExplained(Event):
    """A pass of an analysis over a source, such as the operations, and its stages in order.

    `urteil analyze --explain` emits one such event for each pass. A pass may shuffle rows, which
    later passes read as their source; `into` names these sources.
    """

    name: ClassVar[str] = "pass_explained"
    number: int
    source: str
    into: tuple[str, ...] = ()
    stages: tuple[StageExplained, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMeasured:
    """The cost of a query plan's stage: its seconds in all tasks, and the size of its result."""

    stage: str
    seconds: float
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PassMeasured(Event):
    """The cost of a pass of an analysis over a source, with its stages.

    `rows` and `bytes` count the data that the tasks of the pass read. `seconds` is wall time. A
    task is a Spark task, or a partition with `--engine local`; `skew` is the seconds of the longest
    task divided by the median. The pass may have shuffled rows, which later passes read as their
    source; `into` names these sources.
    """

    name: ClassVar[str] = "pass_measured"
    history: str
    number: int
    source: str
    into: tuple[str, ...] = ()
    rows: int
    bytes: int
    seconds: float
    tasks: int
    skew: float
    costs: tuple[StageMeasured, ...] = ()
