"""Histories that break an assumption of the analysis get no verdict."""

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


def test_a_correct_history_breaks_no_assumption() -> None:
    assert [assumption.find(SOUND) for assumption in ASSUMPTIONS] == [()] * len(ASSUMPTIONS)


def test_a_value_sent_twice_to_one_key_breaks_an_assumption() -> None:
    h = history("""
        p1  send k=a  -> info
        p2  send k=a  -> ok @1
    """)
    assert repeated_values(h) == (RepeatedValue(key="k", value="a", sent_by=(0, 1)),)


def test_a_value_sent_again_after_a_failed_send_counts_once() -> None:
    h = history("""
        p1  send k=a  -> fail
        p2  send k=a  -> fail
        p2  send k=a  -> ok @1
        p2  send j=a  -> ok @1
    """)
    assert repeated_values(h) == ()


def test_a_process_that_continues_after_an_open_operation_breaks_an_assumption() -> None:
    h = history("""
        p1  send k=a  -> never
        p1  send k=b  -> ok @0
    """)
    assert overlapping_operations(h) == (OverlappingOperations(process=0, second_op=0, first_op=1),)


def test_operations_that_meet_at_one_instant_do_not_overlap() -> None:
    first, second = history("""
        p1  send k=a  -> ok @0
        p1  send k=b  -> ok @1
    """)
    assert first.completed_ns is not None
    touching = replace(second, invoked_ns=first.completed_ns)
    overlapping = replace(second, invoked_ns=first.completed_ns - 1)
    assert overlapping_operations((first, touching)) == ()
    assert len(overlapping_operations((first, overlapping))) == 1


def test_an_operation_that_completed_before_its_invocation_breaks_an_assumption() -> None:
    (operation,) = history("p1 poll -> ok")
    assert backwards_operations((replace(operation, completed_ns=-7),)) == (
        BackwardsOperation(op=0, invoked_ns=0, completed_ns=-7),
    )


def test_every_row_has_a_readable_text() -> None:
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
