"""Polls are only given what somebody tried to send."""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.log.value_nobody_sent import (
    ValueNobodySent,
    explain,
    observed,
    values_nobody_sent,
)


def test_a_value_out_of_nowhere() -> None:
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
def test_who_tried_to_send_it_sent_it_however_that_ended(outcome: str) -> None:
    assert values_nobody_sent(history(f"p1 send k=a -> {outcome}\nc1 poll -> ok k=a@0")) == ()


def test_a_value_that_was_sent_to_another_key_was_not_sent_to_this_one() -> None:
    h = history("p1 send j=a -> ok @0\nc1 poll -> ok k=a@0")
    assert [(row.key, row.value) for row in values_nobody_sent(h)] == [("k", "a")]
