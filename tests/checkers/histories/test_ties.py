"""The analysis agrees with the definitions where times, offsets and log starts are equal.

An operation that ends when another begins is not before it. The record at the log start must still
exist. The histories here have only a few different times and offsets, so many of them are equal.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkers.histories.analysis import Analysis, analyze
from checkers.histories.io.operation_rows import as_table
from model.histories import (
    CommitOffset,
    EndOffset,
    FetchOffset,
    History,
    MicroOperation,
    Operation,
    Poll,
    Send,
    StartOffset,
)
from model.history_notation import history
from properties.anomalies.anomaly import worst_first
from properties.anomalies.assumptions import ASSUMPTIONS

TIMES, OFFSETS = st.integers(0, 3), st.integers(0, 3)
BY_KIND: dict[str, st.SearchStrategy[MicroOperation]] = {
    "send": st.builds(Send, st.just("k"), st.just(""), OFFSETS),
    "poll": st.builds(Poll, st.just("k"), OFFSETS, st.sampled_from("abc")),
    "end_offset": st.builds(EndOffset, st.just("k"), OFFSETS),
    "start_offset": st.builds(StartOffset, st.just("k"), OFFSETS),
    "commit_offset": st.builds(CommitOffset, st.just("k"), OFFSETS),
    "fetch_offset": st.builds(FetchOffset, st.just("k"), OFFSETS),
}


@st.composite
def operations(draw: st.DrawFn, process: int) -> Operation:
    """Draws one operation; the process has no other operation.

    If the operation is a send, no other process sends the same value.
    """
    f = draw(st.sampled_from([*BY_KIND, "send", "poll"]))
    did = draw(st.lists(BY_KIND[f], min_size=1, max_size=2))
    if f == "send":
        offsets = [one.offset for one in did if isinstance(one, Send)]
        did = [Send("k", "abcdef"[process], offsets[0])]
    begins, ends = sorted((draw(TIMES), draw(TIMES)))
    return Operation(
        process=process,
        f=f,
        outcome=draw(st.sampled_from(["ok", "ok", "ok", "info"])),
        invoked_ns=begins,
        completed_ns=ends,
        did=tuple(did),
        group="g" if f in {"commit_offset", "fetch_offset"} else None,
    )


@st.composite
def histories(draw: st.DrawFn) -> History:
    some = [draw(operations(process)) for process in range(draw(st.integers(2, 6)))]
    return tuple(sorted(some, key=lambda one: (one.completed_ns or 0, one.process)))


# Transactions of a pipeline read the topic partition `i`, and write to `o`.
KINDS = ("txn", "txn", "txn", "txn", "init_producer", "poll", "commit_offset", "fetch_offset")
READ = st.builds(Poll, st.just("i"), OFFSETS, st.just("m"))
WRITTEN = st.builds(Poll, st.just("o"), OFFSETS, st.sampled_from("abcdef"))


@st.composite
def steps(draw: st.DrawFn, process: int, value: str, begins: int, ends: int) -> Operation:
    """Draws an operation of the process `process` of a pipeline. If the operation sends a record,
    the record has the value `value`.
    """
    f = draw(st.sampled_from(KINDS))
    did: list[MicroOperation] = []
    if f == "txn":
        did += draw(st.lists(READ, min_size=1, max_size=2))
        did += [CommitOffset("i", draw(OFFSETS))] if draw(st.integers(0, 3)) else []
        did += [Send("o", value, draw(OFFSETS))] if draw(st.integers(0, 3)) else []
    elif f == "poll":
        did += draw(st.lists(WRITTEN, min_size=1, max_size=3))
    elif f.endswith("_offset"):
        did.append(replace(draw(BY_KIND[f]), key="i"))
    return Operation(
        process=process,
        f=f,
        outcome=draw(st.sampled_from(["ok", "ok", "ok", "ok", "info", "fail"])),
        invoked_ns=begins,
        completed_ns=ends,
        did=tuple(did),
        transactional_id="x" if f in {"txn", "init_producer"} else None,
        group="g",
        isolation=draw(st.sampled_from([None, None, "read_uncommitted"])),
        end_asked_ns=draw(st.none() | st.integers(begins, ends)) if f == "txn" else None,
    )


@st.composite
def pipelines(draw: st.DrawFn) -> History:
    some: list[Operation] = []
    for process, values in enumerate(("ab", "cd", "ef")):
        times = iter(sorted(draw(st.lists(st.integers(0, 5), min_size=4, max_size=4))))
        some += [draw(steps(process, value, next(times), next(times))) for value in values]
    return tuple(sorted(some, key=lambda one: (one.completed_ns or 0, one.process)))


def assert_agrees(analysis: Analysis, h: History) -> None:
    broken = {one.id for one in ASSUMPTIONS if one.find(h)}
    assert {one.assumption.id for one in analysis.broken} == broken
    for decision in () if broken else analysis.decisions:
        rows = decision.anomaly.find(h)
        assert decision.count == len(rows), decision.anomaly.id
        assert decision.worst == worst_first(rows)[: len(decision.worst)]
        if decision.verdict != "undecided":
            assert decision.observations == decision.anomaly.observed(h), decision.anomaly.id


def at(process: int, f: str, did: MicroOperation, begins: int, ends: int) -> Operation:
    return Operation(
        process=process,
        f=f,
        outcome="ok",
        invoked_ns=begins,
        completed_ns=ends,
        did=(did,),
        group="g" if f.endswith("_offset") else None,
    )


def counts(h: History, *names: str) -> list[int]:
    analysis = analyze(as_table(h))
    assert not analysis.broken
    assert_agrees(analysis, h)
    found = {one.anomaly.id: one.count for one in analysis.decisions}
    return [found[name] for name in names]


@pytest.mark.parametrize(("begins", "stale"), [(4, 0), (5, 0), (6, 1)])
def test_a_read_that_begins_when_a_send_ends_is_not_after_it(begins: int, stale: int) -> None:
    end = (
        at(1, "send", Send("k", "a", 3), 0, 5),
        at(2, "end_offset", EndOffset("k", 3), begins, 9),
    )
    assert counts(end, "stale-end-offset") == [stale]
    order = (
        at(1, "send", Send("k", "a", 3), 0, 5),
        at(2, "send", Send("k", "b", 2), begins, 9),
    )
    assert counts(order, "offset-order-inversion") == [stale]
    group = (
        at(1, "commit_offset", CommitOffset("k", 3), 0, 5),
        at(2, "fetch_offset", FetchOffset("k", 1), begins, 9),
    )
    assert counts(group, "stale-group-offset") == [stale]


@pytest.mark.parametrize("offset", [0, None])  # acknowledged, or known by the poll alone
@pytest.mark.parametrize(("ends", "early"), [(3, 1), (4, 0), (5, 0)])
def test_a_poll_that_ends_when_the_send_begins_is_not_before_it(
    ends: int, early: int, offset: int | None
) -> None:
    h = (
        at(2, "poll", Poll("k", 0, "a"), 0, ends),
        at(1, "send", Send("k", "a", offset), 4, 9),
    )
    assert counts(h, "future-read") == [early]


@pytest.mark.parametrize(("start", "lost"), [(0, 1), (1, 1), (2, 0)])
def test_the_record_at_the_log_start_must_exist(start: int, lost: int) -> None:
    h = history(
        f"""
        p1  send k=z  -> ok @0
        p1  send k=a  -> ok @1
        p1  send k=b  -> ok @2
        c1  start_offset k  -> ok @{start}
        c1  poll      -> ok k=z@0
        c2  poll      -> ok k=b@2
        """
    )
    assert counts(h, "lost-write") == [lost]


@pytest.mark.parametrize(
    ("begins", "ends", "twice"), [(0, 3, 1), (0, 4, 0), (19, 30, 0), (20, 30, 1)]
)
def test_a_commit_that_only_touches_two_transactions_may_have_set_the_group_back_between_them(
    begins: int, ends: int, twice: int
) -> None:
    step = at(1, "txn", Poll("i", 0, "m"), 4, 9)
    step = replace(step, did=(*step.did, CommitOffset("i", 1)), group="g")
    h = (
        step,
        replace(step, process=2, invoked_ns=14, completed_ns=19),
        at(3, "commit_offset", CommitOffset("i", 0), begins, ends),
    )
    ordered = tuple(sorted(h, key=lambda one: one.completed_ns or 0))
    assert counts(ordered, "input-processed-twice") == [twice]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(h=histories())
def test_kernels_agree_where_times_and_offsets_are_equal(h: History) -> None:
    assert_agrees(analyze(as_table(h)), h)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(h=pipelines())
def test_kernels_agree_where_times_of_transactions_are_equal(h: History) -> None:
    assert_agrees(analyze(as_table(h)), h)
