"""Each anomaly of the catalogue is found; the error for an unknown name lists the nearest names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.faults import UnknownName
from model.history_notation import history
from properties.anomalies.anomaly import Anomaly, worst_first
from properties.anomalies.catalogue import catalogue, named
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations

EVERYTHING_WRONG = history("""
    p1  send k=a      -> ok @5
    p2  send k=b      -> ok @3
    p2  send k=c      -> ok @3
    c1  end_offset k  -> ok @2
    p1  send h=a      -> ok @5
    c1  end_offset h  -> ok @2
    c1  poll          -> ok k=b@3 k=b@7 k=d@8
    p3  send k=d      -> ok @8
    p4  send k=e      -> fail
    t1  txn t-0=f     -> ok @9 t-0=f@9 t-1=f@9 k=e@9
    p5  txn k=g k=i   -> ok @20 @22
    p5  txn k=h k=j   -> ok @21 @10
    c2  poll          -> ok k=d@8 k=i@22 k=d@8
    c2  poll          -> ok k=i@22
    c2  poll          -> ok k=j@10

    q1  txn x=1 y=4   ...
    q2  txn x=2 y=3   ...
    q1  ...           -> ok @0 @1
    q2  ...           -> ok @1 @0

    r1  txn x=5       ...
    r2  txn y=6       ...
    r1  ...           -> ok @2 y=6@2
    r2  ...           -> ok @2 x=5@2

    s1  send x=7      -> ok @4
    s1  send x=8      -> ok @3

    s2  poll          -> ok x=9@5
    s2  send x=9      -> ok @5

    s3  send x=10     -> ok @7
    s4  send x=11     -> ok @6

    s5  poll          -> ok x=12@8
    s6  send x=12     -> ok @8

    s7  txn z=1 y=7   -> ok @0 @3
    s8  poll          -> ok y=7@3
    s9  txn z=2 y=8   -> ok @1 @4
    s8  poll          -> ok z=1@0 y=8@4

    v1  txn z=3       ...
    v2  txn y=9       ...
    v1  ...           -> ok @2 y=8@4
    v2  ...           -> ok @5 z=2@1

    w1  txn u=1 u=2   -> ok @0 @1
    w2  send u=3      -> ok @2
    w3  poll          -> ok u=1@0 u=3@2

    i1  init_producer{id=z}         -> ok
    i2  init_producer{id=z}         -> ok
    p1  send i=1 i=2 i=3            -> ok @0 @1 @2
    i1  txn{id=z,group=g} o=1 +i@1  -> ok @0 i=1@0
    i2  txn{id=z,group=g} o=2 +i@3  -> ok @2 i=1@0 i=3@2
    c3  poll                        -> ok o=1@0 o=2@2
    c4  fetch_offset{group=g} i     -> ok @none
    c4  fetch_offset{group=g} i     -> ok @9
    i3  txn{id=f,group=g} m=1 +i@5  -> fail i=4@4
    c3  poll                        -> ok m=1@0
    c4  fetch_offset{group=g} i     -> ok @5
    i4  txn{id=y,group=g} n=1 +i@6  -> info i=5@5
    c4  fetch_offset{group=g} i     -> ok @6
    p2  send n=2                    -> ok @1
    c3  poll                        -> ok n=2@1
    i5  txn{end=9999} m=2 n=3       ...
    c3  poll                        -> ok m=2@2 n=5@5
    i5  ...                         -> ok @2 @3
    p3  send n=5                    -> ok @5
""")
EVERYTHING_WRONG = tuple(
    replace(operation, error="PRODUCER_FENCED") if operation.transactional_id == "f" else operation
    for operation in EVERYTHING_WRONG
)
EVERYTHING = Declarations(ww_deps=True, rw_deps=True)


@pytest.mark.parametrize("anomaly", catalogue(EVERYTHING), ids=lambda anomaly: anomaly.id)
def test_each_anomaly_is_found_counted_and_explained(anomaly: Anomaly) -> None:
    rows = anomaly.find(EVERYTHING_WRONG)
    assert rows
    assert anomaly.observed(EVERYTHING_WRONG) >= 1
    for row in rows:
        assert isinstance(row, anomaly.row)
        text = anomaly.explain(row, dict(enumerate(EVERYTHING_WRONG)))
        assert row.ops
        assert all(f"operation {op}," in text for op in row.ops)


def test_a_correct_history_has_no_anomaly() -> None:
    h = history("p1 send k=a -> ok @0\nc1 poll -> ok k=a@0")
    assert {a.id: a.find(h) for a in catalogue(NOTHING_DECLARED) if a.find(h)} == {}


def test_an_empty_history_has_no_observations() -> None:
    assert {anomaly.observed(()) for anomaly in catalogue(NOTHING_DECLARED)} == {0}


def test_an_unknown_name_lists_the_nearest() -> None:
    assert [anomaly.id for anomaly in named(("lost-write", "duplicate"))] == [
        "duplicate",
        "lost-write",
    ]
    with pytest.raises(UnknownName, match="lost-write"):
        named(("lost-wirte",))


def test_the_largest_row_comes_first() -> None:
    (anomaly,) = named(("offset-order-inversion",))
    h = history("p1 send k=a -> ok @9\np1 send k=b -> ok @7\np1 send k=c -> ok @2")
    rows = worst_first(anomaly.find(h))
    assert [row.size for row in rows] == [7, 2]
