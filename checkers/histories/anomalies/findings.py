"""Defines the types that all anomaly checkers share: their input, their results, and the checker
itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from checkers.histories.columnar.pairs import NO_PAIRS, Pairs
from checkers.histories.facts.retention import COMPLETE_LOGS, LogStarts
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.plan.stage import Plan
from model.histories import COLUMNS
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.declarations import Declarations


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """All occurrences of one anomaly, or all violations of one assumption, as rows of a table.

    `observations` is the number of observations that could have revealed the anomaly, such as
    polled values.
    """

    id: str
    rows: pa.Table
    observations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The facts about a history that several checkers need, such as its assumptions and its
    unconfirmed values.

    A value is unconfirmed if it was polled at an offset, and no send of the value was acknowledged
    at this offset.
    """

    declared: Declarations
    unconfirmed: UnconfirmedValues
    log_starts: LogStarts = COMPLETE_LOGS

    @property
    def aborted(self) -> Pairs:
        """The values whose sends all failed, each paired with its topic partition.

        With the option `--jepsen`, the set is empty: by the rules of Jepsen, a reader must not skip
        such values.
        """
        return NO_PAIRS if self.declared.jepsen else self.unconfirmed.aborted()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomalyChecker:
    """A query plan that finds all occurrences of the anomalies in `ids`.

    The history must satisfy the assumptions in `assumes`, and its values in `columns` must be
    valid.
    """

    ids: tuple[str, ...]
    plan: Callable[[Context], Plan[tuple[Finding, ...]]]
    assumes: tuple[str, ...] = tuple(one.id for one in ASSUMPTIONS)
    columns: tuple[str, ...] = tuple(COLUMNS)
    needs_shuffle: bool = True  # True if the plan reads shuffled sources or unconfirmed values
    cheaper: AnomalyChecker | None = (
        None  # a checker that decides some of the anomalies with a cheaper plan
    )
