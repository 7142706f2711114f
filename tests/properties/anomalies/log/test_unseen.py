"""An acknowledged write is unseen if no poll returned its value."""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.declarations import NOTHING_DECLARED, UNFINISHED, Declarations
from properties.anomalies.log.unseen import ANOMALY, Unseen, explain, observed, unseen


def test_the_tail_above_the_highest_read_counts() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        p1  send k=b  -> ok @1
        c1  poll      -> ok k=a@0
    """)
    (row,) = unseen(h)
    assert row == Unseen(key="k", value="b", writer_op=1, later=1)
    assert observed(h) == 2
    assert "no poll that ended ok returned it before the history ended" in explain(
        row, dict(enumerate(h))
    )


def test_the_value_unseen_for_longest_is_listed_first() -> None:
    rows = unseen(history("p1 send k=a -> ok @0\np1 send k=b -> ok @1\nc1 poll -> ok"))
    assert [(row.value, row.size) for row in rows] == [("a", 2), ("b", 1)]


def test_a_value_without_an_observed_offset_counts() -> None:
    assert [row.value for row in unseen(history("p1 send k=a -> ok @?"))] == ["a"]


@pytest.mark.parametrize("outcome", ["info", "fail", "never"])
def test_only_acknowledged_sends_count(outcome: str) -> None:
    assert unseen(history(f"p1 send k=a -> {outcome}")) == ()


@pytest.mark.parametrize(("outcome", "count"), [("ok", 0), ("info", 1), ("fail", 1)])
def test_only_polls_that_ended_ok_count_as_reads(outcome: str, count: int) -> None:
    h = history(f"p1 send k=a -> ok @0\nc1 poll -> {outcome} k=a@0")
    assert len(unseen(h)) == count


def test_a_poll_before_the_acknowledgement_counts_as_a_read() -> None:
    h = history("""
        p1  send k=a ...
        c1  poll      -> ok k=a@0
        p1  ...       -> ok @0
    """)
    assert unseen(h) == ()


def test_a_record_below_a_read_log_start_may_be_gone() -> None:
    h = history("""
        p1  send k=a        -> ok @3
        p1  send k=b        -> ok @4
        p1  send k=c        -> ok
        c1  start_offset k  -> ok @4
        c1  start_offset k  -> info @9
        c1  start_offset k  -> ok @2
    """)
    assert [row.value for row in unseen(h)] == ["b", "c"]
    assert observed(h) == 2


def test_a_value_at_two_offsets_may_be_gone_only_if_the_log_starts_above_both() -> None:
    h = history("""
        p1  send k=a        -> ok @3
        p1  send k=a        -> ok @5
        p1  send k=b        -> ok @1
        p1  send k=b        -> ok @2
        c1  start_offset k  -> ok @4
    """)
    assert [row.value for row in unseen(h)] == ["a"]


def test_a_record_of_a_compacted_topic_may_be_gone() -> None:
    h = history("p1 send t-0=a u-0=b -> ok @0 @0\np1 send t-1=c -> ok")
    assert [row.value for row in unseen(h, Declarations(compacted=frozenset({"t"})))] == ["b"]


def test_an_unfinished_history_permits_unseen_values() -> None:
    assert set(ANOMALY.permits) == {UNFINISHED}
    assert UNFINISHED not in NOTHING_DECLARED.conditions()
