"""Acknowledged offsets agree with real time, and only with it."""

from __future__ import annotations

from dataclasses import replace

from model.history_notation import history
from properties.anomalies.real_time.offset_order_inversion import (
    OffsetOrderInversion,
    explain,
    inversions,
    observed,
)


def test_a_later_send_with_a_lower_offset() -> None:
    h = history("""
        p1  send k=a  -> ok @5
        p2  send k=b  -> ok @3
    """)
    assert inversions(h) == (
        OffsetOrderInversion(
            key="k",
            second_offset=3,
            second_value="b",
            second_op=1,
            first_offset=5,
            first_value="a",
            first_op=0,
        ),
    )


def test_one_offset_given_twice_is_an_inversion() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        p2  send k=b  -> ok @0
    """)
    assert [row.size for row in inversions(h)] == [0]


def test_sends_that_overlap_get_their_offsets_in_any_order() -> None:
    h = history("""
        p1  send k=a  ...
        p2  send k=b  -> ok @1
        p1  ...       -> ok @0
    """)
    assert inversions(h) == ()


def test_completion_and_invocation_at_one_instant_overlap() -> None:
    first, second = history("""
        p1  send k=a  -> ok @1
        p2  send k=b  -> ok @0
    """)
    assert first.completed_ns is not None
    assert inversions((first, replace(second, invoked_ns=first.completed_ns))) == ()
    assert inversions((first, replace(second, invoked_ns=first.completed_ns + 1)))


def test_the_order_is_of_one_key() -> None:
    h = history("""
        p1  send k=a  -> ok @5
        p2  send j=b  -> ok @3
    """)
    assert inversions(h) == ()


def test_only_what_was_acknowledged_counts() -> None:
    h = history("""
        p1  send k=a  -> ok @5
        p2  send k=b  -> info @3
        p3  send k=c  -> fail @3
        p4  send k=d  -> ok @?
        c1  poll      -> ok k=d@1
    """)
    assert inversions(h) == ()
    assert observed(h) == 1


def test_the_highest_offset_before_is_the_witness_and_of_equals_the_first_to_complete() -> None:
    h = history("""
        p1  send k=a  -> ok @5
        p1  send k=b  -> ok @9
        p1  send k=c  -> ok @9
        p2  send k=d  -> ok @3
    """)
    assert [(r.second_value, r.first_value) for r in inversions(h)] == [("d", "b"), ("c", "b")]


def test_the_explanation_shows_both_sends_with_their_times() -> None:
    h = history("""
        p1  send k=a j=x  -> ok @5 @0
        p2  send k=b      -> ok @3
    """)
    (row,) = inversions(h)
    assert explain(row, dict(enumerate(h))).splitlines() == [
        "key k: offset 5 was acknowledged at 0.000015 ms; a send that began after that, "
        "at 0.000020 ms, got offset 3, which is not higher.",
        "  first   operation 0, process 0: send k=a -> ok @5  [0.000010 ms .. 0.000015 ms]",
        "  second  operation 1, process 1: send k=b -> ok @3  [0.000020 ms .. 0.000025 ms]",
    ]
