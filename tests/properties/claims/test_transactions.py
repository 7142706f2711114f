"""Each claim about transactions holds in a correct run, and fails in a run that breaks it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from model.histories import (
    CommitOffset,
    EndOffset,
    FetchOffset,
    Isolation,
    Operation,
    Outcome,
    Poll,
    Send,
)
from properties.claims.catalogue import BY_ID
from properties.claims.transactions import ALWAYS, SOMETIMES, Ends, Entry, Transacted

A, B = "output-0", "output-1"


def txn(
    at: int,
    *did: Send | CommitOffset,
    asked: int | None = None,
    outcome: Outcome = "ok",
    error: str | None = None,
    process: int = 1,
) -> Operation:
    return Operation(
        process=process,
        f="txn",
        outcome=outcome,
        invoked_ns=at,
        completed_ns=None if outcome == "info" else at + 9,
        did=did,
        error=error,
        transactional_id="t",
        group="g",
        isolation="read_committed",
        end_asked_ns=asked,
    )


def observed(
    f: str,
    at: int,
    did: Poll | EndOffset | FetchOffset,
    isolation: Isolation = "read_committed",
) -> Operation:
    return Operation(
        process=9,
        f=f,
        outcome="ok",
        invoked_ns=at,
        completed_ns=at + 1,
        did=(did,),
        group="g",
        isolation=isolation,
    )


def init(at: int, process: int) -> Operation:
    return Operation(
        process=process,
        f="init_producer",
        outcome="ok",
        invoked_ns=at,
        completed_ns=at + 1,
        transactional_id="t",
    )


# One transaction is committed, with an offset of the group; the next one is aborted, and its work
# is done again by a third.
FIRST = txn(10, Send(A, "x:1", 0), Send(B, "y:1", 0), CommitOffset("in-0", 1), asked=18)
ABORTED = txn(20, Send(A, "z:2", 2), CommitOffset("in-0", 2), asked=28, outcome="fail",
              error="ABORTED")  # fmt: skip
AGAIN = txn(30, Send(A, "z:3", 4), CommitOffset("in-0", 3), asked=38)
READS = (
    observed("poll", 50, Poll(A, 0, "x:1")),
    observed("poll", 51, Poll(B, 0, "y:1")),
    observed("poll", 53, Poll(A, 4, "z:3")),
)
KEPT = Transacted(
    history=(
        init(0, 1),
        FIRST,
        observed("fetch_offset", 15, FetchOffset("in-0", None)),
        observed("end_offset", 17, EndOffset(A, 0)),
        observed("fetch_offset", 21, FetchOffset("in-0", 1)),
        observed("end_offset", 22, EndOffset(A, 2)),
        ABORTED,
        AGAIN,
        *READS,
        observed("fetch_offset", 60, FetchOffset("in-0", 3)),
    ),
    read={A: (Poll(A, 0, "x:1"), Poll(A, 4, "z:3")), B: (Poll(B, 0, "y:1"),)},
    logs={
        A: (
            Entry(0, 7, "x:1"),
            Entry(1, 7, marker="commit"),
            Entry(2, 7, "z:2"),
            Entry(3, 7, marker="abort"),
            Entry(4, 7, "z:3"),
            Entry(5, 7, marker="commit"),
        ),
        B: (Entry(0, 7, "y:1"), Entry(1, 7, marker="commit")),
    },
    ends={A: Ends(6, 6), B: Ends(2, 2)},
)
ABANDONED = txn(40, Send(B, "w:4"), outcome="info")


def having(*more: Operation, **changes: Any) -> Transacted:
    return replace(KEPT, history=(*KEPT.history, *more), **changes)


BROKEN = {
    "half of a committed transaction is read": (
        "atomic_commit",
        replace(KEPT, read={A: KEPT.read[A], B: ()}),
        "transaction of t: its record x:1 of output-0 is read at read_committed, "
        "its record y:1 of output-1 is not",
    ),
    "no record of a committed transaction is read": (
        "atomic_commit",
        replace(KEPT, read={A: KEPT.read[A][:1], B: KEPT.read[B]}),
        "z:3 was committed, but is not read",
    ),
    "an aborted record is read": (
        "atomic_commit",
        replace(KEPT, read={A: (*KEPT.read[A], Poll(A, 2, "z:2")), B: KEPT.read[B]}),
        "z:2 is read, but was not committed",
    ),
    "a record of an abandoned transaction is read": (
        "atomic_commit",
        having(ABANDONED, read={A: KEPT.read[A], B: (*KEPT.read[B], Poll(B, 2, "w:4"))}),
        "w:4 is read, but was not committed",
    ),
    "the group offset is visible without the output": (
        "atomic_commit",
        having(observed("fetch_offset", 70, FetchOffset("in-0", 2))),
        "offset 2 was fetched, and z:2 of its transaction is not read",
    ),
    "a retry is appended again": (
        "transactional_implies_idempotent",
        replace(KEPT, logs={**KEPT.logs, B: (*KEPT.logs[B], Entry(2, 7, "y:1"))}),
        "y:1 is at output-1 0 and output-1 2",
    ),
    "a reader receives an aborted record": (
        "read_committed_waits",
        having(observed("poll", 70, Poll(A, 2, "z:2"))),
        "z:2 was read, but was not committed",
    ),
    "a reader receives a record of an open transaction": (
        "read_committed_waits",
        having(observed("poll", 15, Poll(A, 0, "x:1"))),
        "x:1 was read before the end of its transaction was requested",
    ),
    "a reader reads past an open transaction": (
        "read_committed_waits",
        having(observed("poll", 15, Poll(A, 3, "plain"))),
        "plain was read, after x:1 of an open transaction",
    ),
    "the end offset goes back": (
        "read_committed_waits",
        having(observed("end_offset", 70, EndOffset(A, 1))),
        "output-0: the end offset was 2, and later 1",
    ),
    "an acknowledged commit is lost": (
        "coordinator_log_is_replicated",
        replace(KEPT, read={A: KEPT.read[A], B: ()}),
        "the commit of y:1 was acknowledged, but it is not read",
    ),
    "a transactional id is lost": (
        "coordinator_log_is_replicated",
        having(txn(70, outcome="fail", error="INVALID_PRODUCER_ID_MAPPING")),
        "the coordinator no longer knows transactional id t",
    ),
    "an aborted group offset is fetched": (
        "offsets_in_transaction",
        having(observed("fetch_offset", 70, FetchOffset("in-0", 2))),
        "offset 2 was fetched, but was not committed",
    ),
    "a group offset is fetched before the end of its transaction": (
        "offsets_in_transaction",
        having(observed("fetch_offset", 15, FetchOffset("in-0", 1))),
        "offset 1 was fetched before the end of its transaction was requested",
    ),
    "a committed group offset is lost": (
        "offsets_in_transaction",
        having(observed("fetch_offset", 70, FetchOffset("in-0", 1))),
        "offset 1 was fetched, though offset 3 was committed later",
    ),
    "all group offsets are lost": (
        "offsets_in_transaction",
        having(observed("fetch_offset", 70, FetchOffset("in-0", None))),
        "offset None was fetched, though offset 1 was committed later",
    ),
    "a replaced instance writes": (
        "retry_resumes",
        having(init(25, 2)),
        "process 1 wrote as t, 12 ns after it was replaced",
    ),
    "an open transaction ends twice": (
        "retry_resumes",
        replace(KEPT, read={A: KEPT.read[A], B: KEPT.read[B] * 2}),
        "y:1 is read 2 times",
    ),
    "a transaction never ends": (
        "timeout_aborts",
        replace(KEPT, ends={A: Ends(6, 6), B: Ends(0, 2)}),
        "output-1: readers are stuck at offset 0, the high watermark is 2",
    ),
    "an abandoned transaction has no marker": (
        "timeout_aborts",
        having(ABANDONED, logs={**KEPT.logs, B: (*KEPT.logs[B], Entry(2, 7, "w:4"))}),
        "the transaction of w:4 was abandoned; its marker is nothing",
    ),
    "an abandoned transaction is committed": (
        "timeout_aborts",
        having(ABANDONED, logs={**KEPT.logs, B: (Entry(0, 7, "w:4"), *KEPT.logs[B])}),
        "the transaction of w:4 was abandoned; its marker is commit",
    ),
}


def test_a_correct_run_breaks_no_claim() -> None:
    assert {claim: judge(KEPT) for claim, judge in ALWAYS.items()} == dict.fromkeys(ALWAYS, ())


@pytest.mark.parametrize(("claim", "run", "why"), BROKEN.values(), ids=BROKEN)
def test_a_run_breaks_a_claim(claim: str, run: Transacted, why: str) -> None:
    assert why in [breach.why for breach in ALWAYS[claim](run)]
    assert {breach.claim for breach in ALWAYS[claim](run)} == {claim}


def test_every_claim_is_in_the_catalogue_and_some_run_breaks_it() -> None:
    assert {*ALWAYS, *SOMETIMES} <= set(BY_ID)
    assert {claim for claim, _, _ in BROKEN.values()} == set(ALWAYS)


def test_a_transaction_in_doubt_may_be_visible_or_not() -> None:
    doubt = txn(40, Send(B, "w:4", 2), asked=45, outcome="info")
    shown = {A: KEPT.read[A], B: (*KEPT.read[B], Poll(B, 2, "w:4"))}
    for run in (having(doubt), having(doubt, read=shown)):
        assert [breach for judge in ALWAYS.values() for breach in judge(run)] == []


def test_while_an_offset_is_pending_the_old_one_is_fetched() -> None:
    fetched_during = observed("fetch_offset", 25, FetchOffset("in-0", 1))
    assert ALWAYS["offsets_in_transaction"](having(fetched_during)) == ()


def test_a_read_uncommitted_reader_sees_aborted_and_open_records() -> None:
    goals = SOMETIMES["read_uncommitted_sees_aborted"]
    dirty: Isolation = "read_uncommitted"
    early = observed("poll", 15, Poll(A, 0, "x:1"), dirty)
    aborted = observed("poll", 50, Poll(A, 2, "z:2"), dirty)
    for name, operation in (("read while it is open", early), ("read and aborted", aborted)):
        assert goals[name](having(operation, isolation=dirty))
        assert not goals[name](KEPT)


def test_work_can_be_written_twice_and_read_once() -> None:
    (goal,) = SOMETIMES["writes_may_repeat_before_commit"].values()
    assert goal(KEPT)
    assert not goal(replace(KEPT, read={A: (*KEPT.read[A], Poll(A, 2, "z:2")), B: ()}))
