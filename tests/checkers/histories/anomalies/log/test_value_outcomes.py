"""The analysis of log anomalies, such as `lost-write`, agrees with the literal definitions."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from model.histories import History
from model.history_notation import history
from properties.anomalies.declarations import NOTHING_DECLARED, UNFINISHED, Declarations
from tests.checkers.histories.drawn_histories import (
    CUTS,
    DECLARED,
    analysed,
    assert_agrees,
    histories,
)

ANOMALIES = (
    "inconsistent-offsets",
    "duplicate",
    "duplicate-across-keys",
    "value-nobody-sent",
    "lost-write",
    "unseen",
    "G1a",
    "precommitted-read",
)
EVERYTHING = history("""
    p1  send t-0=a                           -> ok @4
    p1  send t-0=b                           -> ok
    p1  send t-0=c                           -> ok @6
    p2  txn t-1=d t-1=f                      -> fail
    c1  poll                                 -> ok t-0=a@4 t-1=a@9 t-1=d@7 t-1=f@8
    t1  txn t-0=e                            -> ok @8 t-0=e@8
    c2  poll{isolation=read_uncommitted}     -> ok t-1=d@3 t-1=a@8
    p2  txn t-1=d                            -> info @20
    c2  start_offset t-0                     -> ok @5
    c3  poll                                 -> info t-1=a@10
""")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(h=histories(), declared=DECLARED, at=CUTS)
def test_kernels_agree_with_the_literal_definitions(
    h: History, declared: Declarations, at: list[int]
) -> None:
    assert_agrees(h, ANOMALIES, declared, at)


@pytest.mark.parametrize("at", [[], [1, 3], [2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]])
def test_bad_outcomes_are_found_for_any_split(at: list[int]) -> None:
    assert_agrees(EVERYTHING, ANOMALIES, NOTHING_DECLARED, at)
    decisions = analysed(EVERYTHING, ANOMALIES, NOTHING_DECLARED, at).decisions
    assert {d.anomaly.id for d in decisions if d.count} == {*ANOMALIES}


@pytest.mark.parametrize("ended", ["fail", "info"])
@pytest.mark.parametrize(("offset", "unseen"), [("4", 0), ("5", 1), ("?", 1)])
def test_a_value_is_unseen_at_the_log_start_after_it_and_without_a_known_offset(
    ended: str, offset: str, unseen: int
) -> None:
    h = history(f"""
        p1  send k=a        -> ok
        c1  poll            -> {ended} k=a@{offset}
        c1  start_offset k  -> ok @5
    """)
    assert_agrees(h, ("unseen",), NOTHING_DECLARED, [])
    (decision,) = analysed(h, ("unseen",), NOTHING_DECLARED, []).decisions
    assert decision.count == unseen


def test_an_unfinished_history_permits_unseen_values() -> None:
    h = history("p1 send k=a -> ok @0")
    for declared, code in ((NOTHING_DECLARED, 1), (Declarations(finished=False), 0)):
        analysis = analysed(h, ("unseen",), declared, [])
        (decision,) = analysis.decisions
        assert (analysis.exit_code, decision.permitted) == (code, code == 0)
        reason = decision.anomaly.permits[UNFINISHED] if code == 0 else None
        assert decision.reason == reason
