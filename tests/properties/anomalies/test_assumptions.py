"""Histories that no analysis can be asked about."""

from __future__ import annotations

from dataclasses import replace

from model.history_notation import history
from properties.anomalies.assumptions import (
    ASSUMPTIONS,
    BackwardsOperation,
    OverlappingOperations,
    RepeatedValue,
    backwards_operations,
    overlapping_operations,
    repeated_values,
)

SOUND = history("""
    p1  send k=a j=a  -> ok @0 @0
    p1  send k=b      ...
    p2  poll          -> ok k=a@0
    p1  ...           -> info
    p3  send k=c      -> never
""")


def test_a_sound_history_breaks_none() -> None:
    assert [assumption.find(SOUND) for assumption in ASSUMPTIONS] == [()] * len(ASSUMPTIONS)


def test_a_value_sent_twice_to_one_key() -> None:
    h = history("""
        p1  send k=a  -> info
        p2  send k=a  -> ok @1
    """)
    assert repeated_values(h) == (RepeatedValue(key="k", value="a", sent_by=(0, 1)),)


def test_a_value_sent_again_after_a_send_that_failed_was_sent_once() -> None:
    h = history("""
        p1  send k=a  -> fail
        p2  send k=a  -> fail
        p2  send k=a  -> ok @1
        p2  send j=a  -> ok @1
    """)
    assert repeated_values(h) == ()


def test_a_process_that_goes_on_after_an_operation_that_never_completed() -> None:
    h = history("""
        p1  send k=a  -> never
        p1  send k=b  -> ok @0
    """)
    assert overlapping_operations(h) == (OverlappingOperations(process=0, second_op=0, first_op=1),)


def test_operations_that_touch_do_not_overlap() -> None:
    first, second = history("""
        p1  send k=a  -> ok @0
        p1  send k=b  -> ok @1
    """)
    assert first.completed_ns is not None
    touching = replace(second, invoked_ns=first.completed_ns)
    overlapping = replace(second, invoked_ns=first.completed_ns - 1)
    assert overlapping_operations((first, touching)) == ()
    assert len(overlapping_operations((first, overlapping))) == 1


def test_an_operation_that_completed_before_it_was_invoked() -> None:
    (operation,) = history("p1 poll -> ok")
    assert backwards_operations((replace(operation, completed_ns=-7),)) == (
        BackwardsOperation(op=0, invoked_ns=0, completed_ns=-7),
    )


def test_every_row_says_in_words_what_is_wrong() -> None:
    rows = (
        RepeatedValue(key="k", value="a", sent_by=(0, 1)),
        OverlappingOperations(process=0, second_op=0, first_op=1),
        BackwardsOperation(op=0, invoked_ns=0, completed_ns=-7),
    )
    assert [str(row) for row in rows] == [
        "a was sent to k by operations 0, 1",
        "process 0 invoked operation 0 while operation 1 was open",
        "operation 0 completed at -7 ns, before its invocation at 0 ns",
    ]
