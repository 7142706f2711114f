"""What an anomaly checker is, what it starts from and what it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from checkers.histories.facts.record_locations import UnconfirmedValues
from checkers.histories.facts.retention import COMPLETE_LOGS, LogStarts
from checkers.histories.plan.stage import Plan
from model.histories import COLUMNS
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.declarations import Declarations


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """All rows of one anomaly or broken assumption.

    `observations` counts the observations that could have shown it.
    """

    id: str
    rows: pa.Table
    observations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What all anomaly checkers of a history share."""

    declared: Declarations
    unconfirmed: UnconfirmedValues
    log_starts: LogStarts = COMPLETE_LOGS


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomalyChecker:
    """A query plan that decides some anomalies.

    `assumes` names the assumptions about the history that must hold. Rows that are invalid in one
    of the `columns` must not exist.
    """

    ids: tuple[str, ...]
    plan: Callable[[Context], Plan[tuple[Finding, ...]]]
    assumes: tuple[str, ...] = tuple(one.id for one in ASSUMPTIONS)
    columns: tuple[str, ...] = tuple(COLUMNS)
    needs_shuffle: bool = True  # it reads shuffled sources or the unconfirmed values
    cheaper: AnomalyChecker | None = None  # decides some of the anomalies with a cheaper plan
