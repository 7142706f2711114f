"""A poll has the offset at which it received the value, even if the value is in the log twice.

A send has the offset at which it was acknowledged.
"""

from __future__ import annotations

from model.history_notation import history
from properties.anomalies.declarations import Declarations
from properties.anomalies.order.nonmonotonic import backward_steps
from properties.anomalies.order.own_offsets import own_offsets
from properties.anomalies.order.skip import skips
from properties.anomalies.order.steps import (
    polls_between,
    polls_within,
    sends_between,
    sends_within,
)

STEPS = (polls_within, polls_between, sends_within, sends_between)
JEPSEN = Declarations(jepsen=True)
DUPLICATED = history("""
    p1  send k=a k=b k=c  -> ok @0 @1 @2
    c1  poll              -> ok k=a@0
    c1  poll              -> ok k=b@1 k=c@2
    c1  poll              -> ok k=a@3
    p1  send k=d          -> ok @4
    c1  poll              -> ok k=d@4
""")


def test_a_reader_of_both_copies_of_a_duplicate_skips_nothing_and_never_goes_back() -> None:
    for found in (polls_within, polls_between):
        assert skips(DUPLICATED, found) == ()
    for found in STEPS:
        assert backward_steps(DUPLICATED, found) == ()
    assert len(backward_steps(DUPLICATED, polls_between, JEPSEN)) == 1  # from a, last at 3, to b


def test_each_of_two_values_at_an_offset_counts_there() -> None:
    h = history("""
        c1  poll  -> ok k=a@0 k=b@1 k=c@2
        c2  poll  -> ok k=a@0 k=x@1 k=c@2
    """)
    for found in STEPS:
        assert skips(h, found) == ()
        assert backward_steps(h, found) == ()


def test_an_offset_that_is_not_shown_is_the_only_one_of_the_value() -> None:
    h = history("""
        p1  send k=a k=b  -> info
        c1  poll          -> ok k=a@3 k=b@4 k=a@? k=b@?
        c2  poll          -> ok k=b@9
    """)
    assert own_offsets(h) == {(0, 0): 3, (1, 0): 3, (1, 1): 4, (1, 2): 3, (2, 0): 9}


def test_a_send_that_may_not_have_happened_has_no_offset_of_its_own() -> None:
    h = history("""
        p1  send k=a  -> info @0
        p1  send k=b  -> info @1
        p1  send k=c  -> fail @2
        c1  poll      -> ok k=b@1 k=c@2
    """)
    assert own_offsets(h) == {(1, 0): 1, (3, 0): 1, (3, 1): 2}


def test_a_failed_send_makes_no_step() -> None:
    h = history("""
        p1  send k=b k=a  -> fail
        p1  send k=a k=b  -> ok @0 @1
    """)
    assert backward_steps(h, sends_within) == ()
    assert len(backward_steps(h, sends_within, JEPSEN)) == 1
