"""An operation at read_committed must not poll a record that the same operation sends."""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.log.precommitted_read import (
    PrecommittedRead,
    explain,
    observed,
    precommitted_reads,
)


@pytest.mark.parametrize("outcome", ["ok", "info", "fail"])
def test_an_operation_that_polled_its_own_record_is_found(outcome: str) -> None:
    h = history(f"t1 txn k=a k=b -> {outcome} k=b@1 k=c@2")
    (row,) = precommitted_reads(h)
    assert row == PrecommittedRead(key="k", value="b", op=0)
    assert observed(h) == 1
    assert "sent the value b and polled it itself" in explain(row, dict(enumerate(h)))


def test_the_same_value_of_another_key_is_not_found() -> None:
    h = history("t1 txn k=a -> ok @0 j=a@1")
    assert precommitted_reads(h) == ()
    assert observed(h) == 0  # it cannot have polled a record of k


def test_a_poll_of_another_operation_is_not_found() -> None:
    h = history("p1 send k=a -> ok @0\nc1 poll -> ok k=a@0")
    assert precommitted_reads(h) == ()
    assert observed(h) == 0


def test_a_poll_at_read_uncommitted_is_not_judged() -> None:
    assert precommitted_reads(history("t1 txn{isolation=read_uncommitted} k=a -> ok k=a@0")) == ()
