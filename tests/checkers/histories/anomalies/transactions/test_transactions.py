"""The analysis finds the same anomalies of transactions and groups as the literal definitions.

The result does not depend on how the history is partitioned.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkers.histories.analysis import analyze
from checkers.histories.anomalies.groups import pipelines
from checkers.histories.anomalies.transactions import transactions
from checkers.histories.columnar.rows import as_rows
from checkers.histories.deciding import decide
from checkers.histories.io.operation_rows import as_table
from model.histories import History
from model.history_notation import history
from properties.anomalies.catalogue import catalogue
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.transactions.zombie_write import zombie_writes
from tests.checkers.histories.mutated_histories import mutated, partitioned

CHECKERS = (*transactions.CHECKERS, *pipelines.CHECKERS)
IDS = tuple(name for family in CHECKERS for name in family.ids)


def assert_agrees(h: History, declared: Declarations, rng: random.Random) -> Counter[str]:
    """Asserts that the analysis and the literal definitions find the same anomalies.

    Returns the number of occurrences of each anomaly, by the anomaly's id.
    """
    observed = decide(partitioned(h, rng), IDS, declared, rng.randrange(1, 4))
    complete, found = declared.applied(h), Counter[str]()
    assert not observed.broken
    for anomaly in catalogue(declared):
        if anomaly.id in IDS:
            by_kernel = observed.anomalies[anomaly.id]
            rows = anomaly.find(complete)
            assert tuple(sorted(as_rows(by_kernel.rows, anomaly.row))) == rows
            assert by_kernel.observations == anomaly.observed(complete)
            found[anomaly.id] += len(rows)
    return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(seed=st.integers(0, 10**9))
def test_kernels_agree_with_the_literal_definitions(seed: int) -> None:
    rng = random.Random(f"declared {seed}")
    declared = Declarations(
        isolation=rng.choice(["read_committed", "read_committed", "read_uncommitted"]),
        compacted=frozenset({"o"} if rng.random() < 0.1 else ()),
    )
    assert_agrees(mutated(seed), declared, rng)


TORN = """
    t1  txn k=a j=b i=c                           -> %s
    c1  poll                                      -> ok j=b@0
    c1  poll                                      -> ok i=c@0
    p1  send k=d                                  -> ok @7
    c2  end_offset{isolation=read_uncommitted} k  -> ok @5
    p1  send k=e                                  -> ok @9
    c1  poll                                      -> ok k=d@7
"""
FAILED_BEFORE = """
    t0  txn k=a                                   -> fail @4
"""
BEFORE_ITS_FIRST_READ = """
    t1  txn k=a j=b   -> info
    p1  send k=c      -> ok @9
    c1  poll          -> ok j=b@0
    c1  poll          -> ok k=c@9
"""
LOCATED_BY_A_DIRTY_READ = """
    t1  txn k=a j=b                       -> ok @? @0
    c1  poll                              -> ok j=b@0
    c2  poll{isolation=read_uncommitted}  -> ok k=a@1
    p1  send k=c                          -> ok @3
    c1  poll                              -> ok k=c@3
"""
EARLY = """
    t1  txn{end=30} k=a ...
    c1  poll             -> ok k=a@0
    t1  ...              -> ok @0
"""
ZOMBIE = """
    t1  init_producer{id=x}  -> ok
    t2  init_producer{id=x}  -> ok
    t3  init_producer{id=x}  -> ok
    t1  txn{id=x} k=a        -> ok @0
    t2  txn{id=x} k=b j=c    -> info @1
    c1  poll                 -> ok j=c@1
"""


BACKWARDS = """
    c1  commit_offset{group=g} +k@5                          -> ok
    c1  commit_offset{group=g} +k@3                          -> ok
    c1  commit_offset{group=g} +k@4                          -> ok
    c1  commit_offset{group=g} +k@7                          -> ok
    c2  fetch_offset{group=g} k                              -> ok @3
    c2  fetch_offset{group=g,isolation=read_uncommitted} k   -> ok @none
    c1  commit_offset{group=g} +k@6                          -> %s
    c2  fetch_offset{group=g} k                              -> ok @6
"""
HALF = """
    c1  fetch_offset{group=g} i j             -> ok @none @none
    t1  txn{id=x,group=g} o=a q=b +i@1 +j@1   -> info i=m@0
    c2  poll                                  -> ok q=b@0
    c1  fetch_offset{group=g} i j             -> ok @1 @none
    p1  send o=z                              -> ok @3
    c2  poll                                  -> ok o=z@3
    t2  txn{id=x,group=g} o=d +i@9            -> fail i=m@8
    c1  fetch_offset{group=g} i               -> ok @9
    c1  fetch_offset{group=g} i               -> ok @8
"""

PIPELINE = """
    p1  send i=m i=n i=l i=k             -> ok @0 @1 @2 @3
    t1  txn{id=x,group=g} o=a +i@1       -> fail i=m@0
    t1  txn{id=x,group=g} o=b +i@2       -> ok i=n@1
    t2  txn{id=x,group=g} o=c +i@3       -> ok i=n@1 i=l@2
    c1  commit_offset{group=g} +i@%d     -> ok
    t2  txn{id=x,group=g} o=d +i@3       -> ok i=n@1 i=l@2
    t3  txn{id=x,group=g}                -> never
    t2  txn{id=x,group=g} o=e +i@5       -> ok
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (TORN % "ok @? @0 @0", {"torn-transaction": 1}),
        (FAILED_BEFORE + TORN % "ok @? @0 @0", {"torn-transaction": 1}),
        (TORN % "ok @1 @0 @0", {"torn-transaction": 1}),
        (TORN % "info", {"torn-transaction": 1}),
        (TORN % "fail", {}),
        (BEFORE_ITS_FIRST_READ, {}),
        (LOCATED_BY_A_DIRTY_READ, {"torn-transaction": 1}),
        (EARLY, {"open-transaction-read": 1}),
        (ZOMBIE, {"zombie-write": 2}),
        (PIPELINE % 0, {"input-processed-twice": 1, "input-skipped": 1}),
        (PIPELINE % 2, {"input-processed-twice": 2}),
        (BACKWARDS % "ok", {"group-offset-went-backwards": 2}),
        (
            BACKWARDS % "fail",
            {"group-offset-went-backwards": 3, "group-offset-moved-without-commit": 1},
        ),
        (
            HALF,
            {
                "torn-transaction": 1,
                "output-without-offset": 1,
                "offset-without-output": 1,
                "aborted-offset-read": 1,
                "group-offset-moved-without-commit": 1,
                "group-offset-went-backwards": 1,
            },
        ),
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_small_histories_show_the_expected_anomalies(
    text: str, found: dict[str, int], seed: int
) -> None:
    assert +assert_agrees(history(text), NOTHING_DECLARED, random.Random(seed)) == found


def test_a_zombie_write_is_found_although_the_newer_producer_begins_again() -> None:
    h = history("""
        t1  init_producer{id=x}  -> ok
        t2  init_producer{id=x}  -> ok
        t1  txn{id=x} k=a        -> ok @0
        t2  init_producer{id=x}  -> ok
    """)
    (found,) = analyze(as_table(h), anomalies=("zombie-write",)).decisions
    assert found.worst == zombie_writes(h)
    assert found.count == 1


def test_a_record_that_another_transaction_sent_again_is_not_one_of_the_fenced_alone() -> None:
    first, *others = history("""
        t1  txn{id=x} k=a   -> fail
        t2  txn{id=x} k=a   -> info
        c1  poll            -> ok k=a@1
    """)
    h = (replace(first, error="ProducerFenced"), *others)
    assert not +assert_agrees(h, NOTHING_DECLARED, random.Random(1))
    alone = (h[0], replace(h[1], outcome="fail", error="ProducerFenced"), *h[2:])
    found = assert_agrees(alone, NOTHING_DECLARED, random.Random(1))
    assert found["fenced-transaction-read"] == 1
