"""A group offset that goes backwards is an anomaly, unless some commit may explain it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.histories import Outcome
from model.history_notation import history
from properties.anomalies.groups import (
    aborted_offset_read,
    group_offset_moved_without_commit,
    group_offset_went_backwards,
)
from properties.anomalies.groups.aborted_offset_read import (
    AbortedOffsetRead,
    aborted_offset_reads,
)
from properties.anomalies.groups.group_offset_moved_without_commit import (
    GroupOffsetMovedWithoutCommit,
    moved_without_commit,
)
from properties.anomalies.groups.group_offset_went_backwards import (
    GroupOffsetWentBackwards,
    went_backwards,
)
from properties.anomalies.groups.offsets import Commit, Fetch, may_follow

COMMIT = Commit(("g", "k"), 5, 0, "ok", in_transaction=True, invoked_ns=10, completed_ns=15)
FETCH = Fetch(("g", "k"), 1, 1, stable=False, invoked_ns=20, completed_ns=25)


@pytest.mark.parametrize(
    ("commit", "fact", "may"),
    [
        (COMMIT, FETCH, True),  # the fetch does not wait for the marker of the transaction
        (COMMIT, replace(FETCH, stable=True), False),
        (replace(COMMIT, in_transaction=False), FETCH, False),
        (COMMIT, replace(COMMIT, invoked_ns=20, completed_ns=25), False),
        (replace(COMMIT, in_transaction=False, completed_ns=20), FETCH, True),
        (replace(COMMIT, outcome="fail"), FETCH, False),
        (COMMIT, replace(FETCH, register=("g", "j")), False),
    ],
)
def test_a_commit_may_follow_a_fact_if_it_overlaps_or_if_the_fetch_did_not_wait(
    commit: Commit, fact: Commit | Fetch, *, may: bool
) -> None:
    assert may_follow(commit, fact) is may


LOST_COMMIT = history("""
    c1  commit_offset{group=g} +k@1  -> ok
    c1  commit_offset{group=g} +k@5  -> ok
    c2  fetch_offset{group=g} k      -> ok @1
""")


def test_a_fetch_below_an_earlier_commit_went_backwards() -> None:
    (row,) = went_backwards(LOST_COMMIT)
    assert row == GroupOffsetWentBackwards(
        group="g", key="k", offset=1, op=2, known_offset=5, known_op=1
    )
    assert group_offset_went_backwards.observed(LOST_COMMIT) == 1
    assert group_offset_went_backwards.explain(row, dict(enumerate(LOST_COMMIT))).splitlines() == [
        "group g, key k: the committed offset was 5 by 0.000025 ms; a later offset fetch, invoked "
        "at 0.000030 ms, returned 1, although no client had moved the offset back.",
        "  before  operation 1, process 0: commit_offset{group=g} +k@5 -> ok"
        "  [0.000020 ms .. 0.000025 ms]",
        "  fetch   operation 2, process 1: fetch_offset{group=g} k -> ok @1"
        "  [0.000030 ms .. 0.000035 ms]",
    ]


def test_a_fetch_below_an_earlier_fetch_or_without_offset_went_backwards() -> None:
    for answer in ("@1", "@none"):
        h = history(f"""
            c1  fetch_offset{{group=g}} k  -> ok @5
            c2  fetch_offset{{group=g}} k  -> ok {answer}
        """)
        assert [row.known_op for row in went_backwards(h)] == [0]
        assert len(went_backwards((*h, h[1]))) == 2


@pytest.mark.parametrize("ended", ["ok", "info", "never"])
def test_a_lower_commit_that_may_be_in_between_explains_the_fetch(ended: str) -> None:
    h = history(f"""
        c1  commit_offset{{group=g}} +k@5  -> ok
        c1  commit_offset{{group=g}} +k@1  -> {ended}
        c2  fetch_offset{{group=g}} k      -> ok @1
    """)
    assert went_backwards(h) == ()


def test_a_failed_commit_does_not_explain_the_fetch() -> None:
    h = history("""
        c1  commit_offset{group=g} +k@5  -> ok
        c1  commit_offset{group=g} +k@1  -> fail
        c2  fetch_offset{group=g} k      -> ok @1
    """)
    assert len(went_backwards(h)) == 1


def test_a_lower_commit_that_overlaps_the_higher_one_explains_the_fetch() -> None:
    h = history("""
        c2  commit_offset{group=g} +k@1 ...
        c1  commit_offset{group=g} +k@5  -> ok
        c2  ...                          -> ok
        c3  fetch_offset{group=g} k      -> ok @1
    """)
    assert went_backwards(h) == ()


def test_groups_and_keys_have_separate_offsets() -> None:
    h = history("""
        c1  commit_offset{group=g} +k@5  -> ok
        c1  fetch_offset{group=h} k      -> ok @1
        c1  fetch_offset{group=g} j      -> ok @1
    """)
    assert went_backwards(h) == ()
    assert group_offset_went_backwards.observed(h) == 0


def test_a_transactions_commit_binds_only_fetches_at_read_committed() -> None:
    text = """
        t1  txn{id=x,group=g} o=a +k@1         -> ok @0 k=m@0
        t1  txn{id=x,group=g} o=b +k@2         -> ok @2 k=n@1
        c2  fetch_offset{group=g,isolation=%s} k  -> ok @1
    """
    waits, does_not = history(text % "read_committed"), history(text % "read_uncommitted")
    assert [(row.known_op, row.known_offset) for row in went_backwards(waits)] == [(1, 2)]
    assert went_backwards(does_not) == ()


def test_a_fetch_at_read_uncommitted_may_overtake_a_pending_commit() -> None:
    text = """
        c1  commit_offset{group=g} +k@5              -> ok
        t1  txn{id=x,group=g} +k@1                   -> ok     # its marker is not written yet
        c2  fetch_offset{group=g,isolation=%s} k     -> ok @5
        c2  fetch_offset{group=g} k                  -> ok @1
    """
    assert went_backwards(history(text % "read_uncommitted")) == ()
    assert len(went_backwards(history(text % "read_committed"))) == 1


MOVED = history("""
    c1  fetch_offset{group=g} k      -> ok @none
    c1  commit_offset{group=g} +k@3  -> ok
    c2  fetch_offset{group=g} k      -> ok @4
""")


def test_an_offset_without_a_commit_is_found() -> None:
    (row,) = moved_without_commit(MOVED)
    assert row == GroupOffsetMovedWithoutCommit(
        group="g", key="k", offset=4, op=2, known_offset=-1, known_op=0
    )
    assert group_offset_moved_without_commit.observed(MOVED) == 1
    text = group_offset_moved_without_commit.explain(row, dict(enumerate(MOVED)))
    assert "group g, key k: there was no committed offset by 0.000015 ms" in text


def test_an_offset_from_before_the_history_needs_no_commit() -> None:
    h = history("""
        c1  fetch_offset{group=g} k      -> ok @4
        c2  fetch_offset{group=g} k      -> ok @4
    """)
    assert moved_without_commit(h) == ()
    assert group_offset_moved_without_commit.observed(h) == 0
    assert len(moved_without_commit((*history("c1 fetch_offset{group=g} k -> ok @3"),))) == 0


@pytest.mark.parametrize("ended", ["ok", "info", "never"])
def test_a_commit_that_may_have_taken_effect_counts(ended: str) -> None:
    h = history(f"""
        c1  fetch_offset{{group=g}} k      -> ok @none
        c1  commit_offset{{group=g}} +k@4 ...
        c2  fetch_offset{{group=g}} k      -> ok @4
        c1  ...                          -> {ended}
    """)
    assert moved_without_commit(h) == ()


@pytest.mark.parametrize(("later_ns", "found"), [(0, 0), (1, 1)])
def test_a_commit_that_begins_when_the_fetch_ends_may_have_taken_effect(
    later_ns: int, found: int
) -> None:
    first, commit, fetch = history("""
        c2  fetch_offset{group=g} k      -> ok @5
        c1  commit_offset{group=g} +k@7  -> ok
        c2  fetch_offset{group=g} k      -> ok @7
    """)
    begins = (fetch.completed_ns or 0) + later_ns
    late = replace(commit, invoked_ns=begins, completed_ns=begins + 1)
    assert len(moved_without_commit((first, fetch, late))) == found


@pytest.mark.parametrize("ended", ["fail", "info"])
def test_a_fetch_that_did_not_end_ok_returned_no_offset(ended: Outcome) -> None:
    first, fetch = history("""
        c2  fetch_offset{group=g} k      -> ok @5
        c2  fetch_offset{group=g} k      -> ok @7
    """)
    assert len(moved_without_commit((first, fetch))) == 1
    assert moved_without_commit((first, replace(fetch, outcome=ended))) == ()


def test_a_failed_or_later_commit_does_not_count() -> None:
    h = history("""
        c1  fetch_offset{group=g} k      -> ok @none
        c1  commit_offset{group=g} +k@4  -> fail
        c2  fetch_offset{group=g} k      -> ok @4
        c1  commit_offset{group=g} +k@4  -> ok
    """)
    assert [row.op for row in moved_without_commit(h)] == [2]


ABORTED = history("""
    c1  fetch_offset{group=g} k     -> ok @none
    t1  txn{id=x,group=g} o=a +k@4  -> fail @0 k=m@3
    c1  fetch_offset{group=g} k     -> ok @4
""")


def test_an_offset_that_only_an_aborted_transaction_committed_is_found() -> None:
    (row,) = aborted_offset_reads(ABORTED)
    assert row == AbortedOffsetRead(group="g", key="k", offset=4, op=2, aborted_op=1)
    assert moved_without_commit(ABORTED) == ()
    assert aborted_offset_read.observed(ABORTED) == 1
    assert "had aborted" in aborted_offset_read.explain(row, dict(enumerate(ABORTED)))


def test_an_offset_that_was_committed_again_is_not_found() -> None:
    h = history("""
        c1  fetch_offset{group=g} k      -> ok @none
        t1  txn{id=x,group=g} o=a +k@4   -> fail @0 k=m@3
        t1  txn{id=x,group=g} o=b +k@4   -> info
        c1  fetch_offset{group=g} k      -> ok @4
    """)
    assert aborted_offset_reads(h) == ()


def test_an_aborted_offset_from_before_the_history_is_not_found() -> None:
    assert aborted_offset_reads(ABORTED[1:]) == ()
