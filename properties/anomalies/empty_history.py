"""A history without any operation: asked to judge as Jepsen does, that is a fault of its own.

Source: elle.txn, empty-transaction-graph.
Simplified: Elle's graph is empty, too, where operations have no order and nothing in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import JEPSEN, Declarations


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class EmptyHistory:
    """How many operations it has: none."""

    operations: int

    @property
    def size(self) -> int:
        return 1

    @property
    def ops(self) -> tuple[int, ...]:
        return ()


def empty_histories(history: History) -> tuple[EmptyHistory, ...]:
    """One row if there is no operation."""
    return () if history else (EmptyHistory(operations=0),)


def observed(history: History) -> int:
    """The history itself."""
    del history
    return 1


def explain(row: EmptyHistory, operations: Mapping[int, Operation]) -> str:
    """That there is nothing."""
    del operations
    return f"the history has {row.operations} operations."


ANOMALY: Final = Anomaly(
    id="empty-transaction-graph",
    statement="There is something to judge.",
    rule="The history has no operation.",
    explanation="Whatever was to be tested did nothing, or nothing was recorded of it.",
    permits={},
    source="elle.txn empty-transaction-graph",
    observes="history",
    row=EmptyHistory,
    find=empty_histories,
    observed=observed,
    explain=explain,
    only_with=JEPSEN,
)


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    """It counts where histories are judged as Jepsen does."""
    return (ANOMALY,) if declared.jepsen else ()
