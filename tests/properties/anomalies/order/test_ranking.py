"""If an offset has several values, the analysis orders records by the value that Jepsen uses."""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.order.ranking import ranked, ranks


@pytest.mark.parametrize(
    ("values", "first"),
    [  # as jepsen.tests.kafka ranks them in the samples
        ({"23", "24"}, "24"),
        ({"0", "1"}, "0"),
        ({"1", "2"}, "1"),
        ({"0", "2"}, "0"),
        ({"9", "10"}, "9"),
    ],
)
def test_the_first_integer_of_clojures_hash_set_ranks(values: set[str], first: str) -> None:
    assert ranked(values) == first


@pytest.mark.parametrize(
    "order",
    [
        "0 7 1 4 6 3 2 9 5 8",
        "0 7 20 27 1 24 4 15 21 13 22 6 28 25 17 3 12 2 23 19 11 9 5 14 26 16 10 18 8",
    ],
)
def test_clojures_hash_set_has_this_order(order: str) -> None:
    left = order.split()  # (seq (set (range n)))
    for first in order.split():
        assert ranked(sorted(left)) == first
        left.remove(first)


def test_the_least_of_other_values_ranks() -> None:
    assert ranked({"b", "10", "9"}) == "10"


def test_a_value_ranks_at_its_last_own_offset() -> None:
    h = history("""
        p1  send k=a  -> ok @3
        c1  poll      -> ok k=a@0 k=b@3 k=c@5
        c2  poll      -> ok k=a@4 k=b@4
        c3  poll      -> ok k=b@5
    """)
    assert ranks(h) == {("k", "a"): 4, ("k", "b"): 5}
