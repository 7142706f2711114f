"""The committed offset of a group: what explains an answer, and what does not."""

from __future__ import annotations

import pytest

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

LOST_COMMIT = history("""
    c1  commit_offset{group=g} +k@1  -> ok
    c1  commit_offset{group=g} +k@5  -> ok
    c2  fetch_offset{group=g} k      -> ok @1
""")


def test_a_fetch_after_a_commit_is_told_less() -> None:
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


def test_a_fetch_after_another_is_told_less_or_nothing() -> None:
    for answer in ("@1", "@none"):
        h = history(f"""
            c1  fetch_offset{{group=g}} k  -> ok @5
            c2  fetch_offset{{group=g}} k  -> ok {answer}
        """)
        assert [row.known_op for row in went_backwards(h)] == [0]
        assert len(went_backwards((*h, h[1]))) == 2


@pytest.mark.parametrize("ended", ["ok", "info", "never"])
def test_a_commit_that_may_have_come_between_explains(ended: str) -> None:
    h = history(f"""
        c1  commit_offset{{group=g}} +k@5  -> ok
        c1  commit_offset{{group=g}} +k@1  -> {ended}
        c2  fetch_offset{{group=g}} k      -> ok @1
    """)
    assert went_backwards(h) == ()


def test_a_commit_that_failed_explains_nothing() -> None:
    h = history("""
        c1  commit_offset{group=g} +k@5  -> ok
        c1  commit_offset{group=g} +k@1  -> fail
        c2  fetch_offset{group=g} k      -> ok @1
    """)
    assert len(went_backwards(h)) == 1


def test_a_commit_that_overlaps_what_was_known_may_have_come_after_it() -> None:
    h = history("""
        c2  commit_offset{group=g} +k@1 ...
        c1  commit_offset{group=g} +k@5  -> ok
        c2  ...                          -> ok
        c3  fetch_offset{group=g} k      -> ok @1
    """)
    assert went_backwards(h) == ()


def test_of_another_group_or_key_nothing_is_known() -> None:
    h = history("""
        c1  commit_offset{group=g} +k@5  -> ok
        c1  fetch_offset{group=h} k      -> ok @1
        c1  fetch_offset{group=g} j      -> ok @1
    """)
    assert went_backwards(h) == ()
    assert group_offset_went_backwards.observed(h) == 2


def test_the_offset_that_a_transaction_committed_holds_for_who_waits_for_transactions() -> None:
    text = """
        t1  txn{id=x,group=g} o=a +k@1         -> ok @0 k=m@0
        t1  txn{id=x,group=g} o=b +k@2         -> ok @2 k=n@1
        c2  fetch_offset{group=g,isolation=%s} k  -> ok @1
    """
    waits, does_not = history(text % "read_committed"), history(text % "read_uncommitted")
    assert [(row.known_op, row.known_offset) for row in went_backwards(waits)] == [(1, 2)]
    assert went_backwards(does_not) == ()


def test_who_does_not_wait_may_have_passed_a_transaction_that_lowers_the_offset() -> None:
    text = """
        c1  commit_offset{group=g} +k@5              -> ok
        t1  txn{id=x,group=g} +k@1                   -> ok     # its marker is yet to come
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


def test_an_offset_that_nobody_committed() -> None:
    (row,) = moved_without_commit(MOVED)
    assert row == GroupOffsetMovedWithoutCommit(
        group="g", key="k", offset=4, op=2, known_offset=-1, known_op=0
    )
    assert group_offset_moved_without_commit.observed(MOVED) == 1
    told = group_offset_moved_without_commit.explain(row, dict(enumerate(MOVED)))
    assert "group g, key k: there was no committed offset by 0.000015 ms" in told


def test_what_stood_before_the_history_began_needs_no_commit() -> None:
    h = history("""
        c1  fetch_offset{group=g} k      -> ok @4
        c2  fetch_offset{group=g} k      -> ok @4
    """)
    assert moved_without_commit(h) == ()
    assert group_offset_moved_without_commit.observed(h) == 0
    assert len(moved_without_commit((*history("c1 fetch_offset{group=g} k -> ok @3"),))) == 0


@pytest.mark.parametrize("ended", ["ok", "info", "never"])
def test_a_commit_that_may_have_taken_effect_is_one(ended: str) -> None:
    h = history(f"""
        c1  fetch_offset{{group=g}} k      -> ok @none
        c1  commit_offset{{group=g}} +k@4 ...
        c2  fetch_offset{{group=g}} k      -> ok @4
        c1  ...                          -> {ended}
    """)
    assert moved_without_commit(h) == ()


def test_a_commit_that_failed_or_came_later_is_none() -> None:
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


def test_an_offset_that_only_an_aborted_transaction_committed() -> None:
    (row,) = aborted_offset_reads(ABORTED)
    assert row == AbortedOffsetRead(group="g", key="k", offset=4, op=2, aborted_op=1)
    assert moved_without_commit(ABORTED) == ()
    assert aborted_offset_read.observed(ABORTED) == 1
    assert "had aborted" in aborted_offset_read.explain(row, dict(enumerate(ABORTED)))


def test_an_offset_that_was_committed_again_is_not_the_aborted_one() -> None:
    h = history("""
        c1  fetch_offset{group=g} k      -> ok @none
        t1  txn{id=x,group=g} o=a +k@4   -> fail @0 k=m@3
        t1  txn{id=x,group=g} o=b +k@4   -> info
        c1  fetch_offset{group=g} k      -> ok @4
    """)
    assert aborted_offset_reads(h) == ()


def test_an_aborted_offset_that_may_have_stood_before_is_none() -> None:
    assert aborted_offset_reads(ABORTED[1:]) == ()
