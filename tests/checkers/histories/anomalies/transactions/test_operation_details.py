"""The analysis knows whether the operations are numbered in the order of their completion."""

from __future__ import annotations

import pyarrow as pa

from checkers.histories.anomalies.transactions.operation_details import (
    is_in_order,
    operation_spans,
)
from checkers.histories.plan.batch import Batch


def test_operations_of_a_batch_are_in_order_if_none_ends_before_the_previous_one() -> None:
    for completed_ns, ascending in (([3], 1), ([3, 3], 1), ([3, 5], 1), ([5, 3], 0)):
        spans = operation_spans(Batch(pa.table({"completed_ns": completed_ns})))
        first_ns, last_ns = min(completed_ns), max(completed_ns)
        assert spans.to_pylist() == [
            {"first_ns": first_ns, "last_ns": last_ns, "ascending": ascending}
        ]
        assert is_in_order(Batch(spans)) is bool(ascending)
