"""Each anomaly of the catalogue is found; the error for an unknown name lists the nearest names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.faults import UnknownName
from model.history_notation import history
from properties.anomalies.anomaly import Anomaly, worst_first
from properties.anomalies.catalogue import catalogue, named
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations

UNFENCED = history("""
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
    for operation in UNFENCED
)
EVERYTHING = Declarations(ww_deps=True, rw_deps=True)
# How often this history could have shown each anomaly, and the sizes of what it shows.
FOUND: dict[str, tuple[int, list[int]]] = {
    "offset-order-inversion": (25, [12, 2, 2, 1, 1, 1, 0, 0, 0, 0]),
    "stale-end-offset": (1, [4]),
    "future-read": (30, [15, 5, 5, 5]),
    "stale-group-offset": (4, [6, 4, 2]),
    "inconsistent-offsets": (22, [2]),
    "duplicate": (27, [2]),
    "duplicate-across-keys": (27, [2, 2]),
    "value-nobody-sent": (27, [1, 1, 1]),
    "lost-write": (37, [19, 17, 8, 7, 5, 4, 4, 3, 2, 2, 2, 1, 1, 1, 1]),
    "unseen": (40, [53, 51, 49, 43, 42, 38, 38, 37, 37, 34, 33, 30, 29, 22, 21, 20, 15, 1]),
    "G1a": (2, [1, 1]),
    "precommitted-read": (1, [1]),
    "int-poll-skip": (7, [3, 1, 1, 1]),
    "int-send-skip": (5, [1]),
    "poll-skip": (5, [3, 1]),
    "int-nonmonotonic-poll": (7, [14]),
    "int-nonmonotonic-send": (5, [11]),
    "nonmonotonic-poll": (5, [12]),
    "nonmonotonic-send": (3, [1, 1, 0]),
    "G0": (29, [-2, -2, -2]),
    "G1c": (8, [-2]),
    "G0-process": (29, [-2]),
    "G1c-process": (9, [-2]),
    "G0-realtime": (29, [-2]),
    "G1c-realtime": (29, [-2, -2, -2]),
    "G-single": (14, [-2, -2, -3]),
    "G2": (14, [-2]),
    "G1b": (1, [1]),
    "torn-transaction": (6, [2, 2, 1, 1]),
    "open-transaction-read": (14, [10]),
    "fenced-transaction-read": (1, [1]),
    "zombie-write": (1, [15]),
    "group-offset-went-backwards": (4, [4, 4]),
    "group-offset-moved-without-commit": (3, [8]),
    "aborted-offset-read": (1, [1]),
    "output-without-offset": (4, [4]),
    "offset-without-output": (1, [5]),
    "input-processed-twice": (2, [1]),
    "input-skipped": (3, [1]),
}


@pytest.mark.parametrize("anomaly", catalogue(EVERYTHING), ids=lambda anomaly: anomaly.id)
def test_each_anomaly_is_found_counted_and_explained(anomaly: Anomaly) -> None:
    rows = worst_first(anomaly.find(EVERYTHING_WRONG))
    observed = anomaly.observed(EVERYTHING_WRONG)
    assert (observed, [row.size for row in rows]) == FOUND[anomaly.id]
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
