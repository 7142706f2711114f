"""A replaced producer has no effect, unless its operation ended before the replacement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.history_notation import history
from properties.anomalies.transactions.zombie_write import (
    ZombieWrite,
    explain,
    observed,
    zombie_writes,
)

ZOMBIE = history("""
    t1  init_producer{id=x}  -> ok
    t2  init_producer{id=x}  -> ok
    t1  txn{id=x} k=a        -> ok @0
""")


def test_a_transaction_of_a_replaced_producer_that_ends_ok_is_a_zombie_write() -> None:
    (row,) = zombie_writes(ZOMBIE)
    assert row == ZombieWrite(
        transactional_id="x", op=2, older_op=0, newer_op=1, late_ns=5, shown_by=()
    )
    assert observed(ZOMBIE) == 1
    text = explain(row, dict(enumerate(ZOMBIE)))
    assert text.startswith(
        "transactional id x: process 1 had become its producer by 0.000025 ms; after that, at "
        "0.000030 ms, process 0 wrote as the older producer, and the write ended ok.\n"
    )


def test_a_fenced_transaction_is_no_zombie_write() -> None:
    h = (*ZOMBIE[:2], replace(ZOMBIE[2], outcome="fail"))
    assert zombie_writes(h) == ()
    assert observed(h) == 1


@pytest.mark.parametrize("ended", ["info", "fail", "never"])
def test_a_transaction_that_did_not_end_ok_took_effect_if_it_was_read(ended: str) -> None:
    h = history(f"""
        t1  init_producer{{id=x}}  -> ok
        t2  init_producer{{id=x}}  -> ok
        t1  txn{{id=x}} k=a j=b    -> {ended}
        c1  poll                 -> ok j=b@0
    """)
    (row,) = zombie_writes(h)
    assert row.shown_by == ((2,) if ended == "never" else (3,))
    assert zombie_writes(h[:2] + h[3:]) == ()


def test_a_reader_at_read_uncommitted_shows_no_effect() -> None:
    h = history("""
        t1  init_producer{id=x}               -> ok
        t2  init_producer{id=x}               -> ok
        t1  txn{id=x} k=a                     -> info
        c1  poll{isolation=read_uncommitted}  -> ok k=a@0
    """)
    assert zombie_writes(h) == ()


def test_an_end_requested_before_the_replacement_is_no_zombie_write() -> None:
    text = """
        t1  init_producer{id=x}    -> ok
        t1  txn{id=x,end=%d} k=a ...
        t2  init_producer{id=x}    -> ok
        t1  ...                    -> ok @0
    """
    assert zombie_writes(history(text % 30)) == ()
    assert [row.late_ns for row in zombie_writes(history(text % 40))] == [5]
    assert zombie_writes(history(text.replace(",end=%d", ""))) == ()


def test_of_two_overlapping_init_producers_neither_is_older() -> None:
    h = history("""
        t1  init_producer{id=x} ...
        t2  init_producer{id=x}  -> ok
        t1  ...                  -> ok
        t1  txn{id=x} k=a        -> ok @0
        t2  txn{id=x} k=b        -> ok @1
    """)
    assert zombie_writes(h) == ()


def test_a_process_that_initializes_again_is_the_newest_producer() -> None:
    h = history("""
        t1  init_producer{id=x}  -> ok
        t2  init_producer{id=x}  -> ok
        t1  init_producer{id=x}  -> ok
        t1  txn{id=x} k=a        -> ok @0
        t2  txn{id=x} k=b        -> ok @1
    """)
    assert [(row.op, row.newer_op) for row in zombie_writes(h)] == [(4, 2)]


@pytest.mark.parametrize("ended", ["info", "fail", "never"])
def test_only_an_init_producer_that_ended_ok_replaces(ended: str) -> None:
    h = history(f"""
        t1  init_producer{{id=x}}  -> ok
        t2  init_producer{{id=x}}  -> {ended}
        t1  txn{{id=x}} k=a        -> ok @0
    """)
    assert zombie_writes(h) == ()


def test_a_process_without_a_recorded_init_producer_is_not_checked() -> None:
    h = history("""
        t2  init_producer{id=x}  -> ok
        t1  txn{id=x} k=a        -> ok @0
        t2  init_producer{id=x}  -> info
        t3  init_producer{id=x}  -> ok
        t2  txn{id=x} k=b        -> ok @1
    """)
    assert zombie_writes(h) == ()
    assert observed(h) == 0


def test_producers_without_a_transactional_id_replace_nobody() -> None:
    h = history("""
        t1  init_producer  -> ok
        t2  init_producer  -> ok
        t1  send k=a       -> ok @0
    """)
    assert zombie_writes(h) == ()
    assert observed(h) == 0


def test_another_transactional_id_does_not_replace_the_producer() -> None:
    h = history("""
        t1  init_producer{id=x}  -> ok
        t2  init_producer{id=y}  -> ok
        t1  txn{id=x} k=a        -> ok @0
    """)
    assert zombie_writes(h) == ()


def test_only_a_transaction_with_a_send_or_an_offset_has_an_effect() -> None:
    begin = "t1 init_producer{id=x} -> ok\nt2 init_producer{id=x} -> ok\n"
    assert zombie_writes(history(begin + "t1 txn{id=x,group=g} -> ok i=m@0")) == ()
    assert len(zombie_writes(history(begin + "t1 txn{id=x,group=g} +i@1 -> ok"))) == 1


def test_a_send_outside_transactions_can_be_a_zombie_write() -> None:
    begin = "t1 init_producer{id=x} -> ok\nt2 init_producer{id=x} -> ok\n"
    assert len(zombie_writes(history(begin + "t1 send{id=x} k=a -> ok @0"))) == 1
