"""G1a: what failed is not read."""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.declarations import Declarations
from properties.anomalies.log.aborted_read import AbortedRead, aborted_reads, explain, observed


def test_a_value_of_a_failed_operation_was_read() -> None:
    h = history("""
        p1  txn k=a k=b  -> fail
        c1  poll         -> ok k=a@0 k=a@0
        c2  poll         -> ok k=a@0 k=c@1
    """)
    (row,) = aborted_reads(h)
    assert row == AbortedRead(key="k", value="a", writer_op=0, reader_op=1, readers=2)
    assert row.size == 2
    assert observed(h) == 2
    assert "every send of the value a failed" in explain(row, dict(enumerate(h)))


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_only_readers_that_ended_ok_are_believed(outcome: str) -> None:
    assert aborted_reads(history(f"p1 send k=a -> fail\nc1 poll -> {outcome} k=a@0")) == ()


@pytest.mark.parametrize("outcome", ["ok @0", "info", "never"])
def test_what_was_sent_again_may_have_been_read_from_the_second_send(outcome: str) -> None:
    h = history(f"""
        p1  send k=a  -> fail
        p2  send k=a  -> {outcome}
        c1  poll      -> ok k=a@0
    """)
    assert aborted_reads(h) == ()


def test_read_uncommitted_reads_what_aborts() -> None:
    h = history("""
        p1  txn k=a                           -> fail
        c1  poll{isolation=read_uncommitted}  -> ok k=a@0
    """)
    assert aborted_reads(h) == ()
    assert observed(h) == 0
    told = history("p1 txn k=a -> fail\nc1 poll -> ok k=a@0")
    assert len(aborted_reads(told)) == 1
    assert aborted_reads(Declarations(isolation="read_uncommitted").applied(told)) == ()
