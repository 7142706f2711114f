"""Two anomalies of observed offsets: `inconsistent-offsets` and `duplicate`.

Two values at one offset are `inconsistent-offsets`. One value at two offsets is a `duplicate`.
"""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.log.duplicate import Duplicate, duplicates
from properties.anomalies.log.duplicate import explain as explain_duplicate
from properties.anomalies.log.inconsistent_offsets import InconsistentOffset, inconsistent_offsets
from properties.anomalies.log.inconsistent_offsets import explain as explain_inconsistent


def test_two_values_at_one_offset_are_inconsistent() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        c1  poll      -> ok k=b@0
    """)
    (row,) = inconsistent_offsets(h)
    assert row == InconsistentOffset(key="k", offset=0, values=("a", "b"), seen_by=(0, 1))
    assert "offset 0 was observed with different values: a and b" in explain_inconsistent(
        row, dict(enumerate(h))
    )


def test_one_value_at_two_offsets_is_a_duplicate() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        c1  poll      -> ok k=a@0 k=a@7
    """)
    (row,) = duplicates(h)
    assert row == Duplicate(key="k", value="a", offsets=(0, 7), seen_by=(0, 1))
    assert "was sent once but is at offsets 0, 7" in explain_duplicate(row, dict(enumerate(h)))


def test_the_same_offset_read_again_is_no_duplicate() -> None:
    h = history("""
        c1  poll  -> ok k=a@0
        c1  poll  -> ok k=a@0 k=a@0
    """)
    assert duplicates(h) == ()


def test_each_key_is_a_separate_log() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        p1  send j=a  -> ok @1
        p1  send i=b  -> ok @0
    """)
    assert duplicates(h) == ()
    assert inconsistent_offsets(h) == ()


@pytest.mark.parametrize("outcome", ["ok", "info", "fail"])
def test_polls_count_however_their_operation_ended(outcome: str) -> None:
    h = history(f"""
        p1  send k=a  -> ok @0
        c1  poll      -> {outcome} k=b@0 k=a@1
    """)
    assert len(inconsistent_offsets(h)) == 1
    assert len(duplicates(h)) == 1


@pytest.mark.parametrize(
    ("outcome", "read", "believed"),
    [
        ("ok", "poll -> ok", True),
        ("info", "poll -> ok j=x@0", True),
        ("info", "poll -> info j=x@0", False),
        ("info", "poll -> ok j=y@0", False),
        ("fail", "poll -> ok j=x@0", False),
    ],
)
def test_the_offset_of_a_send_counts_once_it_must_have_taken_effect(
    outcome: str, read: str, *, believed: bool
) -> None:
    h = history(f"""
        p1  txn k=a j=x  -> {outcome} @0 @0
        c1  {read}
        p2  send k=b     -> ok @0
    """)
    assert bool(inconsistent_offsets(h)) is believed


def test_a_send_without_an_offset_shows_nothing() -> None:
    h = history("""
        p1  send k=a  -> ok @?
        c1  poll      -> ok k=a@?
        c1  poll      -> ok k=a@1
    """)
    assert duplicates(h) == ()


def test_an_aborted_copy_of_a_value_is_no_duplicate() -> None:
    h = history("""
        p1  txn k=a                           -> fail
        p1  txn k=a                           -> ok @7
        c1  poll{isolation=read_uncommitted}  -> ok k=a@3 k=a@7
    """)
    assert duplicates(h) == ()
    dirty_but_never_in_vain = history("""
        p1  send k=a                          -> ok @7
        c1  poll{isolation=read_uncommitted}  -> ok k=a@3
    """)
    assert len(duplicates(dirty_but_never_in_vain)) == 1


def test_a_read_at_read_uncommitted_proves_no_commit() -> None:
    h = history("""
        t1  txn k=a j=x                       -> info @0 @0
        c1  poll{isolation=read_uncommitted}  -> ok j=x@0
        p2  send k=b                          -> ok @0
    """)
    assert inconsistent_offsets(h) == ()
    assert len(inconsistent_offsets((*h, *history("c1 poll -> ok j=x@0")))) == 1
