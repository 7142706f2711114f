"""Steps: pairs of consecutive values of one log that one process polled or sent.

The two values are in one operation, or in consecutive operations.
"""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.declarations import Declarations
from properties.anomalies.order import steps
from properties.anomalies.order.steps import Steps

SENT = "p1 txn k=a k=b k=c j=x j=y -> ok @0 @1 @2 @0 @1\n"


def followed(found: Steps, text: str) -> list[str]:
    return [f"{s.key} {s.first_value} {s.second_value}" for s in found(history(SENT + text))]


def test_consecutive_values_of_each_key_are_steps_of_an_operation() -> None:
    assert followed(steps.polls_within, "c1 poll -> ok k=a@0 j=x@0 k=b@1 k=c@2") == [
        "k a b",
        "k b c",
    ]
    assert followed(steps.sends_within, "") == ["k a b", "k b c", "j x y"]


def test_a_rebalanced_key_has_no_steps_of_polls() -> None:
    assert followed(steps.polls_within, "c1 poll -> info k=a@0 k=b@1 j=x@0 j=y@1 ~k") == ["j x y"]


def test_a_value_without_an_offset_makes_no_step() -> None:
    assert followed(steps.polls_within, "c1 poll -> ok k=a@0 k=u@? k=b@1 k=c@2") == ["k b c"]


def test_a_step_begins_at_the_last_poll_that_ended_ok() -> None:
    text = """
        c1  poll  -> ok k=a@0 k=b@1
        c2  poll  -> ok k=a@0
        c1  poll  -> ok j=x@0
        c1  poll  -> ok k=c@2 k=a@0
    """
    assert followed(steps.polls_between, text) == ["k b c"]


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_a_poll_that_did_not_end_ok_is_checked_but_moves_no_position(outcome: str) -> None:
    text = f"""
        c1  poll  -> ok k=a@0
        c1  poll  -> {outcome} k=b@1
        c1  poll  -> ok k=c@2
    """
    assert followed(steps.polls_between, text) == ["k a b", "k a c"]


@pytest.mark.parametrize(
    ("assigning", "expected"),
    [
        ("assign j -> ok", []),
        ("assign j -> info", []),
        ("subscribe j -> ok", []),
        ("assign - -> ok", []),
        ("assign k -> ok", ["k a b"]),
        ("assign j -> fail", ["k a b"]),
    ],
)
def test_an_assignment_drops_the_positions_of_other_keys(
    assigning: str, expected: list[str]
) -> None:
    text = f"c1 poll -> ok k=a@0\nc1 {assigning}\nc1 poll -> ok k=b@1"
    assert followed(steps.polls_between, text) == expected
    sends = f"p2 send k=e -> ok @5\np2 {assigning}\np2 send k=f -> ok @6"
    assert followed(steps.sends_between, sends) == [it.replace("a b", "e f") for it in expected]


def test_a_step_of_sends_begins_at_the_last_send_that_did_not_fail() -> None:
    text = """
        p2  send k=d  -> info
        p2  send k=e  -> fail
        p2  send k=f  -> ok @6
        c1  poll      -> ok k=d@5 k=e@4 k=f@6
    """
    assert followed(steps.sends_between, text) == ["k d f"]


def test_a_value_counts_where_it_was_polled_and_in_jepsen_at_its_last_offset() -> None:
    h = history("""
        c1  poll  -> ok k=a@0 k=b@1
        c2  poll  -> ok k=a@7
    """)
    (step,) = steps.polls_within(h)
    assert (step.first_offset, step.second_offset, step.size) == (0, 1, -1)
    (step,) = steps.polls_within(h, Declarations(jepsen=True))
    assert (step.first_offset, step.second_offset, step.size) == (7, 1, 6)
