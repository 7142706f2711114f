"""The events about the passes of an analysis: the plan of a pass, and its measured cost.

A pass reads a source of rows, such as the operations, one time. The stages of a pass are the steps
of query plans that need this source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from checkers.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class StageExplained:
    """A stage (a step of a query plan): the columns that the stage reads, and the columns of its
    result.

    `shuffled_by` lists the parts of the shuffle key, such as a column or a block of offsets.
    `used_by` names the anomalies that need the stage. If all anomalies need it, `used_by` is empty.
    `is_always` is false if the stage is skipped for some histories.
    """

    stage: str
    reads: tuple[str, ...]
    keeps: tuple[str, ...]
    shuffled_by: tuple[str, ...] = ()
    used_by: tuple[str, ...] = ()
    is_always: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PassExplained(Event):
    """A pass of `urteil analyze --explain` over a source, such as the operations, with its stages
    in order.

    A stage is a step of a query plan. `into` names the sources that this pass creates by a shuffle.
    Later passes read these sources.
    """

    name: ClassVar[str] = "pass_explained"
    number: int
    source: str
    into: tuple[str, ...] = ()
    stages: tuple[StageExplained, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMeasured:
    stage: str
    seconds: float
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PassMeasured(Event):
    """The measured cost of one pass of an analysis over a source of rows, with the cost of each
    stage.

    `rows` and `bytes` are the amounts of data that the tasks read. A task is a Spark task, or the
    work on one partition with `--engine local`. `skew` is the duration of the longest task divided
    by the median duration.
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
