"""The catalogue is complete, and its names forgive."""

from __future__ import annotations

import pytest

from model.faults import UnknownName
from model.history_notation import history
from properties.anomalies.anomaly import Anomaly, worst_first
from properties.anomalies.catalogue import CATALOGUE, named

EVERYTHING_WRONG = history("""
    p1  send k=a      -> ok @5
    p2  send k=b      -> ok @3
    p2  send k=c      -> ok @3
    c1  end_offset k  -> ok @2
    c1  poll          -> ok k=b@3 k=b@7 k=d@8
    p3  send k=d      -> ok @8
""")


@pytest.mark.parametrize("anomaly", CATALOGUE, ids=lambda anomaly: anomaly.id)
def test_each_anomaly_is_found_counted_and_explained(anomaly: Anomaly) -> None:
    rows = anomaly.find(EVERYTHING_WRONG)
    assert rows
    assert anomaly.observed(EVERYTHING_WRONG) >= 1
    for row in rows:
        assert isinstance(row, anomaly.row)
        assert row.key in anomaly.explain(row, dict(enumerate(EVERYTHING_WRONG)))


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    h = history("p1 send k=a -> ok @0")
    assert [anomaly.find(h) for anomaly in CATALOGUE] == [()] * len(CATALOGUE)


def test_nothing_is_observed_in_an_empty_history() -> None:
    assert [anomaly.observed(()) for anomaly in CATALOGUE] == [0] * len(CATALOGUE)


def test_a_name_that_nothing_has_lists_the_nearest() -> None:
    assert [anomaly.id for anomaly in named(("lost-write", "duplicate"))] == [
        "duplicate",
        "lost-write",
    ]
    with pytest.raises(UnknownName, match="lost-write"):
        named(("lost-wirte",))


def test_the_worst_row_comes_first() -> None:
    (anomaly,) = named(("offset-order-inversion",))
    rows = worst_first(anomaly.find(EVERYTHING_WRONG))
    assert [row.size for row in rows] == sorted((row.size for row in rows), reverse=True)
    assert len(rows) == 2
