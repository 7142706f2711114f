"""A history without any operation, which is an anomaly only with the option `--jepsen`.

Source: Elle: elle.txn, empty-transaction-graph.
Simplified: Elle's graph is also empty if the operations have no order and no key in common.
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
    """The violation that reports a history without operations. The field `operations` is always
    zero.
    """

    operations: int

    @property
    def size(self) -> int:
        return 1

    @property
    def ops(self) -> tuple[int, ...]:
        return ()


def empty_histories(history: History) -> tuple[EmptyHistory, ...]:
    return () if history else (EmptyHistory(operations=0),)


def observed(history: History) -> int:
    del history
    return 1


def explain(row: EmptyHistory, operations: Mapping[int, Operation]) -> str:
    del operations
    return f"the history has {row.operations} operations."


ANOMALY: Final = Anomaly(
    id="empty-transaction-graph",
    statement="The history has at least one operation.",
    rule="The history has no operation.",
    explanation="The clients did nothing, or the recorder recorded nothing.",
    permits={},
    source="Elle: elle.txn empty-transaction-graph",
    observes="history",
    row=EmptyHistory,
    find=empty_histories,
    observed=observed,
    explain=explain,
    only_with=JEPSEN,
)


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    return (ANOMALY,) if declared.jepsen else ()
