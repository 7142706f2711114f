"""Consecutive polls of a process must not skip a record that surely exists."""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.declarations import ALWAYS, NOTHING_DECLARED, SUBSCRIBE, Declarations
from properties.anomalies.order.skip import ANOMALIES, Skip, explain, skips
from properties.anomalies.order.steps import polls_between, polls_within, sends_within

FAR = 10**18


def test_a_poll_that_passed_over_a_record_is_found() -> None:
    h = history("""
        p1  send k=a k=b k=c k=d  -> ok @0 @1 @2 @4
        c1  poll                  -> ok k=a@0 k=d@4
    """)
    (row,) = skips(h, polls_within)
    assert row == Skip(
        key="k",
        second_op=1,
        second_position=1,
        second_value="d",
        second_offset=4,
        first_op=1,
        first_value="a",
        first_offset=0,
        skipped=2,
        skipped_offset=1,
        skipped_value="b",
        skipped_op=0,
    )
    assert row.size == 2
    assert row.ops == (1, 0)
    text = explain(row, dict(enumerate(h)), "polled")
    assert "polled a at offset 0 and next d at offset 4; 2 records are in between: b at" in text
    assert "b at offset 1 is the first." in text


def test_a_gap_without_an_observed_record_is_no_skip() -> None:
    h = history(f"""
        p1  send k=a  -> ok @0
        c1  poll      -> ok k=a@0 k=b@{FAR}
    """)
    assert skips(h, polls_within) == ()


def test_the_next_operation_must_continue_at_the_position() -> None:
    h = history("""
        p1  send k=a k=b k=c  -> ok @0 @1 @2
        c1  poll              -> ok k=a@0
        c1  poll              -> ok k=c@2
        c2  poll              -> ok k=a@0
        c2  poll              -> ok k=b@1
    """)
    assert [(row.first_op, row.second_op) for row in skips(h, polls_between)] == [(1, 2)]


@pytest.mark.parametrize(
    ("of_b", "skipped"), [("ok @1", 1), ("info @1", 0), ("fail @1", 0), ("ok @?", 0)]
)
def test_only_records_that_are_surely_there_count(of_b: str, skipped: int) -> None:
    h = history(f"p1 send k=b -> {of_b}\nc1 poll -> ok k=a@0 k=c@2")
    assert len(skips(h, polls_within)) == skipped


def test_a_record_seen_at_read_uncommitted_counts_only_at_that_level() -> None:
    h = history("""
        c1  poll{isolation=read_uncommitted}  -> ok k=a@0 k=b@1
        c2  poll                              -> ok k=a@0 k=c@2
        c3  poll{isolation=read_uncommitted}  -> ok k=a@0 k=c@2
    """)
    assert [row.second_op for row in skips(h, polls_within)] == [2]


def test_a_reader_may_skip_an_aborted_record_that_another_reader_received() -> None:
    h = history("""
        p1  send k=b                          -> fail
        c1  poll                              -> ok k=a@0 k=b@1 k=c@2
        c2  poll                              -> ok k=a@0 k=c@2
        c3  poll{isolation=read_uncommitted}  -> ok k=a@0 k=c@2
    """)
    assert [row.second_op for row in skips(h, polls_within)] == [3]
    assert [r.second_op for r in skips(h, polls_within, Declarations(jepsen=True))] == [2, 3]


def test_a_record_below_a_read_log_start_does_not_count() -> None:
    h = history("""
        p1  send k=a k=b k=c k=d  -> ok @0 @1 @2 @3
        c1  poll                  -> ok k=a@0 k=d@3
        c2  start_offset k        -> ok @2
    """)
    assert [(row.skipped, row.skipped_value) for row in skips(h, polls_within)] == [(1, "c")]
    assert skips((*h, *history("c2 start_offset k -> ok @3")), polls_within) == ()


def test_a_record_of_a_compacted_topic_does_not_count() -> None:
    h = history("""
        p1  send t-0=a t-0=b t-0=c  -> ok @0 @1 @2
        c1  poll                    -> ok t-0=a@0 t-0=c@2
    """)
    assert len(skips(h, polls_within)) == 1
    assert skips(h, polls_within, Declarations(compacted=frozenset({"t"}))) == ()


def test_interleaved_sends_are_permitted() -> None:
    h = history("""
        p1  txn k=a k=c  -> ok @0 @2
        p2  send k=b     -> ok @1
    """)
    assert [row.skipped_value for row in skips(h, sends_within)] == ["b"]
    permits = {anomaly.id: set(anomaly.permits) for anomaly in ANOMALIES}
    assert permits == {"int-poll-skip": set(), "int-send-skip": {ALWAYS}, "poll-skip": {SUBSCRIBE}}
    assert ALWAYS in NOTHING_DECLARED.conditions()
