"""Records of a transaction are read only after the producer requested a commit or an abort.

Records of a transaction that failed because the producer was fenced are never read.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.histories import History
from model.history_notation import history
from properties.anomalies.log.aborted_read import aborted_reads
from properties.anomalies.transactions import fenced_transaction_read, open_transaction_read
from properties.anomalies.transactions.fenced_transaction_read import (
    FencedTransactionRead,
    fenced_transaction_reads,
)
from properties.anomalies.transactions.open_transaction_read import (
    OpenTransactionRead,
    open_transaction_reads,
)
from properties.anomalies.transactions.visible import writers

EARLY = history("""
    t1  txn{id=x,end=30} k=a ...
    c1  poll                      -> ok k=a@0
    t1  ...                       -> ok @0
""")


def test_a_record_read_before_the_end_was_requested_is_found() -> None:
    (row,) = open_transaction_reads(EARLY)
    assert row == OpenTransactionRead(
        key="k", value="a", op=1, asked_ns=30, reader_op=0, read_ns=25
    )
    assert row.size == 5
    assert open_transaction_read.observed(EARLY) == 1
    text = open_transaction_read.explain(row, dict(enumerate(EARLY)))
    assert (
        "k: a was read by 0.000025 ms; its transaction requested its end only at 0.000030 ms"
        in text
    )


def test_a_record_may_be_read_between_the_request_and_its_response() -> None:
    h = history("""
        t1  txn{id=x,end=12} k=a ...
        c1  poll                      -> ok k=a@0
        t1  ...                       -> ok @0
    """)
    assert open_transaction_reads(h) == ()
    assert open_transaction_read.observed(h) == 1


@pytest.mark.parametrize("ended", ["ok @0", "info", "fail"])
def test_the_outcome_of_the_transaction_does_not_matter(ended: str) -> None:
    h = history(f"""
        t1  txn{{id=x,end=30}} k=a ...
        c1  poll                      -> ok k=a@0
        t1  ...                       -> {ended}
    """)
    assert len(open_transaction_reads(h)) == 1


def test_without_a_recorded_end_request_the_invocation_counts() -> None:
    within = history("""
        t1  txn k=a ...
        c1  poll           -> ok k=a@0
        t1  ...            -> ok @0
    """)
    before = history("""
        c1  poll           -> ok k=a@0
        t1  txn k=a        -> never
    """)
    assert open_transaction_reads(within) == ()
    (row,) = open_transaction_reads(before)
    assert "was invoked only at" in open_transaction_read.explain(row, dict(enumerate(before)))


def test_a_read_at_read_uncommitted_is_not_judged() -> None:
    dirty = replace(EARLY[0], isolation="read_uncommitted")
    assert open_transaction_reads((dirty, EARLY[1])) == ()


def test_a_poll_that_did_not_end_ok_shows_nothing() -> None:
    assert open_transaction_reads((replace(EARLY[0], outcome="info"), EARLY[1])) == ()


def test_a_send_outside_transactions_may_be_read_before_it_is_acknowledged() -> None:
    h = history("""
        p1  send k=a ...
        c1  poll           -> ok k=a@0
        p1  ...            -> ok @0
    """)
    assert open_transaction_reads(h) == ()
    assert open_transaction_read.observed(h) == 0


def fenced(error: str, ended: str = "fail") -> History:
    h = history(f"""
        t1  txn{{id=x}} k=a  -> {ended}
        c1  poll           -> ok k=a@0
    """)
    return (replace(h[0], error=error), h[1])


@pytest.mark.parametrize(
    "error",
    [
        "_FENCED: Local: This instance has been fenced by a newer instance",
        "PRODUCER_FENCED: Broker: There is a newer producer with the same transactionalId",
        "org.apache.kafka.common.errors.ProducerFencedException",
        "INVALID_PRODUCER_EPOCH: Broker: Producer attempted an operation with an old epoch",
        "[:producer-fenced]",
    ],
)
def test_a_record_of_a_fenced_transaction_was_read(error: str) -> None:
    h = fenced(error)
    (row,) = fenced_transaction_reads(h)
    assert row == FencedTransactionRead(key="k", value="a", op=0, reader_op=1)
    assert fenced_transaction_read.observed(h) == 1
    assert error in fenced_transaction_read.explain(row, dict(enumerate(h)))
    assert [(r.key, r.value, r.writer_op) for r in aborted_reads(h)] == [("k", "a", 0)]


def test_the_first_of_two_fenced_transactions_that_sent_the_value_is_named() -> None:
    h = history("""
        t1  txn{id=x} k=a  -> fail
        t2  txn{id=x} k=a  -> fail
        c1  poll           -> ok k=a@0
    """)
    both = tuple(replace(one, error="PRODUCER_FENCED: Broker: replaced") for one in h[:2])
    assert fenced_transaction_reads((*both, h[2])) == (
        FencedTransactionRead(key="k", value="a", op=0, reader_op=2),
    )


@pytest.mark.parametrize(
    "error", ["FENCED_INSTANCE_ID: static member", "FENCED_LEADER_EPOCH", "INVALID_TXN_STATE", ""]
)
def test_a_transaction_that_failed_otherwise_is_only_an_aborted_read(error: str) -> None:
    h = fenced(error)
    assert fenced_transaction_reads(h) == ()
    assert fenced_transaction_read.observed(h) == 0
    assert len(aborted_reads(h)) == 1


def test_a_transaction_that_ended_info_may_have_committed_before_the_fence() -> None:
    assert fenced_transaction_reads(fenced("PRODUCER_FENCED", ended="info")) == ()


def test_a_record_that_was_sent_again_may_be_from_the_second_send() -> None:
    first, read = fenced("PRODUCER_FENCED")
    again = history("t2 txn{id=x} k=a -> ok @3")
    assert fenced_transaction_reads((first, *again, read)) == ()


def test_a_record_is_of_its_first_sender_that_did_not_fail() -> None:
    h = history("""
        t1  txn k=a  -> fail
        t1  txn k=a  -> ok @0
        t1  txn k=b  -> fail
        t1  txn k=b  -> fail
    """)
    assert writers(h) == {("k", "a"): 1, ("k", "b"): 2}
    assert writers((h[1], h[1])) == {("k", "a"): 0}
