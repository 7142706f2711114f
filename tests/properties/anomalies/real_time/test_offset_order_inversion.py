"""A send that begins after another send has ended gets a higher offset."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.history_notation import history
from properties.anomalies.real_time.offset_order_inversion import (
    OffsetOrderInversion,
    explain,
    inversions,
    observed,
)


def test_a_later_send_with_a_lower_offset_is_an_inversion() -> None:
    h = history("""
        p1  send k=a  -> ok @5
        p2  send k=b  -> ok @3
    """)
    assert inversions(h) == (
        OffsetOrderInversion(
            key="k", offset=3, value="b", op=1, known_end=6, known_from="send", known_op=0
        ),
    )


def test_one_offset_assigned_twice_is_an_inversion() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        p2  send k=b  -> ok @0
    """)
    assert [row.size for row in inversions(h)] == [0]


def test_overlapping_sends_may_get_offsets_in_any_order() -> None:
    h = history("""
        p1  send k=a  ...
        p2  send k=b  -> ok @1
        p1  ...       -> ok @0
    """)
    assert inversions(h) == ()


def test_operations_that_meet_at_one_instant_overlap() -> None:
    first, second = history("""
        p1  send k=a  -> ok @1
        p2  send k=b  -> ok @0
    """)
    assert first.completed_ns is not None
    assert inversions((first, replace(second, invoked_ns=first.completed_ns))) == ()
    assert inversions((first, replace(second, invoked_ns=first.completed_ns + 1)))


def test_keys_are_ordered_independently() -> None:
    h = history("""
        p1  send k=a  -> ok @5
        p2  send j=b  -> ok @3
    """)
    assert inversions(h) == ()


def test_a_failed_send_has_no_offset() -> None:
    h = history("""
        p1  send k=a  -> ok @5
        p3  send k=c  -> fail @3
        c1  poll      -> fail k=e@9
        p4  send k=f  -> ok @6
    """)
    assert inversions(h) == ()
    assert observed(h) == 1  # f; nothing was known before a


@pytest.mark.parametrize("send", ["-> info @9", "-> never", "-> ok @?"])
def test_an_unacknowledged_send_has_the_lowest_polled_offset(send: str) -> None:
    polled = "c1 poll -> ok k=b@7 k=b@3\n"
    h = history(f"p1 send k=a -> ok @5\np2 send k=b {send}\n" + polled)
    assert [(row.offset, row.value) for row in inversions(h)] == [(3, "b")]
    assert observed(h) == 1
    assert inversions(history(f"p1 send k=a -> ok @5\np2 send k=b {send}\n")) == ()


def test_a_send_is_observed_if_an_end_of_its_log_was_known_before() -> None:
    """Only a send after a known log end is counted. Without a known log end, no offset of the send
    can be an inversion.
    """
    h = history("""
        p1  send k=a      -> ok @5
        p2  send j=b      -> ok @0
        c1  end_offset i  -> ok @3
        p3  send i=c      -> ok @3
        p3  send k=d      -> ok @6
        p3  send k=e      -> fail
    """)
    assert observed(h) == 2  # c and d
    first, second = history("p1 send k=a -> ok @5\np2 send k=b -> ok @6")
    assert first.completed_ns is not None
    assert observed((first, replace(second, invoked_ns=first.completed_ns))) == 0
    assert observed((first, replace(second, invoked_ns=first.completed_ns + 1))) == 1


@pytest.mark.parametrize(
    ("before", "known"),
    [
        ("c1 poll -> ok k=z@5", ("poll", 6)),
        ("c1 end_offset k -> ok @6", ("end_offset", 6)),
        ("c1 end_offset{isolation=read_uncommitted} k -> ok @6", ("end_offset", 6)),
        ("p1 send k=z -> ok @5", ("send", 6)),
    ],
)
def test_a_poll_and_a_read_of_the_end_show_how_far_the_log_reached(
    before: str, known: tuple[str, int]
) -> None:
    (row,) = inversions(history(f"{before}\np2 send k=b -> ok @5"))
    assert (row.known_from, row.known_end) == known
    assert inversions(history(f"{before}\np2 send k=b -> ok @6")) == ()
    assert f"operation {row.known_op}" in explain(
        row, dict(enumerate(history(f"{before}\np2 send k=b -> ok @5")))
    )


@pytest.mark.parametrize("ended", ["info", "fail"])
def test_an_operation_that_did_not_end_ok_shows_no_log_end(ended: str) -> None:
    h = history(f"c1 poll -> {ended} k=z@9\np2 send k=b -> ok @5")
    assert inversions(h) == ()


def test_the_row_names_the_first_operation_with_the_highest_offset() -> None:
    h = history("""
        p1  send k=a  -> ok @5
        p1  send k=b  -> ok @9
        p1  send k=c  -> ok @9
        p2  send k=d  -> ok @3
    """)
    assert [(r.value, r.known_op) for r in inversions(h)] == [("d", 1), ("c", 1)]


def test_the_explanation_shows_both_sends_with_their_times() -> None:
    h = history("""
        p1  send k=a j=x  -> ok @5 @0
        p2  send k=b      -> ok @3
    """)
    (row,) = inversions(h)
    assert explain(row, dict(enumerate(h))).splitlines() == [
        "key k: a send was acknowledged at offset 5 by 0.000015 ms; a send that began later, at "
        "0.000020 ms, got offset 3, which is not above that record.",
        "  before  operation 0, process 0: send k=a -> ok @5  [0.000010 ms .. 0.000015 ms]",
        "  send    operation 1, process 1: send k=b -> ok @3  [0.000020 ms .. 0.000025 ms]",
    ]
