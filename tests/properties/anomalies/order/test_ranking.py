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


def test_clojures_hash_set_has_this_order() -> None:
    ten = [str(number) for number in range(10)]
    order: list[str] = []
    while ten:
        order.append(ranked(ten))
        ten.remove(order[-1])
    assert order == ["0", "7", "1", "4", "6", "3", "2", "9", "5", "8"]  # (seq (set (range 10)))


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
