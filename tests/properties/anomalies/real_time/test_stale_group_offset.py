"""A fetched group offset is stale if no order of the commits and fetches explains it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.histories import FetchOffset
from model.history_notation import history
from properties.anomalies.real_time.stale_group_offset import (
    StaleGroupOffset,
    explain,
    observed,
    stale_group_offsets,
)


def lines(*operations: str) -> str:
    return "\n".join(operations)


def commit(offset: int, ended: str = "-> ok", who: str = "c1") -> str:
    return f"{who} commit_offset{{group=g}} +k@{offset} {ended}"


def fetch(result: str, process: str = "c2") -> str:
    return f"{process} fetch_offset{{group=g}} k {result}"


def test_an_offset_that_was_replaced_before_the_fetch_is_stale() -> None:
    h = history(lines(commit(5), commit(9), fetch("-> ok @5")))
    assert stale_group_offsets(h) == (
        StaleGroupOffset(group="g", key="k", offset=5, op=2, possible=(9,), known_op=1),
    )
    assert observed(h) == 1
    (row,) = stale_group_offsets(h)
    assert row.size == 4
    assert explain(row, dict(enumerate(h))).splitlines()[:2] == [
        "group g, key k: an offset fetch from 0.000020 ms to 0.000025 ms returned 5; in every "
        "legal order of the earlier commits and fetches the offset is 9.",
        "  before  operation 1, process 0: commit_offset{group=g} +k@9 -> ok  "
        "[0.000010 ms .. 0.000015 ms]",
    ]


def test_the_evidence_of_a_stale_fetch_is_no_other_stale_fetch() -> None:
    abort = "t1 txn{group=g} +k@12 -> fail"
    h = history(lines(fetch("-> ok @11"), abort, fetch("-> ok @12"), fetch("-> ok @12", "c3")))
    first, second = stale_group_offsets(h)
    assert (first.op, second.op) == (2, 3)
    # operation 2 returned 12 as well: it cannot show that the offset is 11
    assert [(row.possible, row.known_op) for row in (first, second)] == [((11,), 0), ((11,), 0)]
    text = explain(second, dict(enumerate(h)))
    assert "returned 12; in every legal order" in text
    assert "  before  operation 0, " in text


@pytest.mark.parametrize(
    "text",
    [
        lines(fetch("-> ok @7"), fetch("-> ok @7")),  # from before the history
        lines(commit(9), commit(5), fetch("-> ok @5")),  # the application lowered the offset
        lines(commit(5), commit(9, "..."), fetch("-> ok @5"), "c1 ... -> ok", fetch("-> ok @9")),
        lines(commit(5), commit(9, "-> info"), fetch("-> ok @5"), fetch("-> ok @9")),
        lines(commit(5), commit(9, "-> never"), fetch("-> ok @5"), fetch("-> ok @9")),
        lines(commit(5), commit(9, "-> fail"), fetch("-> ok @5")),
        lines(commit(5), commit(9), commit(5), fetch("-> ok @5")),  # set again
        lines(commit(5), fetch("-> fail @9"), fetch("-> info @9")),
        lines(commit(5), fetch("-> ok @9").replace("=g", "=h")),  # another group
    ],
)
def test_a_fetch_that_some_order_explains_is_not_stale(text: str) -> None:
    assert stale_group_offsets(history(text)) == ()


@pytest.mark.parametrize(
    ("text", "offset", "possible"),
    [
        (lines(commit(5), fetch("-> ok @none")), -1, (5,)),
        (lines(commit(5), fetch("-> ok @9"), commit(9)), 9, (5,)),  # before it was committed
        (lines(commit(5), commit(9, "-> fail"), fetch("-> ok @9")), 9, (5,)),
        # an operation with unknown outcome takes effect at most once
        (lines(commit(5), commit(9, "-> info"), fetch("-> ok @9"), fetch("-> ok @5")), 5, (9,)),
        (lines(fetch("-> ok @7"), fetch("-> ok @8")), 8, (7,)),
    ],
)
def test_a_fetch_that_no_order_explains_is_stale(
    text: str, offset: int, possible: tuple[int, ...]
) -> None:
    assert [(row.offset, row.possible) for row in stale_group_offsets(history(text))] == [
        (offset, possible)
    ]


def test_two_overlapping_fetches_cannot_return_two_orders_of_the_same_commits() -> None:
    """Two fetches contradict each other if each one needs another order of the same two commits.

    The commits overlap, so either order fits one fetch alone; no order fits both.
    """
    h = history(
        lines(
            commit(5, "...", "c1"),
            commit(9, "...", "c2"),
            "c1 ... -> ok",
            "c2 ... -> ok",
            fetch("...", "c3"),
            fetch("...", "c4"),
            "c3 ... -> ok @5",
            "c4 ... -> ok @9",
        )
    )
    assert [(row.offset, row.possible) for row in stale_group_offsets(h)] == [(9, (5,))]


def test_after_a_transaction_only_fetches_that_wait_for_it_count() -> None:
    transaction = "t1 txn{id=t,group=g} j=a +k@9 -> ok @0"
    early = fetch("-> ok @5").replace("group=g", "group=g,isolation=read_uncommitted")
    assert stale_group_offsets(history(lines(commit(5), transaction, early))) == ()
    assert observed(history(lines(commit(5), transaction, early))) == 0
    assert stale_group_offsets(history(lines(commit(5), transaction, fetch("-> ok @5"))))
    assert stale_group_offsets(history(lines(commit(5), commit(9), early)))


def test_a_stale_answer_is_known_by_another_answer_of_its_operation() -> None:
    commits, fetch = history("""
        c1  commit_offset{group=g} +k@5  -> ok
        c2  fetch_offset{group=g} k      -> ok @5
    """)
    both = replace(fetch, did=(FetchOffset("k", 1), *fetch.did))
    (row,) = stale_group_offsets((commits, both))
    assert (row.offset, row.ops) == (1, (1,))
