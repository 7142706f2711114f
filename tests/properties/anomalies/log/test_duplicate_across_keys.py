"""A value sent to one partition of a topic must not appear in another partition."""

from __future__ import annotations

from model.history_notation import history
from properties.anomalies.log.duplicate_across_keys import (
    DuplicateAcrossKeys,
    duplicates_across_keys,
    explain,
    observed,
)


def test_a_value_in_two_partitions_of_its_topic_is_found() -> None:
    h = history("""
        p1  send t-0=a  -> ok @4
        c1  poll        -> ok t-0=a@4 t-1=a@9
        c1  poll        -> ok t-1=a@7
    """)
    (row,) = duplicates_across_keys(h)
    assert row == DuplicateAcrossKeys(
        key="t-0", value="a", keys=("t-0", "t-1"), offsets=(4, 7), seen_by=(0, 2)
    )
    assert row.size == 2
    assert observed(h) == 2
    assert "was sent to this key only, but is at t-0@4, t-1@7" in explain(row, dict(enumerate(h)))


def test_a_value_that_was_sent_to_both_partitions_is_not_found() -> None:
    h = history("""
        p1  send t-0=a  -> ok @4
        p2  send t-1=a  -> fail
        c1  poll        -> ok t-1=a@7
    """)
    assert duplicates_across_keys(h) == ()


def test_values_of_different_topics_are_independent() -> None:
    h = history("""
        p1  send t-0=a  -> ok @4
        c1  poll        -> ok u-1=a@7
    """)
    assert duplicates_across_keys(h) == ()


def test_a_value_must_be_observed_in_its_own_partition_too() -> None:
    h = history("""
        p1  send t-0=a  -> info
        c1  poll        -> ok t-1=a@7
    """)
    assert duplicates_across_keys(h) == ()


def test_keys_without_a_topic_are_partitions_of_one_topic() -> None:
    h = history("""
        p1  send 0=5  -> ok @4
        c1  poll      -> ok 1=5@7
    """)
    assert [row.keys for row in duplicates_across_keys(h)] == [("0", "1")]
