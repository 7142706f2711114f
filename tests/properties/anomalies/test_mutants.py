"""Transactions with a faulty broker or client show exactly the expected anomalies.

Each history has a few operations and one defect, such as `a zombie is not fenced`.
"""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.catalogue import catalogue
from properties.anomalies.declarations import NOTHING_DECLARED

MUTANTS = {
    # a late commit of an earlier transaction commits the records that the open one has so far
    "a delayed commit hits the next transaction": (
        """
        t1  txn{id=x} k=a              -> fail @0
        t1  txn{id=x,end=60} k=b j=c   ...
        c1  poll                       -> ok k=b@2
        p1  send j=d                   -> ok @5
        t1  ...                        -> fail @2 @3
        c1  poll                       -> ok j=d@5
        """,
        {"G1a", "open-transaction-read"},
    ),
    "a delayed commit hits a part of the next transaction, whose end nobody learns": (
        """
        t1  txn{id=x} k=a              -> fail @0
        t1  txn{id=x} k=b j=c          -> info @2 @3
        p1  send j=d                   -> ok @5
        c1  poll                       -> ok k=b@2 j=d@5
        """,
        {"torn-transaction", "lost-write"},
    ),
    # a late abort of an earlier transaction aborts one that its client saw commit
    "a delayed abort hits the next transaction": (
        """
        t1  txn{id=x} k=a              -> fail @0
        t1  txn{id=x} k=b j=c          -> ok @2 @0
        p1  send k=d j=e               -> ok @4 @2
        c1  poll                       -> ok k=d@4 j=e@2
        """,
        {"lost-write", "unseen"},
    ),
    # a record that arrives after its transaction's abort marker is committed with the next one
    "a late record joins the next transaction": (
        """
        t1  txn{id=x,end=12} k=a j=b   -> fail @? @0
        t1  txn{id=x,end=22} k=c       -> ok @2
        c1  poll                       -> ok k=a@1 k=c@2
        """,
        {"G1a"},
    ),
    "a marker is written to some partitions only": (
        """
        t1  txn{id=x} k=a j=b          -> ok @0 @0
        p1  send k=c                   -> ok @2
        c1  poll                       -> ok j=b@0 k=c@2
        """,
        {"torn-transaction", "lost-write", "unseen"},
    ),
    "a zombie is not fenced": (
        """
        t1  init_producer{id=x}         -> ok
        p1  send i=m                    -> ok @0
        t2  init_producer{id=x}         -> ok
        t2  fetch_offset{group=g} i     -> ok @none
        t2  txn{id=x,group=g} o=a +i@1  -> ok @0 i=m@0
        t1  txn{id=x,group=g} o=b +i@1  -> ok @2 i=m@0
        c1  poll                        -> ok o=a@0 o=b@2
        """,
        {"zombie-write", "input-processed-twice"},
    ),
    "offsets are committed though their transaction aborted": (
        """
        p1  send i=m i=n                -> ok @0 @1
        t1  fetch_offset{group=g} i     -> ok @none
        t1  txn{id=x,group=g} o=a +i@1  -> fail @0 i=m@0
        t1  fetch_offset{group=g} i     -> ok @1
        t1  txn{id=x,group=g} o=b +i@2  -> ok @2 i=n@1
        c1  poll                        -> ok o=b@2 i=m@0 i=n@1
        """,
        {"aborted-offset-read", "input-skipped", "stale-group-offset"},
    ),
    "offsets are not committed though their transaction was": (
        """
        p1  send i=m                    -> ok @0
        t1  txn{id=x,group=g} o=a +i@1  -> ok @0 i=m@0
        c1  poll                        -> ok o=a@0
        t1  fetch_offset{group=g} i     -> ok @none
        t1  txn{id=x,group=g} o=b +i@1  -> ok @2 i=m@0
        c1  poll                        -> ok o=b@2
        """,
        {
            "output-without-offset",
            "group-offset-went-backwards",
            "stale-group-offset",
            "input-processed-twice",
            "nonmonotonic-poll",
        },
    ),
    "the consumer's position is not taken back after an abort": (
        """
        p1  send i=m i=n                -> ok @0 @1
        t1  fetch_offset{group=g} i     -> ok @0
        t1  txn{id=x,group=g} o=a +i@1  -> fail @0 i=m@0
        t1  txn{id=x,group=g} o=b +i@2  -> ok @2 i=n@1
        c1  poll                        -> ok o=b@2 i=m@0 i=n@1
        """,
        {"input-skipped"},
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_each_known_defect_shows_its_anomalies(mutant: str) -> None:
    text, shown = MUTANTS[mutant]
    h = history(text)
    assert [one.id for one in ASSUMPTIONS if one.find(h)] == []
    forbidden = [
        it
        for it in catalogue(NOTHING_DECLARED)
        if not NOTHING_DECLARED.conditions() & set(it.permits)
    ]
    assert {one.id for one in forbidden if one.find(h)} == shown
