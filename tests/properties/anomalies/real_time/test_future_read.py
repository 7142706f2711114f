"""A poll returns no record before a client began to send it."""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.real_time.future_read import FutureRead, explain, future_reads, observed


def test_a_poll_that_ended_before_the_send_began_is_found() -> None:
    h = history("""
        c1  poll      -> ok k=a@0
        c2  poll      -> ok k=a@0
        p1  send k=a  -> ok @0
    """)
    assert future_reads(h) == (
        FutureRead(key="k", value="a", reader_op=0, sender_op=2, early_ns=15),
    )
    assert observed(h) == 2
    (row,) = future_reads(h)
    assert explain(row, dict(enumerate(h))).splitlines()[0] == (
        "key k: a had been polled by 0.000015 ms; the first operation that sent it began after "
        "that, at 0.000030 ms."
    )


@pytest.mark.parametrize("ended", ["-> info", "-> fail", "-> never"])
def test_the_outcome_of_the_send_does_not_matter(ended: str) -> None:
    assert future_reads(history(f"c1 poll -> ok k=a@0\np1 send k=a {ended}"))


@pytest.mark.parametrize(
    "text",
    [
        "p1 send k=a ...\nc1 poll -> ok k=a@0\np1 ... -> ok @0",  # they overlap
        "c1 poll -> ok k=a@0\np1 send j=a -> ok @0",  # another key
        "c1 poll -> ok k=a@0",  # without a send
        "c1 poll -> fail k=a@0\np1 send k=a -> ok @0",  # the poll did not end ok
        "p1 send k=a -> fail\nc1 poll -> ok k=a@0\np1 send k=a -> ok @0",  # sent before, and again
    ],
)
def test_a_poll_that_may_follow_the_send_is_not_found(text: str) -> None:
    assert future_reads(history(text)) == ()
