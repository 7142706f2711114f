"""G1a: a poll never returns a value whose send failed."""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.declarations import Declarations
from properties.anomalies.log.aborted_read import AbortedRead, aborted_reads, explain, observed


def test_a_read_value_of_a_failed_operation_is_found() -> None:
    h = history("""
        p1  txn k=a k=b  -> fail
        c1  poll         -> ok k=a@0 k=a@0
        c2  poll         -> ok k=a@0 k=c@1
    """)
    (row,) = aborted_reads(h)
    assert row == AbortedRead(key="k", value="a", writer_op=0, reader_op=1, readers=2)
    assert row.size == 2
    assert observed(h) == 2
    assert explain(row, dict(enumerate(h))).splitlines()[0] == (
        "key k: every send of the value a failed, and 2 operations polled it at read_committed."
    )
    (alone,) = aborted_reads(h[:2])
    assert ", and 1 operation polled it at" in explain(alone, dict(enumerate(h)))


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_only_polls_that_ended_ok_count(outcome: str) -> None:
    assert aborted_reads(history(f"p1 send k=a -> fail\nc1 poll -> {outcome} k=a@0")) == ()


@pytest.mark.parametrize("outcome", ["ok @0", "info", "never"])
def test_a_value_that_was_sent_again_may_be_from_the_second_send(outcome: str) -> None:
    h = history(f"""
        p1  send k=a  -> fail
        p2  send k=a  -> {outcome}
        c1  poll      -> ok k=a@0
    """)
    assert aborted_reads(h) == ()


def test_a_read_at_read_uncommitted_is_not_judged() -> None:
    h = history("""
        p1  txn k=a                           -> fail
        c1  poll{isolation=read_uncommitted}  -> ok k=a@0
    """)
    assert aborted_reads(h) == ()
    assert observed(h) == 0
    read = history("p1 txn k=a -> fail\nc1 poll -> ok k=a@0")
    assert len(aborted_reads(read)) == 1
    assert aborted_reads(Declarations(isolation="read_uncommitted").applied(read)) == ()
