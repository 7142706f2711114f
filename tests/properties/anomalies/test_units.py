"""The observations of an anomaly count the events that could have shown it, and no others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.histories.analysis import analyze
from checkers.histories.io.operation_rows import as_table
from model.histories import History
from model.history_notation import history
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.catalogue import BY_ID, catalogue
from properties.anomalies.declarations import Declarations
from tests.checkers.histories.random_histories import PIPELINES, random_history

EVERYTHING = Declarations(ww_deps=True, rw_deps=True)

# anomaly; history that cannot show it; operations to append; observations that these add
UNITS = [
    (
        "G1a",
        """
        p1  txn k=a k=b  -> ok @0 @1
        p1  txn j=c      -> fail
        c1  poll         -> ok k=a@0 k=b@1
        """,
        "p2  txn k=d k=e  -> fail",
        2,  # the readers of k could receive d and e; nobody reads j
    ),
    (
        "fenced-transaction-read",
        """
        p1  txn j=c      -> fail
        c1  poll         -> ok k=a@0
        """,
        "p2  txn k=d k=e  -> fail",
        2,
    ),
    (
        "duplicate",
        "p1  send k=a  -> ok @0",
        "c1  poll      -> ok k=a@0 k=a@0",
        1,  # a reader could find a again
    ),
    (
        "duplicate-across-keys",
        """
        p1  send t-0=a  -> ok @0
        c1  poll        -> ok t-0=a@0 u-0=b@0
        """,
        "p1  send t-1=c  -> ok @0",
        1,  # t has a second partition now; u has one
    ),
    (
        "inconsistent-offsets",
        """
        p1  send k=a  -> ok @0
        c1  poll      -> ok k=b@1
        """,
        "c2  poll      -> ok k=a@0",
        1,
    ),
    (
        "precommitted-read",
        "t1  txn k=a  -> ok @0 j=b@1",
        "t1  txn k=c  -> ok @1 k=a@0",
        1,
    ),
    (
        "future-read",
        "c1  poll      -> ok k=a@0",
        """
        p1  send k=b  -> ok @1
        c1  poll      -> ok k=b@1
        """,
        1,  # nobody sent a
    ),
    (
        "zombie-write",
        """
        t1  init_producer{id=x}  -> ok
        t1  txn{id=x} k=a        -> ok @0
        t2  init_producer{id=x}  -> ok
        """,
        "t1  txn{id=x} k=b        -> fail",
        1,
    ),
    (
        "stale-group-offset",
        "c1  fetch_offset{group=g} k  -> ok @3",
        """
        c1  fetch_offset{group=g} j  -> ok @3
        c1  commit_offset{group=h} +k@5  -> ok
        c2  fetch_offset{group=g} k  -> ok @3
        c2  fetch_offset{group=h} k  -> ok @5
        """,
        2,
    ),
    (
        "group-offset-went-backwards",
        """
        c1  fetch_offset{group=g} k  -> ok @none
        c1  fetch_offset{group=g} k  -> ok @3
        """,
        "c1  fetch_offset{group=g} k  -> ok @3",
        1,
    ),
    (
        "aborted-offset-read",
        """
        c2  fetch_offset{group=g} k  -> ok @3
        t1  txn{group=g} +k@5 +j@6   -> fail
        """,
        "c2  fetch_offset{group=g} k  -> ok @3",
        1,  # nobody fetches the offset of j
    ),
    (
        "G1b",
        """
        t1  txn k=a k=b j=c  -> ok @0 @1 @0
        c1  poll             -> ok k=b@1 k=x@3 j=c@0 j=y@2
        c2  poll             -> ok k=a@0
        """,
        "c2  poll             -> ok k=b@1",
        1,  # no other step begins before the last record of a transaction
    ),
    (
        "G1c",
        """
        t1  txn k=a          -> ok @0
        t2  txn j=b          -> ok @0 k=a@0
        c1  poll             -> ok j=b@0
        """,
        "t3  txn i=c          -> ok @0 j=b@0",
        1,  # t2 polls and sends, and so does t3
    ),
    (
        "G1c-process",
        """
        p1  send k=a         -> ok @0
        c1  poll             -> ok k=a@0
        t1  txn j=b          -> ok @0 k=a@0
        c2  poll             -> ok j=b@0
        """,
        """
        p1  poll             -> ok j=b@0
        p1  send j=c         -> ok @1
        """,
        1,  # b is from an operation that polled, to a process that sent later
    ),
    (
        "torn-transaction",
        """
        t1  txn k=a j=b      -> ok @0 @0
        t2  txn k=c          -> ok @2
        c1  poll             -> ok k=a@0 k=c@2
        """,
        "c1  poll             -> ok j=b@0",
        1,  # before, no reader had read as far as b
    ),
    (
        "offset-without-output",
        """
        c1  fetch_offset{group=g} k  -> ok @3
        t1  txn{group=g} +k@5 j=a    -> ok @0
        c1  fetch_offset{group=g} k  -> ok @5
        """,
        "c2  poll             -> ok j=a@0",
        1,  # before, no reader had read as far as a
    ),
]


def of_fenced(h: History) -> History:
    return tuple(replace(it, error="PRODUCER_FENCED") if it.outcome == "fail" else it for it in h)


@pytest.mark.parametrize(("name", "silent", "more", "count"), UNITS, ids=[it[0] for it in UNITS])
def test_events_that_could_show_the_anomaly_are_counted(
    name: str, silent: str, more: str, count: int
) -> None:
    observed = BY_ID[name].observed
    assert observed(of_fenced(history(silent))) == 0
    assert observed(of_fenced(history(f"{silent.rstrip()}\n{more}"))) == count


@pytest.mark.parametrize(("name", "silent", "more", "count"), UNITS, ids=[it[0] for it in UNITS])
def test_a_history_that_cannot_show_the_anomaly_has_not_exercised_it(
    name: str, silent: str, more: str, count: int
) -> None:
    for text, expected in ((silent, 0), (f"{silent.rstrip()}\n{more}", count)):
        h = of_fenced(history(f"{text.rstrip()}\ny1  send y=1  -> ok @0"))  # shows something
        (decision,) = [it for it in analyze(as_table(h)).decisions if it.anomaly.id == name]
        assert decision.observations == expected
        assert decision.verdict == ("holds" if expected else "not exercised")


def test_each_violation_is_one_of_the_observations() -> None:
    for seed in range(40):
        h = EVERYTHING.applied(random_history(seed, fs=PIPELINES))
        if any(one.find(h) for one in ASSUMPTIONS):
            continue
        for one in catalogue(EVERYTHING):
            if one.find(h):
                assert one.observed(h), (seed, one.id)
