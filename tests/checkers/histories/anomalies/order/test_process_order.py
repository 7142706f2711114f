"""The analysis finds the same skipped offsets and backward moves as the literal definitions.

A process may skip offsets or move backward between two consecutive polls, or between two
consecutive sends. The definitions are in `properties.anomalies.order`.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from checkers.histories.anomalies.order.assignments import assignments, assignments_without
from checkers.histories.anomalies.order.process_order import ANOMALIES
from checkers.histories.io.operation_rows import as_table
from checkers.histories.plan.batch import Batch
from model.histories import History
from model.history_notation import history
from properties.anomalies.declarations import NOTHING_DECLARED, SUBSCRIBE, Declarations
from tests.checkers.histories.drawn_histories import (
    CUTS,
    DECLARED,
    analysed,
    assert_agrees,
    histories,
)

JEPSEN = Declarations(jepsen=True)
SKIPS_AND_REPEATS = history("""
    p1  send k=a k=b k=c  -> ok @0 @1 @2
    c1  poll              -> ok k=a@0
    c1  poll              -> ok k=c@2
    c1  poll              -> ok k=a@0
""")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(h=histories(), declared=DECLARED, at=CUTS)
def test_kernels_agree_with_the_literal_definitions(
    h: History, declared: Declarations, at: list[int]
) -> None:
    assert_agrees(h, ANOMALIES, declared, at)


@pytest.mark.parametrize("at", [[], [1], [2], [3], [1, 2, 3]])
def test_steps_cross_batches(at: list[int]) -> None:
    assert_agrees(SKIPS_AND_REPEATS, ANOMALIES, NOTHING_DECLARED, at)
    analysis = analysed(SKIPS_AND_REPEATS, ANOMALIES, NOTHING_DECLARED, at)
    found = {d.anomaly.id: d.count for d in analysis.decisions}
    assert (found["poll-skip"], found["nonmonotonic-poll"]) == (1, 1)


@pytest.mark.parametrize("at", [[], [2], [3], [2, 3]])
@pytest.mark.parametrize(("left", "skips"), [("k j", 1), ("j", 0), ("-", 0)])
def test_an_assignment_in_another_batch_separates_steps_of_the_key_it_leaves_out(
    at: list[int], left: str, skips: int
) -> None:
    h = history(f"""
        p1  send k=a k=b k=c  -> ok @0 @1 @2
        c1  poll              -> ok k=a@0
        c1  assign {left}     -> ok
        c1  poll              -> ok k=c@2
    """)
    assert_agrees(h, ANOMALIES, NOTHING_DECLARED, at)
    assert analysed(h, ("poll-skip",), NOTHING_DECLARED, at).decisions[0].count == skips


@pytest.mark.parametrize("at", [[], [1], [2]])
@pytest.mark.parametrize(("rebalanced", "wrong"), [("", 4), ("~k", 2), ("~j", 2), ("~k ~j", 0)])
def test_a_rebalance_during_a_poll_separates_the_polls_of_its_key(
    at: list[int], rebalanced: str, wrong: int
) -> None:
    h = history(f"""
        p1  send k=a k=b k=c j=d j=e j=f  -> ok @0 @1 @2 @0 @1 @2
        c1  poll  -> ok k=a@0 j=d@0 k=c@2 j=f@2 k=a@0 j=d@0 {rebalanced}
        c1  poll  -> ok k=b@1 j=e@1
    """)
    assert_agrees(h, ANOMALIES, NOTHING_DECLARED, at)
    inside = ("int-poll-skip", "int-nonmonotonic-poll")
    assert sum(d.count for d in analysed(h, inside, NOTHING_DECLARED, at).decisions) == wrong


@pytest.mark.parametrize("at", [[], [2], [3]])
def test_a_poll_skips_no_record_below_the_log_start(at: list[int]) -> None:
    h = history("""
        p1  send k=a k=b k=c k=d  -> ok @0 @1 @2 @3
        c1  poll                  -> ok k=a@0
        c2  start_offset k        -> ok @3
        c1  poll                  -> ok k=d@3
    """)
    assert_agrees(h, ANOMALIES, NOTHING_DECLARED, at)
    assert analysed(h, ("poll-skip",), NOTHING_DECLARED, at).decisions[0].count == 0


@pytest.mark.parametrize("at", [[], [1], [2], [1, 2]])
@pytest.mark.parametrize(("declared", "count"), [(NOTHING_DECLARED, 0), (JEPSEN, 1)])
def test_in_jepsen_a_failed_send_ranks_where_its_value_was_acknowledged_later(
    at: list[int], declared: Declarations, count: int
) -> None:
    h = history("""
        p1  send k=b k=a  -> fail
        p1  send k=a k=b  -> ok @0 @1
    """)
    assert_agrees(h, ANOMALIES, declared, at)
    analysis = analysed(h, ("int-nonmonotonic-send",), declared, at)
    assert [d.count for d in analysis.decisions] == [count]


@pytest.mark.parametrize("at", [[], [1], [2], [3], [1, 2, 3, 4, 5]])
@pytest.mark.parametrize(("declared", "count"), [(NOTHING_DECLARED, 0), (JEPSEN, 1)])
def test_a_reader_of_both_copies_of_a_duplicate_shows_no_anomaly(
    at: list[int], declared: Declarations, count: int
) -> None:
    h = history("""
        p1  send k=a k=b  -> ok @0 @1
        c1  poll          -> ok k=a@0
        c1  poll          -> ok k=b@1
        c1  poll          -> ok k=a@2
    """)
    assert_agrees(h, ANOMALIES, declared, at)
    analysis = analysed(h, ("nonmonotonic-poll", "poll-skip"), declared, at)
    assert sum(d.count for d in analysis.decisions) == count


@pytest.mark.parametrize("at", [[], [1], [2], [1, 2]])
@pytest.mark.parametrize(("declared", "count"), [(NOTHING_DECLARED, 0), (JEPSEN, 1)])
def test_a_reader_that_skips_an_aborted_record_shows_no_anomaly(
    at: list[int], declared: Declarations, count: int
) -> None:
    h = history("""
        p1  send k=b  -> fail
        c1  poll      -> ok k=a@0 k=b@1 k=c@2
        c2  poll      -> ok k=a@0 k=c@2
    """)
    assert_agrees(h, ANOMALIES, declared, at)
    analysis = analysed(h, ("int-poll-skip",), declared, at)
    assert [d.count for d in analysis.decisions] == [count]


def test_a_dirty_read_does_not_show_what_a_reader_at_read_committed_skips() -> None:
    h = history("""
        p1  send k=a k=b k=c                  ...
        c2  poll{isolation=read_uncommitted}  -> ok k=b@1
        p1  ...                               -> ok @0 @1 @2
        c1  poll                              -> ok k=a@0 k=c@2
    """)
    assert_agrees(h, ("int-poll-skip",), NOTHING_DECLARED, [])


def test_a_skip_explained_by_a_rebalance_is_permitted_for_subscribers() -> None:
    subscribed = Declarations(sub_via=frozenset({"subscribe"}))
    for declared, code in ((NOTHING_DECLARED, 1), (subscribed, 0)):
        analysis = analysed(SKIPS_AND_REPEATS, ("poll-skip", "nonmonotonic-poll"), declared, [])
        assert analysis.exit_code == code
        assert all(d.verdict == "violated" for d in analysis.decisions)
        assert [d.permitted for d in analysis.decisions] == [code == 0] * 2
        permits = [d.anomaly.permits[SUBSCRIBE] for d in analysis.decisions]
        assert [d.reason for d in analysis.decisions] == (permits if code == 0 else [None, None])


def test_assignments_without_a_key_are_counted() -> None:
    batch = Batch(
        as_table(
            history("""
                c1  assign k j  -> ok
                c1  assign j    -> info
                c1  assign -    -> fail
                c2  assign -    -> ok
                c1  assign -    -> ok
            """)
        )
    )
    decided = Batch(assignments(batch))
    key = batch.fingerprints("key")[:2]  # of k, of j
    for op, expected in ((0, [0, 0]), (1, [0, 0]), (2, [1, 0]), (4, [1, 0]), (5, [2, 1])):
        process, at = np.zeros(2, dtype=np.int64), np.full(2, op)
        assert assignments_without(decided, process, key, at).tolist() == expected
