"""An end offset is stale if it is below a log end that was observed before the read began."""

from __future__ import annotations

import pytest

from model.history_notation import history
from properties.anomalies.real_time.stale_end_offset import (
    StaleEndOffset,
    explain,
    observed,
    stale_end_offsets,
)


def test_an_end_at_or_below_an_acknowledged_offset_is_stale() -> None:
    h = history("""
        p1  send k=a      -> ok @5
        c1  end_offset k  -> ok @5
    """)
    assert stale_end_offsets(h) == (
        StaleEndOffset(key="k", end_offset=5, op=1, known_end=6, known_from="send", known_op=0),
    )


def test_an_end_above_the_acknowledged_offset_is_not_stale() -> None:
    h = history("""
        p1  send k=a      -> ok @5
        c1  end_offset k  -> ok @6
    """)
    assert stale_end_offsets(h) == ()
    assert observed(h) == 1


def test_an_end_below_an_earlier_read_of_the_end_is_stale() -> None:
    h = history("""
        c1  end_offset k  -> ok @9
        c2  end_offset k  -> ok @8
    """)
    assert [(row.known_from, row.size) for row in stale_end_offsets(h)] == [("end_offset", 1)]


@pytest.mark.parametrize(
    "read",
    [
        "c1  end_offset k  -> fail @0",
        "c1  end_offset k  -> info @0",
        "c1  end_offset j  -> ok @0",
        "c1  poll          -> ok",
    ],
)
def test_a_failed_read_or_another_key_shows_nothing(read: str) -> None:
    assert stale_end_offsets(history(f"p1 send k=a -> ok @5\n{read}")) == ()


def test_a_read_that_overlaps_the_send_may_miss_it() -> None:
    h = history("""
        c1  end_offset k  ...
        p1  send k=a      -> ok @5
        c1  ...           -> ok @0
    """)
    assert stale_end_offsets(h) == ()


def test_an_end_below_a_polled_record_is_stale() -> None:
    h = history("""
        c1  poll          -> ok k=a@5
        c1  end_offset k  -> ok @5
    """)
    assert [(row.known_from, row.known_end) for row in stale_end_offsets(h)] == [("poll", 6)]


OPEN = """
    t1  txn k=a       -> ok @5
    p1  send k=b      -> ok @6
"""


def test_a_transaction_may_hold_back_the_last_stable_offset() -> None:
    """A low end offset is no anomaly at read_committed if a transaction may hold it back.

    The transaction has ended, but its marker may be written late.
    """
    h = history(OPEN + "c1 end_offset k -> ok @5")
    assert stale_end_offsets(h) == ()
    assert observed(h) == 0  # the sends do not show how far the last stable offset has come
    assert observed(history(OPEN + "c1 end_offset k -> ok @5\nc1 end_offset k -> ok @6")) == 1


@pytest.mark.parametrize(
    ("before", "known"),
    [
        ("c1 poll -> ok k=a@5", 6),
        ("c1 end_offset k -> ok @7", 7),
        ("c1 poll{isolation=read_uncommitted} -> ok k=a@5", None),
        ("c1 end_offset{isolation=read_uncommitted} k -> ok @7", None),
    ],
)
def test_the_last_stable_offset_is_above_records_read_at_read_committed(
    before: str, known: int | None
) -> None:
    rows = stale_end_offsets(history(OPEN + before + "\nc2 end_offset k -> ok @5"))
    assert [row.known_end for row in rows] == ([] if known is None else [known])


def test_at_read_uncommitted_the_end_is_the_high_watermark() -> None:
    h = history(OPEN + "c1 end_offset{isolation=read_uncommitted} k -> ok @5")
    assert [row.known_end for row in stale_end_offsets(h)] == [7]


def test_the_explanation_names_the_observation_of_the_end() -> None:
    h = history("""
        p1  send k=a      -> ok @5
        c1  end_offset k  -> ok @2
    """)
    (row,) = stale_end_offsets(h)
    first, known, read = explain(row, dict(enumerate(h))).splitlines()
    assert "the log end was at least 6" in first
    assert "a send was acknowledged at offset 5" in first
    assert "send k=a -> ok @5" in known
    assert "end_offset k -> ok @2" in read
