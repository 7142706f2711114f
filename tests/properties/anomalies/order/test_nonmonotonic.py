"""In each log, the offsets that one process polls increase, and so do the offsets of its sends."""

from __future__ import annotations

from model.history_notation import history
from properties.anomalies.declarations import SUBSCRIBE
from properties.anomalies.order.nonmonotonic import ANOMALIES, backward_steps, explain
from properties.anomalies.order.steps import Step, polls_between, polls_within, sends_between


def test_polls_that_go_back_or_repeat_are_found() -> None:
    h = history("c1 poll -> ok k=a@0 k=b@1 k=a@0 k=a@0")
    back, again = backward_steps(h, polls_within)
    assert back == Step(
        key="k",
        second_op=0,
        second_position=2,
        second_value="a",
        second_offset=0,
        first_op=0,
        first_value="b",
        first_offset=1,
    )
    assert (back.size, again.size) == (1, 0)
    assert "polled b at offset 1 and then a at offset 0, which is lower." in explain(
        back, dict(enumerate(h)), "polled"
    )
    assert "polled a at offset 0 and then again a at offset 0, which is not higher." in explain(
        again, dict(enumerate(h)), "polled"
    )


def test_an_operation_that_begins_where_the_last_one_ended_is_found() -> None:
    h = history("""
        c1  poll  -> ok k=a@0 k=b@1
        c1  poll  -> ok k=b@1 k=c@2
        c2  poll  -> ok k=a@0
    """)
    (row,) = backward_steps(h, polls_between)
    assert (row.first_op, row.second_op, row.size) == (0, 1, 0)


def test_sends_appended_in_the_opposite_order_are_found() -> None:
    h = history("""
        p1  send k=a  -> info
        p1  send k=b  -> ok @3
        p2  send k=c  -> ok @0
        c1  poll      -> ok k=b@3 k=a@5
    """)
    (row,) = backward_steps(h, sends_between)
    assert (row.first_value, row.second_value, row.size) == ("a", "b", 2)


def test_a_rebalance_permits_a_subscriber_to_go_back() -> None:
    permits = {anomaly.id: set(anomaly.permits) for anomaly in ANOMALIES}
    assert permits.pop("nonmonotonic-poll") == {SUBSCRIBE}
    assert set(permits) == {"int-nonmonotonic-poll", "int-nonmonotonic-send", "nonmonotonic-send"}
    assert not any(permits.values())
