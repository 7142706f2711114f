"""Claims about sends and replication hold in a correct run, and fail in runs that break them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.histories import EndOffset, Operation, Outcome, Poll, Send
from properties.claims.catalogue import BY_ID
from properties.claims.replication import ALWAYS, SOMETIMES, Published

KEY = "orders-0"


def send(
    at: int, value: str, offset: int | None = None, *, outcome: Outcome = "ok", process: int = 1
) -> Operation:
    return Operation(
        process=process,
        f="send",
        outcome=outcome,
        invoked_ns=at,
        completed_ns=at + 1,
        did=(Send(KEY, value, offset),),
    )


def poll(at: int, **found: int) -> Operation:
    did = tuple(Poll(KEY, offset, value) for value, offset in found.items())
    return Operation(process=9, f="poll", outcome="ok", invoked_ns=at, completed_ns=at, did=did)


def end(at: int, offset: int) -> Operation:
    did = (EndOffset(KEY, offset),)
    return Operation(
        process=8, f="end_offset", outcome="ok", invoked_ns=at, completed_ns=at + 1, did=did
    )


def published(
    *operations: Operation, log: str, sessions: dict[int, int] | None = None
) -> Published:
    """Builds a run whose log has the given values: in `a b . c`, offset 2 is a gap."""
    entries = tuple((at, value) for at, value in enumerate(log.split()) if value != ".")
    return Published(history=operations, log=entries, sessions=sessions or {})


GOOD = published(
    send(1, "a", 0), send(3, "b", 1), send(5, "c", 3), poll(7, a=0, c=3), log="a b . c"
)

BROKEN = {
    "an acknowledged value is lost": (
        published(send(1, "a", 0), send(3, "b", 1), log="a"),
        {"exactly_once_publish", "committed_survives"},
    ),
    "a value is in the log twice": (
        published(send(1, "a", 0), log="a a"),
        {"exactly_once_publish"},
    ),
    "a value of unknown outcome is in the log twice": (
        published(send(1, "a", outcome="info"), log="a a"),
        {"exactly_once_publish"},
    ),
    "a later value comes first": (
        published(send(1, "a"), send(3, "b"), log="b a"),
        {"append_order"},
    ),
    "a retry is appended after its successor": (
        published(send(1, "a", 0), send(3, "b", 1), log="a b a"),
        {"append_order", "exactly_once_publish"},
    ),
    "two processes of one session": (
        published(send(1, "a"), send(3, "b", process=2), log="b a", sessions={1: 1, 2: 1}),
        {"append_order"},
    ),
    "a record that was read is lost": (
        published(send(1, "a", outcome="info"), poll(2, a=0), log="."),
        {"reads_are_committed"},
    ),
    "an offset holds another record than was read": (
        published(send(1, "a", 0), poll(2, b=0), log="a"),
        {"reads_are_committed", "offset_identifies"},
    ),
    "an acknowledgement has the offset of another record": (
        published(send(1, "a", 0), send(1, "b", 0, process=2), log="a b"),
        {"offset_identifies"},
    ),
    "an acknowledged offset goes back": (
        published(send(1, "b", 1), send(3, "a", 0, process=2), log="a b"),
        {"linearizable_offsets"},
    ),
    "the end of the log goes back": (
        published(send(1, "a", 0), end(3, 0), log="a"),
        {"linearizable_offsets"},
    ),
}


def breached(run: Published) -> set[str]:
    return {breach.claim for holds in ALWAYS.values() for breach in holds(run)}


def test_a_correct_run_breaks_no_claim() -> None:
    assert breached(GOOD) == set()


@pytest.mark.parametrize("case", BROKEN)
def test_a_run_breaks_exactly_these_claims(case: str) -> None:
    run, claims = BROKEN[case]
    assert breached(run) == claims


def test_every_claim_is_broken_by_some_run() -> None:
    assert {claim for _, claims in BROKEN.values() for claim in claims} == set(ALWAYS)


def test_concurrent_sends_break_no_order() -> None:
    two_processes = published(send(1, "a"), send(3, "b", process=2), log="b a")
    assert breached(two_processes) == set()
    at_once = published(send(1, "a", 1), send(1, "b", 0), end(1, 0), log="b a")
    assert breached(at_once) == set()


def test_a_breach_names_the_values_and_the_offsets() -> None:
    run, _ = BROKEN["a retry is appended after its successor"]
    (breach,) = ALWAYS["append_order"](run)
    assert str(breach) == (
        "append_order: a was sent before b but is after it in the log, at offset 2 against 1"
    )


@pytest.mark.parametrize(
    ("claim", "goal", "shows", "shows_not"),
    [
        ("ambiguous_send", "unanswered and written", "a", "."),
        ("ambiguous_send", "unanswered and not written", ".", "a"),
        ("no_retry_loses", "unanswered and not written", ".", "a"),
        ("retry_duplicates", "written twice", "a a", "a"),
    ],
)
def test_a_goal_is_shown_by_one_log_and_not_by_another(
    claim: str, goal: str, shows: str, shows_not: str
) -> None:
    doubtful = send(1, "a", outcome="info")
    assert SOMETIMES[claim][goal](published(doubtful, log=shows))
    assert not SOMETIMES[claim][goal](published(doubtful, log=shows_not))


def test_a_record_that_is_still_being_sent_is_not_lost() -> None:
    goal = SOMETIMES["acks_levels"]["done with and lost"]
    assert goal(published(send(1, "a", 0), log="."))
    assert goal(published(send(1, "a", outcome="info"), log="."))
    assert not goal(published(send(1, "a", outcome="info"), log="a"))
    unfinished = replace(send(1, "a", outcome="info"), completed_ns=None)
    assert not goal(published(unfinished, log="."))


def test_the_names_are_claims_of_the_catalogue() -> None:
    assert {*ALWAYS, *SOMETIMES} <= {*BY_ID}


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=7, unique_by=lambda p: p[0])
)
def test_append_order_agrees_with_comparing_every_pair(placed: list[tuple[int, int]]) -> None:
    by_offset = {offset: f"v{at}" for at, (offset, _) in enumerate(placed)}
    history = tuple(send(when, f"v{at}") for at, (_, when) in enumerate(placed))
    run = Published(history=history, log=tuple(sorted(by_offset.items())))
    pairs = [
        (one, other)
        for one in range(len(placed))
        for other in range(len(placed))
        if placed[one][1] < placed[other][1] and placed[one][0] > placed[other][0]
    ]
    assert bool(ALWAYS["append_order"](run)) == bool(pairs)
