"""The claims about transactions, each on a run that keeps it and on runs that break it."""

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


def told(
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
    told("poll", 50, Poll(A, 0, "x:1")),
    told("poll", 51, Poll(B, 0, "y:1")),
    told("poll", 53, Poll(A, 4, "z:3")),
)
KEPT = Transacted(
    history=(
        init(0, 1),
        FIRST,
        told("fetch_offset", 15, FetchOffset("in-0", None)),
        told("end_offset", 17, EndOffset(A, 0)),
        told("fetch_offset", 21, FetchOffset("in-0", 1)),
        told("end_offset", 22, EndOffset(A, 2)),
        ABORTED,
        AGAIN,
        *READS,
        told("fetch_offset", 60, FetchOffset("in-0", 3)),
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
LEFT_ALONE = txn(40, Send(B, "w:4"), outcome="info")


def having(*more: Operation, **changes: Any) -> Transacted:
    return replace(KEPT, history=(*KEPT.history, *more), **changes)


BROKEN = {
    "of a commit the half is read": (
        "atomic_commit",
        replace(KEPT, read={A: KEPT.read[A], B: ()}),
        "x:1 is read, y:1 is not",
    ),
    "of a commit nothing is read": (
        "atomic_commit",
        replace(KEPT, read={A: KEPT.read[A][:1], B: KEPT.read[B]}),
        "z:3 was committed and is not read",
    ),
    "what was aborted is read": (
        "atomic_commit",
        replace(KEPT, read={A: (*KEPT.read[A], Poll(A, 2, "z:2")), B: KEPT.read[B]}),
        "z:2 is read, it was not committed",
    ),
    "what was never to be committed is read": (
        "atomic_commit",
        having(LEFT_ALONE, read={A: KEPT.read[A], B: (*KEPT.read[B], Poll(B, 2, "w:4"))}),
        "w:4 is read, it was not committed",
    ),
    "the offset came without the output": (
        "atomic_commit",
        having(told("fetch_offset", 70, FetchOffset("in-0", 2))),
        "offset 2 was told, and z:2 of the same is not read",
    ),
    "a retry was appended": (
        "transactional_implies_idempotent",
        replace(KEPT, logs={**KEPT.logs, B: (*KEPT.logs[B], Entry(2, 7, "y:1"))}),
        "y:1 lies at output-1 0 and output-1 2",
    ),
    "a reader was given what was aborted": (
        "read_committed_waits",
        having(told("poll", 70, Poll(A, 2, "z:2"))),
        "z:2 was read, and was not committed",
    ),
    "a reader was given what was open": (
        "read_committed_waits",
        having(told("poll", 15, Poll(A, 0, "x:1"))),
        "x:1 was read before its transaction was asked to end",
    ),
    "a reader passed what was open": (
        "read_committed_waits",
        having(told("poll", 15, Poll(A, 3, "plain"))),
        "plain was read, behind x:1 of an open transaction",
    ),
    "the end went back": (
        "read_committed_waits",
        having(told("end_offset", 70, EndOffset(A, 1))),
        "output-0: the end was 2, and then 1",
    ),
    "a commit was forgotten": (
        "coordinator_log_is_replicated",
        replace(KEPT, read={A: KEPT.read[A], B: ()}),
        "the commit of y:1 was acknowledged, and it is not read",
    ),
    "a producer was forgotten": (
        "coordinator_log_is_replicated",
        having(txn(70, outcome="fail", error="INVALID_PRODUCER_ID_MAPPING")),
        "nobody knows t any more",
    ),
    "an aborted offset counts": (
        "offsets_in_transaction",
        having(told("fetch_offset", 70, FetchOffset("in-0", 2))),
        "offset 2 was told, and was not committed",
    ),
    "an offset counts before the end": (
        "offsets_in_transaction",
        having(told("fetch_offset", 15, FetchOffset("in-0", 1))),
        "offset 1 was told before its transaction was asked to end",
    ),
    "a committed offset is lost": (
        "offsets_in_transaction",
        having(told("fetch_offset", 70, FetchOffset("in-0", 1))),
        "offset 1 was told, and offset 3 had been committed since",
    ),
    "no offset is kept": (
        "offsets_in_transaction",
        having(told("fetch_offset", 70, FetchOffset("in-0", None))),
        "offset None was told, and offset 1 had been committed since",
    ),
    "an instance goes on that was replaced": (
        "retry_resumes",
        having(init(25, 2)),
        "process 1 wrote as t, 12 ns after it was replaced",
    ),
    "what was open ends twice": (
        "retry_resumes",
        replace(KEPT, read={A: KEPT.read[A], B: KEPT.read[B] * 2}),
        "y:1 is read 2 times",
    ),
    "a transaction is open for ever": (
        "timeout_aborts",
        replace(KEPT, ends={A: Ends(6, 6), B: Ends(0, 2)}),
        "output-1: readers are held at offset 0 for ever, the high watermark is 2",
    ),
    "nobody ended what was left alone": (
        "timeout_aborts",
        having(LEFT_ALONE, logs={**KEPT.logs, B: (*KEPT.logs[B], Entry(2, 7, "w:4"))}),
        "w:4 was left alone, and its end is nothing",
    ),
    "what was left alone was committed": (
        "timeout_aborts",
        having(LEFT_ALONE, logs={**KEPT.logs, B: (Entry(0, 7, "w:4"), *KEPT.logs[B])}),
        "w:4 was left alone, and its end is commit",
    ),
}


def test_a_run_that_keeps_them_breaks_no_claim() -> None:
    assert {claim: judge(KEPT) for claim, judge in ALWAYS.items()} == dict.fromkeys(ALWAYS, ())


@pytest.mark.parametrize(("claim", "run", "why"), BROKEN.values(), ids=BROKEN)
def test_a_run_breaks_a_claim(claim: str, run: Transacted, why: str) -> None:
    assert why in [breach.why for breach in ALWAYS[claim](run)]
    assert {breach.claim for breach in ALWAYS[claim](run)} == {claim}


def test_every_claim_is_in_the_catalogue_and_is_broken_by_some_run() -> None:
    assert {*ALWAYS, *SOMETIMES} <= set(BY_ID)
    assert {claim for claim, _, _ in BROKEN.values()} == set(ALWAYS)


def test_what_is_in_doubt_may_show_or_not() -> None:
    doubt = txn(40, Send(B, "w:4", 2), asked=45, outcome="info")
    shown = {A: KEPT.read[A], B: (*KEPT.read[B], Poll(B, 2, "w:4"))}
    for run in (having(doubt), having(doubt, read=shown)):
        assert [breach for judge in ALWAYS.values() for breach in judge(run)] == []


def test_an_offset_that_is_staged_may_still_be_the_one_before() -> None:
    told_during = told("fetch_offset", 25, FetchOffset("in-0", 1))
    assert ALWAYS["offsets_in_transaction"](having(told_during)) == ()


def test_a_reader_who_does_not_wait_sees_what_is_aborted_and_what_is_open() -> None:
    goals = SOMETIMES["read_uncommitted_sees_aborted"]
    dirty: Isolation = "read_uncommitted"
    early = told("poll", 15, Poll(A, 0, "x:1"), dirty)
    aborted = told("poll", 50, Poll(A, 2, "z:2"), dirty)
    for name, operation in (("read while it is open", early), ("read and aborted", aborted)):
        assert goals[name](having(operation, isolation=dirty))
        assert not goals[name](KEPT)


def test_work_is_written_again_and_read_once() -> None:
    (goal,) = SOMETIMES["writes_may_repeat_before_commit"].values()
    assert goal(KEPT)
    assert not goal(replace(KEPT, read={A: (*KEPT.read[A], Poll(A, 2, "z:2")), B: ()}))
