"""The catalogue is complete, and its names forgive."""

from __future__ import annotations

import pytest

from model.faults import UnknownName
from model.history_notation import history
from properties.anomalies.anomaly import Anomaly, worst_first
from properties.anomalies.catalogue import definitions, named
from properties.anomalies.declared import NOTHING

EVERYTHING_WRONG = history("""
    p1  send k=a      -> ok @5
    p2  send k=b      -> ok @3
    p2  send k=c      -> ok @3
    c1  end_offset k  -> ok @2
    c1  poll          -> ok k=b@3 k=b@7 k=d@8
    p3  send k=d      -> ok @8
    p4  send k=e      -> fail
    t1  txn t-0=f     -> ok @9 t-0=f@9 t-1=f@9 k=e@9
    p5  txn k=g k=i   -> ok @20 @22
    p5  txn k=h k=j   -> ok @21 @10
    c2  poll          -> ok k=d@8 k=i@22 k=d@8
    c2  poll          -> ok k=i@22
    c2  poll          -> ok k=j@10
""")


@pytest.mark.parametrize("anomaly", definitions(NOTHING), ids=lambda anomaly: anomaly.id)
def test_each_anomaly_is_found_counted_and_explained(anomaly: Anomaly) -> None:
    rows = anomaly.find(EVERYTHING_WRONG)
    assert rows
    assert anomaly.observed(EVERYTHING_WRONG) >= 1
    for row in rows:
        assert isinstance(row, anomaly.row)
        assert row.key in anomaly.explain(row, dict(enumerate(EVERYTHING_WRONG)))


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    h = history("p1 send k=a -> ok @0\nc1 poll -> ok k=a@0")
    assert {a.id: a.find(h) for a in definitions(NOTHING) if a.find(h)} == {}


def test_nothing_is_observed_in_an_empty_history() -> None:
    assert {anomaly.observed(()) for anomaly in definitions(NOTHING)} == {0}


def test_a_name_that_nothing_has_lists_the_nearest() -> None:
    assert [anomaly.id for anomaly in named(("lost-write", "duplicate"))] == [
        "duplicate",
        "lost-write",
    ]
    with pytest.raises(UnknownName, match="lost-write"):
        named(("lost-wirte",))


def test_the_worst_row_comes_first() -> None:
    (anomaly,) = named(("offset-order-inversion",))
    h = history("p1 send k=a -> ok @9\np1 send k=b -> ok @7\np1 send k=c -> ok @2")
    rows = worst_first(anomaly.find(h))
    assert [row.size for row in rows] == [7, 2]
