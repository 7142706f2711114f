"""Claims about reads and writes of a log hold in correct runs, and fail in runs that break them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.histories import Operation, Poll, Send
from properties.claims.log import ALWAYS, SOMETIMES, ReadAndWritten

ORDERS, OTHER = "orders-0", "orders-1"


def sent(at: int, value: str, *, process: int = 1, key: str = ORDERS) -> Operation:
    return Operation(
        process=process,
        f="send",
        outcome="ok",
        invoked_ns=at,
        completed_ns=at + 1,
        did=(Send(key, value, None),),
    )


def received_by(
    process: int, *found: tuple[int, str], key: str = ORDERS, at: int = 50
) -> Operation:
    did = tuple(Poll(key, offset, value) for offset, value in found)
    return Operation(
        process=process, f="poll", outcome="ok", invoked_ns=at, completed_ns=at, did=did
    )


def ran(
    *history: Operation,
    logs: dict[str, str] | None = None,
    starts: dict[int, int] | None = None,
    instance: int | None = None,
) -> ReadAndWritten:
    """Builds a run from its operations, its logs, and the offset at which each reader begins."""
    written = {ORDERS: "a b c"} if logs is None else logs
    readers = {7: 0} if starts is None else starts
    return ReadAndWritten(
        history=history,
        logs={
            key: tuple((at, value) for at, value in enumerate(log.split()) if value != ".")
            for key, log in written.items()
        },
        starts={process: {ORDERS: start} for process, start in readers.items()},
        instances={process: process if instance is None else instance for process in readers},
    )


ALL = ((0, "a"), (1, "b"), (2, "c"))


@pytest.mark.parametrize("run", [
    ran(received_by(7, *ALL)),
    ran(received_by(7, *ALL[:2]), received_by(7, ALL[2])),
    ran(received_by(7, *ALL[1:]), starts={7: 1}),
    ran(received_by(7, *ALL), received_by(8, *ALL), starts={7: 0, 8: 0}),
    ran(starts={7: 3}),
])  # fmt: skip
def test_a_reader_from_any_offset_receives_everything_in_order(
    run: ReadAndWritten,
) -> None:
    assert [breach for holds in ALWAYS.values() for breach in holds(run)] == []


BROKEN = {
    "an offset is read twice": (
        ran(received_by(7, *ALL), received_by(7, ALL[2])),
        {"consumer_order", "any_offset_readable"},
    ),
    "two positions belong to one instance": (
        ran(received_by(7, *ALL), received_by(8, *ALL), starts={7: 0, 8: 0}, instance=0),
        {"consumer_order"},
    ),
    "an offset has no record": (
        ran(received_by(7, ALL[0], ALL[2]), logs={ORDERS: "a . c"}),
        {"any_offset_readable"},
    ),
    "another record is read": (ran(received_by(7, (0, "z"), *ALL[1:])), {"any_offset_readable"}),
    "the end is never reached": (ran(received_by(7, *ALL[:2])), {"any_offset_readable"}),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_run_breaks_exactly_these_claims(case: str) -> None:
    run, claims = BROKEN[case]
    assert {breach.claim for holds in ALWAYS.values() for breach in holds(run)} == claims


@given(st.lists(st.integers(0, 5), max_size=6))
def test_consumer_order_agrees_with_sorting(offsets: list[int]) -> None:
    run = ran(*(received_by(7, (offset, f"v{offset}")) for offset in offsets))
    assert bool(ALWAYS["consumer_order"](run)) == (offsets != sorted(set(offsets)))


ACROSS = SOMETIMES["order_is_per_partition"]["read in another order than sent"]
PLACES = SOMETIMES["two_writers_two_readers"]["records of two producers change places"]
APART = SOMETIMES["two_writers_two_readers"]["two consumers are apart"]


def test_a_later_record_of_another_partition_can_be_read_first() -> None:
    logs = {ORDERS: "a", OTHER: "b"}
    sends = (sent(1, "a"), sent(3, "b", key=OTHER))
    b_first = (received_by(7, (0, "b"), key=OTHER), received_by(7, (0, "a")))
    assert ACROSS(ran(*sends, *b_first, logs=logs))
    assert not ACROSS(ran(*sends, *reversed(b_first), logs=logs))
    at_once = (sent(1, "a"), sent(2, "b", key=OTHER))  # the second began before the first ended
    assert not ACROSS(ran(*at_once, *b_first, logs=logs))
    of_two = (sent(1, "a"), sent(3, "b", key=OTHER, process=2))
    assert not ACROSS(ran(*of_two, *b_first, logs=logs))


def test_records_of_two_producers_change_places_but_not_those_of_one() -> None:
    logs = {ORDERS: "b a"}
    assert PLACES(ran(sent(1, "a"), sent(2, "b", process=2), logs=logs))
    assert not PLACES(ran(sent(1, "b"), sent(2, "a", process=2), logs=logs))
    assert not PLACES(ran(sent(1, "a"), sent(2, "b"), logs=logs))


def test_two_consumers_are_apart_if_one_reads_a_record_that_the_other_has_passed() -> None:
    assert APART(ran(received_by(7, *ALL), received_by(8, ALL[0]), starts={7: 0, 8: 0}))
    assert not APART(ran(received_by(7, ALL[0]), received_by(8, *ALL), starts={7: 0, 8: 0}))
    assert not APART(ran(received_by(7, *ALL)))
