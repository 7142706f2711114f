"""The text notation is parsed to a history; the error for a malformed line has the line number."""

from __future__ import annotations

import pytest

from model.histories import (
    Assigned,
    CommitOffset,
    EndOffset,
    FetchOffset,
    Poll,
    Rebalanced,
    Send,
    StartOffset,
)
from model.history_notation import NotationFault, history, show


def test_one_line_is_one_operation() -> None:
    sent, polled, end = history("""
        p1  send k=a j=b  -> ok @0 @?
        c1  poll          -> ok k=a@0 k=c@2
        c1  end_offset k  -> ok @3
    """)
    assert sent.did == (Send("k", "a", 0), Send("j", "b", None))
    assert polled.did == (Poll("k", 0, "a"), Poll("k", 2, "c"))
    assert end.did == (EndOffset("k", 3),)
    assert (sent.process, polled.process, end.process) == (0, 1, 1)
    assert sent.completed_ns is not None
    assert sent.invoked_ns < sent.completed_ns < polled.invoked_ns


def test_the_notation_has_transactions_groups_and_assignments() -> None:
    text = """
        c1  assign k j                                   -> ok
        c1  assign -                                     -> ok
        t1  txn{id=x,group=g,end=12} k=e +k@1            -> ok @5 k=a@0 ~k
        c1  fetch_offset{group=g} k j                    -> ok @1 @none
        c1  start_offset{isolation=read_uncommitted} k   -> ok @2
        c1  commit_offset{group=g} +k@1                  -> fail
    """
    some, none, txn, fetched, start, committed = history(text)
    assert (some.did, none.did) == ((Assigned("k"), Assigned("j")), ())
    assert txn.did == (Send("k", "e", 5), Poll("k", 0, "a"), Rebalanced("k"), CommitOffset("k", 1))
    assert (txn.transactional_id, txn.group, txn.end_asked_ns) == ("x", "g", 12)
    assert fetched.did == (FetchOffset("k", 1), FetchOffset("j", None))
    assert (start.did, start.isolation) == ((StartOffset("k", 2),), "read_uncommitted")
    assert committed.did == (CommitOffset("k", 1),)
    lines = [" ".join(line.split()[1:]) for line in text.strip().splitlines()]
    assert [show(operation) for operation in history(text)] == lines


def test_an_operation_on_two_lines_is_open_in_between() -> None:
    quick, slow = history("""
        p1  send k=a ...
        p2  send k=b      -> ok @0
        p1  ...           -> ok @1
    """)
    assert (quick.did, slow.did) == ((Send("k", "b", 0),), (Send("k", "a", 1),))
    assert quick.completed_ns is not None
    assert slow.completed_ns is not None
    assert slow.invoked_ns < quick.invoked_ns < quick.completed_ns < slow.completed_ns


def test_an_operation_that_never_completes_comes_last_with_info() -> None:
    done, never, left_open = history("""
        p1  send k=a  -> never
        p2  send k=b  ...
        p3  send k=c  -> fail      # it did not happen
    """)
    assert (done.outcome, never.outcome, left_open.outcome) == ("fail", "info", "info")
    assert never.completed_ns is None
    assert left_open.completed_ns is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("p1", "neither an operation nor"),
        ("p1 send k=a", "ends in `...`"),
        ("p1 send k=a -> perhaps", "ok, fail, info or never"),
        ("p1 send k -> ok", "not key=value"),
        ("p1 send k=a -> ok @0 @1", "more offsets"),
        ("p1 poll -> ok k=a", "neither @offset nor"),
        ("p1 ... -> ok", "p1"),
    ],
)
def test_a_malformed_line_is_refused_with_its_number(line: str, says: str) -> None:
    with pytest.raises(NotationFault, match=r"line 1: .*") as fault:
        history(line)
    assert says in str(fault.value)


@pytest.mark.parametrize(
    "line",
    [
        "send k=a -> ok @0",
        "send k=a j=b -> ok @0 @?",
        "send k=a -> info",
        "send k=a -> never",
        "poll -> ok k=a@0 k=c@2",
        "poll -> fail k=a@?",
        "txn k=d -> ok @4 k=a@0",
        "end_offset k -> ok @3",
        "crash -> info",
    ],
)
def test_a_printed_operation_parses_to_the_same_operation(line: str) -> None:
    (operation,) = history(f"p1 {line}")
    assert show(operation) == line
