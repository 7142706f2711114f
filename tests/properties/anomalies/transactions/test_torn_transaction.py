"""A missing record sometimes proves that a transaction is only partly visible."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.history_notation import history
from properties.anomalies.declarations import Declarations
from properties.anomalies.log.lost_write import lost_writes
from properties.anomalies.transactions.torn_transaction import (
    TornTransaction,
    explain,
    observed,
    torn_transactions,
)

HALF_MARKED = history("""
    t1  txn{id=x} k=a j=b  -> ok @0 @0       # commit marker on j only; k was marked as aborted
    p1  send k=c           -> ok @2
    c1  poll               -> ok j=b@0
    c1  poll               -> ok k=c@2
""")


def test_a_passed_record_of_a_visible_transaction_is_found() -> None:
    (row,) = torn_transactions(HALF_MARKED)
    assert row == TornTransaction(
        key="k",
        value="a",
        op=0,
        lies="at",
        offset=0,
        known_op=0,
        read_offset=2,
        reader_op=3,
        shown_key="j",
        shown_value="b",
        shown_op=2,
    )
    assert observed(HALF_MARKED) == 1
    assert explain(row, dict(enumerate(HALF_MARKED))).splitlines() == [
        "key k: transaction 0, which ended ok, sent a, which is at offset 0. Readers polled up to "
        "offset 2 and never received a, but they received b of the same transaction from j.",
        "  missing  operation 0, process 0: txn{id=x} k=a -> ok @0  [0.000010 ms .. 0.000015 ms]",
        "  shown    operation 2, process 2: poll -> ok j=b@0  [0.000030 ms .. 0.000035 ms]",
        "  bound    operation 0, process 0: txn{id=x} k=a -> ok @0  [0.000010 ms .. 0.000015 ms]",
        "  beyond   operation 3, process 2: poll -> ok k=c@2  [0.000040 ms .. 0.000045 ms]",
    ]


def test_a_missing_record_with_an_observed_offset_is_also_a_lost_write() -> None:
    assert [row.value for row in lost_writes(HALF_MARKED)] == ["a"]


def test_a_transaction_without_a_read_record_is_lost_not_torn() -> None:
    h = history("""
        t1  txn k=a j=b  -> ok @0 @0
        p1  send k=c j=d -> ok @2 @2
        c1  poll         -> ok k=c@2 j=d@2
    """)
    assert torn_transactions(h) == ()
    assert [row.value for row in lost_writes(h)] == ["b", "a"]
    assert observed(h) == 0


def test_records_that_become_visible_one_after_another_are_not_torn() -> None:
    h = history("""
        t1  txn k=a j=b  -> ok @0 @0
        c1  poll         -> ok j=b@0
        c1  poll         -> ok k=a@0
        c1  poll         -> ok k=c@2
        p1  send k=c     -> ok @2
    """)
    assert torn_transactions(h) == ()


def test_a_record_above_all_reads_is_not_missing() -> None:
    h = history("""
        p1  send k=z     -> ok @0
        t1  txn k=a j=b  -> ok @1 @0
        c1  poll         -> ok j=b@0 k=z@0
    """)
    assert torn_transactions(h) == ()


def test_readers_at_read_uncommitted_do_not_count() -> None:
    shown = "c1 poll{isolation=read_uncommitted} -> ok j=b@0\nc2 poll -> ok k=c@2"
    passed = "c1 poll -> ok j=b@0\nc2 poll{isolation=read_uncommitted} -> ok k=c@2"
    begin = "t1 txn k=a j=b -> ok @0 @0\np1 send k=c -> ok @2\n"
    assert torn_transactions(history(begin + shown)) == ()
    assert torn_transactions(history(begin + passed)) == ()
    found = "c1 poll -> ok j=b@0 k=c@2\nc2 poll{isolation=read_uncommitted} -> ok k=a@0"
    assert [row.value for row in torn_transactions(history(begin + found))] == ["a"]


def test_a_read_record_proves_that_a_transaction_with_unknown_outcome_committed() -> None:
    h = history("""
        t1  txn k=a j=b  -> info @0 @0
        p1  send k=c     -> ok @2
        c1  poll         -> ok k=c@2 j=b@0
    """)
    assert [row.value for row in torn_transactions(h)] == ["a"]


def test_a_read_record_of_a_failed_transaction_is_an_aborted_read() -> None:
    h = history("""
        t1  txn k=a j=b  -> fail @0 @0
        p1  send k=c     -> ok @2
        c1  poll         -> ok k=c@2 j=b@0
    """)
    assert torn_transactions(h) == ()


def test_a_record_without_an_offset_is_below_later_sends() -> None:
    h = history("""
        t1  txn k=a j=b  -> info
        c1  poll         -> ok j=b@0
        p1  send k=c     -> ok @7
        c1  poll         -> ok k=c@7
    """)
    (row,) = torn_transactions(h)
    assert (row.lies, row.offset, row.known_op, row.reader_op) == ("up to", 6, 2, 3)
    assert "is at offset 6 or below, as operation 2, invoked at 0.000030 ms, shows" in explain(
        row, dict(enumerate(h))
    )


def test_a_send_that_overlaps_the_first_read_bounds_nothing() -> None:
    h = history("""
        t1  txn k=a j=b  -> info
        p1  send k=c ...
        c1  poll         -> ok j=b@0
        p1  ...          -> ok @7
        c1  poll         -> ok k=c@7
    """)
    assert torn_transactions(h) == ()


def test_a_record_without_an_offset_is_below_later_high_watermarks() -> None:
    h = history("""
        p1  send k=c                                  -> ok @7
        t1  txn k=a j=b                               -> ok @? @0
        c1  poll                                      -> ok j=b@0 k=c@7
        c2  end_offset{isolation=read_uncommitted} k  -> ok @8
    """)
    assert [(row.value, row.offset) for row in torn_transactions(h)] == [("a", 7)]


def test_the_last_stable_offset_bounds_nothing() -> None:
    h = history("""
        p1  send k=c      -> ok @7
        t1  txn k=a j=b   -> ok @? @0            # its marker on k is not written yet
        c1  poll          -> ok j=b@0 k=c@7
        c2  end_offset k  -> ok @8
    """)
    assert torn_transactions(h) == ()


def test_a_record_that_may_be_deleted_is_not_missing() -> None:
    deleted = history("""
        t1  txn k-0=a j-0=b   -> ok @0 @0
        p1  send k-0=c        -> ok @2
        c1  poll              -> ok j-0=b@0 k-0=c@2
        c1  start_offset k-0  -> ok @1
    """)
    assert torn_transactions(deleted) == ()
    assert torn_transactions(deleted[:-1])
    assert torn_transactions(deleted[:-1], Declarations(compacted=frozenset({"k"}))) == ()


def test_a_record_without_an_offset_may_be_below_the_log_start() -> None:
    text = """
        t1  txn k=a j=b     -> info
        c1  poll            -> ok j=b@0
        p1  send k=c        -> ok @7
        c1  poll            -> ok k=c@7
    """
    assert torn_transactions(history(text))
    assert torn_transactions(history(text + "c1 start_offset k -> ok @1")) == ()
    assert torn_transactions(history(text + "c1 start_offset k -> ok @0"))


def test_sends_outside_transactions_are_no_transaction() -> None:
    h = history("""
        p1  send k=a j=b  -> ok @0 @0
        p1  send k=c      -> ok @1
        c1  poll          -> ok k=c@1 j=b@0
    """)
    assert torn_transactions(h) == ()


@pytest.mark.parametrize(("later_ns", "found"), [(0, 0), (1, 1)])
def test_a_send_that_begins_when_the_record_was_read_is_no_bound(later_ns: int, found: int) -> None:
    transaction, read, send, beyond = history("""
        t1  txn k=a j=b  -> info
        c1  poll         -> ok j=b@0
        p1  send k=c     -> ok @7
        c1  poll         -> ok k=c@7
    """)
    begins = (read.completed_ns or 0) + later_ns
    late = replace(send, invoked_ns=begins)
    assert len(torn_transactions((transaction, read, late, beyond))) == found


def test_the_offset_of_another_key_is_no_bound() -> None:
    """Here every offset is known, so a wrong bound is a wrong offset and no error."""
    h = history("""
        t1  txn k=a j=b  ...
        c1  poll         -> ok j=b@0
        p1  send k=c     -> ok @7
        t1  ...          -> ok @? @0
        p1  send i=c     -> ok @3
        c1  poll         -> ok k=c@7
    """)
    assert [(row.lies, row.offset) for row in torn_transactions(h)] == [("up to", 6)]


def test_a_send_after_the_first_read_bounds_the_record_and_one_of_another_key_does_not() -> None:
    h = history("""
        t1  txn k=a j=b  ...
        c1  poll         -> ok j=b@0
        p1  send k=c     -> ok @7
        t1  ...          -> ok @? @0
        p1  send i=c     -> ok @3
        p1  send k=d     -> ok @?
        c1  poll         -> ok k=c@7
    """)
    (row,) = torn_transactions(h)
    assert (row.lies, row.offset, row.known_op) == ("up to", 6, 1)
