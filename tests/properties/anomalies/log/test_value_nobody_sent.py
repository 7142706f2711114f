"""A poll returns only values that an operation tried to send."""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.log.value_nobody_sent import (
    ValueNobodySent,
    explain,
    observed,
    values_nobody_sent,
)


def test_a_polled_value_without_a_sender_is_found() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        c1  poll      -> ok k=a@0 k=x@1
        c2  poll      -> info k=x@?
    """)
    (row,) = values_nobody_sent(h)
    assert row == ValueNobodySent(key="k", value="x", op=1, times=2)
    assert row.size == 2
    assert observed(h) == 2
    assert "no operation tried to send it to this key" in explain(row, dict(enumerate(h)))


@pytest.mark.parametrize("outcome", ["ok @0", "info", "fail", "never"])
def test_a_send_counts_however_it_ended(outcome: str) -> None:
    assert values_nobody_sent(history(f"p1 send k=a -> {outcome}\nc1 poll -> ok k=a@0")) == ()


def test_a_send_to_another_key_does_not_count() -> None:
    h = history("p1 send j=a -> ok @0\nc1 poll -> ok k=a@0")
    assert [(row.key, row.value) for row in values_nobody_sent(h)] == [("k", "a")]
