"""A write is lost only if the polls prove that a consumer should have received its value, and did
not.
"""

from __future__ import annotations

from model.history_notation import history
from properties.anomalies.declarations import Declarations
from properties.anomalies.log.lost_write import LostWrite, explain, lost_writes, observed


def test_reading_past_a_hole_is_a_lost_write() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        p1  send k=b  -> ok @1
        c1  poll      -> ok k=a@0 k=c@2
        p2  send k=c  -> ok @2
    """)
    (row,) = lost_writes(h)
    assert row == LostWrite(
        key="k", value="b", offset=1, writer_op=1, read_offset=2, read_value="c", reader_op=2
    )
    assert observed(h) == 3
    assert "but no reader ever polled b" in explain(row, dict(enumerate(h)))


def test_a_value_at_two_offsets_is_due_at_the_higher_one() -> None:
    h = history("""
        p1  send k=b  -> ok @1
        p1  send k=b  -> ok @2
        p1  send k=d  -> ok @3
        p1  send k=d  -> ok @9
        c1  poll      -> ok k=c@4 k=c@5
    """)
    assert [(row.value, row.offset) for row in lost_writes(h)] == [("b", 2)]


def test_the_first_reader_of_the_highest_offset_is_named() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        p1  send k=c  -> ok @2
        c1  poll      -> ok k=c@2
        c2  poll      -> ok k=c@2
    """)
    assert [row.reader_op for row in lost_writes(h)] == [2]


def test_the_tail_above_the_highest_read_is_not_lost() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        p1  send k=b  -> ok @1
        c1  poll      -> ok k=a@0
    """)
    assert lost_writes(h) == ()


def test_a_read_of_any_process_counts() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        p1  send k=b  -> ok @1
        c1  poll      -> ok k=b@1
        c2  poll      -> ok k=a@0
    """)
    assert lost_writes(h) == ()


def test_only_polls_that_ended_ok_count_as_reads() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        p1  send k=b  -> ok @1
        c1  poll      -> info k=a@0
        c1  poll      -> ok k=b@1
    """)
    assert [row.value for row in lost_writes(h)] == ["a"]


def test_a_gap_in_the_offsets_is_no_lost_write() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        p1  send k=b  -> ok @9
        c1  poll      -> ok k=a@0 k=b@9
    """)
    assert lost_writes(h) == ()


def test_a_send_that_failed_is_not_lost() -> None:
    h = history("""
        p1  send k=a  -> fail @0
        c2  poll      -> info k=a@0
        p1  send k=b  -> ok @1
        c1  poll      -> ok k=b@1
    """)
    assert lost_writes(h) == ()


def test_an_unacknowledged_send_is_lost_if_its_transaction_was_read() -> None:
    h = history("""
        t1  txn k=a j=x  -> info @0 @0
        p1  send k=b     -> ok @1
        c1  poll         -> ok k=b@1 j=x@0
    """)
    assert [row.value for row in lost_writes(h)] == ["a"]
    unread = history("""
        t1  txn k=a j=x  -> info @0 @0
        p1  send k=b     -> ok @1
        c1  poll         -> ok k=b@1
    """)
    assert lost_writes(unread) == ()


def test_a_value_at_two_offsets_is_required_at_the_last_and_bounds_at_the_first() -> None:
    owed_later = history("""
        p1  send k=a  -> ok @0
        p1  send k=b  -> ok @1
        c2  poll      -> info k=a@5
        c1  poll      -> ok k=b@1
    """)
    assert lost_writes(owed_later) == ()
    bounds_early = history("""
        p1  send k=a  -> ok @0
        p1  send k=b  -> ok @1
        c1  poll      -> ok k=a@0 k=a@5
    """)
    assert lost_writes(bounds_early) == ()


def test_a_value_without_an_observed_offset_cannot_be_lost() -> None:
    h = history("""
        p1  send k=a  -> ok @?
        p1  send k=b  -> ok @1
        c1  poll      -> ok k=b@1
    """)
    assert lost_writes(h) == ()
    assert observed(h) == 1


def test_a_record_that_may_be_deleted_is_not_lost() -> None:
    h = history("""
        p1  send t-0=a t-0=b t-0=c  -> ok @0 @1 @2
        c1  poll                    -> ok t-0=c@2
        c2  start_offset t-0        -> ok @1
    """)
    assert [row.value for row in lost_writes(h)] == ["b"]
    assert observed(h) == 2
    assert lost_writes(h, Declarations(compacted=frozenset({"t"}))) == ()


def test_a_transaction_read_only_at_read_uncommitted_may_be_aborted() -> None:
    h = history("""
        t1  txn k=a k=b                       -> info @0 @1
        p1  send k=c                          -> ok @3
        c1  poll{isolation=read_uncommitted}  -> ok k=a@0 k=c@3
    """)
    assert lost_writes(h) == ()
    assert [row.value for row in lost_writes((*h, *history("c1 poll -> ok k=a@0")))] == ["b"]


def test_offsets_may_be_huge_and_far_apart() -> None:
    far = 2**62
    h = history(f"""
        p1  send k=a k=b k=c  -> ok @5 @{far} @{far + 10**9}
        c1  poll              -> ok k=a@5 k=c@{far + 10**9}
    """)
    assert [(row.value, row.size) for row in lost_writes(h)] == [("b", 10**9)]
