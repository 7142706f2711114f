"""G1b: a reader received part of a transaction and a later record, but never the last part."""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.cycles.intermediate_read import (
    IntermediateRead,
    explain,
    intermediate_reads,
    observed,
)
from properties.anomalies.declarations import Declarations

SENT = """
    t1  txn k=a k=b k=c  -> ok @0 @1 @2
    p1  send k=d         -> ok @4
"""


def test_a_reader_that_passes_the_end_of_a_transaction_is_found() -> None:
    h = history(SENT + "c1 poll -> ok k=a@0\nc1 poll -> ok k=d@4")
    (row,) = intermediate_reads(h)
    assert row == IntermediateRead(
        key="k",
        reader_op=2,
        value="a",
        offset=0,
        next_op=3,
        next_value="d",
        next_offset=4,
        writer_op=0,
        last_value="c",
        last_offset=2,
    )
    assert (row.size, row.ops, observed(h)) == (2, (0, 2, 3), 1)
    assert explain(row, dict(enumerate(h))).splitlines()[0] == (
        "key k: process 2 polled a at offset 0 and then d at offset 4, but never c at offset 2, "
        "the last record that the transaction of a sent to the key."
    )


def test_one_poll_that_passes_the_end_of_a_transaction_is_found() -> None:
    assert intermediate_reads(history(SENT + "c1 poll -> ok k=b@1 k=d@4"))


@pytest.mark.parametrize(
    "polls",
    [
        "c1 poll -> ok k=a@0",  # the poll ended early, and the reader stopped
        "c1 poll -> ok k=a@0\nc1 poll -> ok k=b@1 k=c@2 k=d@4",  # it continued at its position
        "c1 poll -> ok k=a@0 k=c@2 k=d@4",  # a skip, but not of the last record
        "c1 poll -> ok k=a@0\nc2 poll -> ok k=d@4",  # another reader
        "c1 poll -> ok k=a@0 k=d@4 ~k",  # a rebalance in between
        "c1 poll -> ok k=a@0\nc1 assign j -> ok\nc1 poll -> ok k=d@4",  # lost the key
        "c1 poll -> ok k=a@0\nc1 poll -> ok k=d@4 k=c@2",  # polled c later
        "c1 poll -> ok k=a@0\nc1 start_offset k -> ok @3\nc1 poll -> ok k=d@4",  # c is deleted
    ],
)
def test_a_read_that_does_not_pass_the_end_is_not_found(polls: str) -> None:
    assert intermediate_reads(history(SENT + polls)) == ()


@pytest.mark.parametrize(("start", "found"), [(2, 1), (3, 0)])
def test_the_last_record_must_exist_if_the_log_starts_at_it(start: int, found: int) -> None:
    h = history(SENT + f"c1 poll -> ok k=a@0 k=d@4\nc2 start_offset k -> ok @{start}")
    assert len(intermediate_reads(h)) == found


def test_a_skip_that_ends_before_the_last_record_is_not_found() -> None:
    h = history("""
        t1  txn k=a k=c  -> ok @0 @5
        p1  send k=d k=e -> ok @1 @2
        c1  poll         -> ok k=a@0 k=e@2
    """)
    assert intermediate_reads(h) == ()


def test_the_end_of_a_transaction_is_unknown_if_no_trusted_read_shows_one_of_its_records() -> None:
    """Two transactions sent the same values, and one of them failed. A read at read_uncommitted may
    have returned the records of the failed one.
    """
    h = history("""
        t1  txn k=a k=c  -> fail
        t2  txn k=a k=c  -> info
        p1  send k=b k=d -> ok @2 @4
        c1  poll{isolation=read_uncommitted} -> ok k=a@0 k=d@4
    """)
    assert intermediate_reads(h) == ()


def test_sends_outside_a_transaction_have_no_common_end() -> None:
    h = history(SENT.replace("txn", "send") + "c1 poll -> ok k=a@0 k=d@4")
    assert intermediate_reads(h) == ()
    assert observed(h) == 0


def test_each_counted_step_shows_the_anomaly_if_it_skips_the_last_record() -> None:
    """The transaction's last record is c. So the steps from a to b and from b to c are counted:
    they begin before c. The step from c to d begins at c.
    """
    h = history(SENT + "c1 poll -> ok k=a@0 k=b@1 k=c@2 k=d@4")
    assert (intermediate_reads(h), observed(h)) == ((), 2)
    for polls in ("k=a@0 k=d@4", "k=a@0 k=b@1 k=d@4"):
        assert intermediate_reads(history(SENT + f"c1 poll -> ok {polls}"))
    unread = history(SENT + "c1 poll -> ok k=c@2 k=d@4")
    assert (intermediate_reads(unread), observed(unread)) == ((), 0)


def test_a_value_at_two_offsets_ends_its_transaction_at_the_higher_one() -> None:
    h = history("""
        t1  txn k=a   -> ok @5
        c1  poll      -> ok k=a@2 k=b@3
    """)
    assert observed(h) == 1


@pytest.mark.parametrize(
    ("declared", "start"), [(Declarations(compacted=frozenset({"k"})), ""), (None, "@3")]
)
def test_a_step_over_a_deletable_record_is_not_counted(
    declared: Declarations | None, start: str
) -> None:
    read = f"c1 start_offset k -> ok {start}\n" if start else ""
    h = history(SENT + read + "c1 poll -> ok k=a@0 k=b@1 k=c@2")
    assert observed(h, declared or Declarations()) == 0


def test_a_record_of_a_compacted_topic_is_not_missed() -> None:
    h = history(SENT + "c1 poll -> ok k=a@0 k=d@4")
    assert intermediate_reads(h, Declarations(compacted=frozenset({"k"}))) == ()
