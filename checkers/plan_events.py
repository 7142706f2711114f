"""The events about the passes of an analysis: the plan of a pass, and its measured cost.

A pass reads a source of rows once. Its stages are the steps of query plans that need this source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from checkers.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class StageExplained:
    """A stage of a query plan: the columns that it reads, and the columns of its result.

    `shuffled_by` has the parts of the shuffle key. `used_by` names the anomalies that need the
    stage; it is empty if all do. `is_always` is false if the stage is skipped for some histories.
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

    `into` names the sources that the pass makes by a shuffle, for later passes.
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
    """The measured cost of a pass of an analysis over a source, with its stages.

    `rows` and `bytes` count the data that the tasks read. `skew` is the seconds of the longest task
    (Spark task, or partition with `--engine local`) divided by the median.
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
