"""The delivery semantics of a history: exactly-once, at-least-once, at-most-once or neither."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.histories import Poll
from model.history_notation import history
from properties.anomalies.declarations import Declarations
from properties.delivery import (
    DeliveredAt,
    Delivery,
    Repetition,
    Skip,
    breaking,
    deliveries,
    explain,
    strongest,
)
from tests.properties.anomalies.small_cluster_clients import cluster_history


def test_records_delivered_once_without_gaps_are_exactly_once() -> None:
    h = history("""
        p1  send k=a k=b  -> ok @0 @1
        c1  poll          -> ok k=a@0
        c1  poll          -> ok k=b@1
    """)
    (one,) = deliveries(h)
    assert one == Delivery(
        application="process 1", records=2, repeated=0, skipped=0, repetition=None, skip=None
    )
    assert one.semantics == "exactly-once"
    assert breaking((one,)) == ()


REPEATED = history("""
    p1  send k=a k=b    -> ok @0 @1
    c1  poll{group=g}   -> ok k=a@0 k=b@1
    c2  poll{group=g}   -> ok k=b@1 k=a@0
""")


def test_a_record_delivered_twice_to_a_group_leaves_at_least_once() -> None:
    (one,) = deliveries(REPEATED)
    assert one == Delivery(
        application="group g",
        records=2,
        repeated=2,
        skipped=0,
        repetition=Repetition(
            application="group g",
            key="k",
            value="b",
            first=DeliveredAt(op=1, position=1, offset=1),
            second=DeliveredAt(op=2, position=0, offset=1),
        ),
        skip=None,
    )
    assert one.semantics == "at-least-once"
    assert explain(breaking((one,)), dict(enumerate(REPEATED))).splitlines() == [
        "at-most-once is broken: group g received b of k by operation 1 at offset 1 "
        "and again by operation 2 at offset 1",
        "  read    operation 1, process 1: poll{group=g} -> ok k=b@1  [0.000020 ms .. 0.000025 ms]",
        "  read    operation 2, process 2: poll{group=g} -> ok k=b@1  [0.000030 ms .. 0.000035 ms]",
    ]


def test_each_process_without_a_group_is_an_application() -> None:
    h = history("""
        p1  send k=a      -> ok @0
        c1  poll          -> ok k=a@0
        c2  poll          -> ok k=a@0
    """)
    assert [(it.application, it.semantics) for it in deliveries(h)] == [
        ("process 1", "exactly-once"),
        ("process 2", "exactly-once"),
    ]


def test_a_duplicate_of_a_producer_is_delivered_twice() -> None:
    h = history("""
        p1  send k=a      -> ok @0
        c1  poll          -> ok k=a@0 k=a@1
    """)
    (one,) = deliveries(h)
    assert one.semantics == "at-least-once"
    assert one.repetition == Repetition(
        application="process 1",
        key="k",
        value="a",
        first=DeliveredAt(op=1, position=0, offset=0),
        second=DeliveredAt(op=1, position=1, offset=1),
    )


@pytest.mark.parametrize(
    ("polls", "twice"),
    [
        (
            "k=a@0 k=b@1 k=a@2",
            "process 0 received a of k twice by operation 0: at offset 0 and at offset 2",
        ),
        (
            "k=a@0 k=b@1 k=a@0",
            "process 0 received a of k twice by operation 0 at offset 0: by its micro-operations "
            "0 and 2",
        ),
        (
            "k=a@? k=a@1",
            "process 0 received a of k twice by operation 0: at an unknown offset and at offset 1",
        ),
    ],
)
def test_two_deliveries_of_one_operation_are_two_places(polls: str, twice: str) -> None:
    h = history(f"c1 poll -> ok {polls}")
    words, *shown = explain(breaking(deliveries(h)), dict(enumerate(h))).splitlines()
    assert words == f"at-most-once is broken: {twice}"
    assert len(shown) == 1  # the operation that read both


SKIPPED = history("""
    p1  send k=a k=b k=c  -> ok @0 @1 @2
    c1  poll              -> ok k=a@0 k=c@2
""")


def test_a_skipped_record_leaves_at_most_once() -> None:
    (one,) = deliveries(SKIPPED)
    assert one.skip == Skip(
        application="process 1",
        key="k",
        offset=1,
        value="b",
        writer_op=0,
        beyond_offset=2,
        beyond_op=1,
    )
    assert (one.semantics, one.skipped) == ("at-most-once", 1)
    assert [it.in_words() for it in breaking((one,))] == [
        "at-least-once is broken: process 1 never received b, which operation 0 sent to k at "
        "offset 1, though operation 1 received offset 2",
    ]


def test_an_application_that_repeats_and_skips_has_neither() -> None:
    h = (*SKIPPED, *history("\n\n\nc0 poll -> ok\nc1 poll -> ok k=a@0"))
    (one,) = deliveries(h)
    assert one.semantics == "neither"
    broken = breaking((one,))
    assert [it.in_words().split()[0] for it in broken] == ["at-least-once", "at-most-once"]
    assert [it.ops for it in broken] == [(0, 1), (1, 3)]


@pytest.mark.parametrize(("ended", "skipped"), [("ok", 0), ("info", 0), ("fail", 1)])
def test_a_record_that_only_a_failed_operation_received_is_not_delivered(
    ended: str, skipped: int
) -> None:
    h = history(f"""
        p1  send k=a k=b k=c       -> ok @0 @1 @2
        t1  txn{{id=x,group=g}} o=m  -> {ended} k=a@0
        t1  txn{{id=x,group=g}} o=n  -> ok k=b@1 k=c@2
    """)
    (one,) = deliveries(h)
    assert (one.skipped, one.repeated) == (skipped, 0)


def test_a_repeated_transaction_after_an_abort_delivers_once() -> None:
    h = history("""
        p1  send k=a              -> ok @0
        t1  txn{id=x,group=g} o=m -> fail k=a@0
        t1  txn{id=x,group=g} o=n -> ok k=a@0
    """)
    (one,) = deliveries(h)
    assert one.semantics == "exactly-once"


def test_no_record_before_the_first_or_after_the_last_delivery_is_skipped() -> None:
    h = history("""
        p1  send k=a k=b k=c  -> ok @0 @1 @2
        c1  poll              -> ok k=b@1
    """)
    assert [it.semantics for it in deliveries(h)] == ["exactly-once"]


@pytest.mark.parametrize(("ended", "skipped"), [("ok", 1), ("info", 0), ("fail", 0)])
def test_only_a_record_that_took_effect_can_be_skipped(ended: str, skipped: int) -> None:
    h = history(f"""
        p1  send k=b      -> {ended} @1
        c1  poll          -> ok k=a@0 k=c@2
    """)
    assert [it.skipped for it in deliveries(h)] == [skipped]


def test_a_record_in_doubt_took_effect_once_another_application_received_it() -> None:
    h = history("""
        p1  send k=b      -> info
        c1  poll          -> ok k=a@0 k=c@2
        c2  poll          -> ok k=b@1
    """)
    assert [it.skipped for it in deliveries(h)] == [1, 0]


def test_a_record_that_retention_may_have_deleted_is_not_skipped() -> None:
    gone = (*SKIPPED, *history("c9 start_offset k -> ok @2"))
    assert [it.skipped for it in deliveries(gone)] == [0]
    compacted = Declarations(compacted=frozenset({"k"}))
    assert [it.skipped for it in deliveries(SKIPPED, compacted)] == [0]


def test_a_history_has_the_semantics_that_all_its_applications_satisfy() -> None:
    assert strongest(deliveries(REPEATED)) == "at-least-once"
    assert strongest(deliveries(SKIPPED)) == "at-most-once"
    assert strongest((*deliveries(SKIPPED), *deliveries(REPEATED))) == "neither"
    assert strongest(deliveries(history("p1 send k=a -> ok @0"))) is None


def test_the_application_with_the_most_breaches_is_shown() -> None:
    h = history("""
        c1  poll  -> ok k=a@0
        c1  poll  -> ok k=a@0
        c2  poll  -> ok k=a@0 k=b@1
        c2  poll  -> ok k=b@1 k=a@0
    """)
    assert [it.application for it in breaking(deliveries(h))] == ["process 1"]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_in_a_correct_cluster_delivery_to_readers_and_pipelines_is_exactly_once(seed: int) -> None:
    h = cluster_history(seed)
    for it in deliveries(h):
        assert it.skipped == 0, explain(breaking((it,)), dict(enumerate(h)))
        if it.application != "group h":  # which commits after it polled, and rewinds
            assert it.repeated == 0, explain(breaking((it,)), dict(enumerate(h)))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_the_counts_are_of_different_records(seed: int) -> None:
    h = cluster_history(seed, bug="the position stays after an abort")
    for it in deliveries(h):
        assert 0 <= it.repeated <= it.records
        assert it.skipped <= len(
            {(m.key, m.value) for o in h for m in o.did if isinstance(m, Poll)}
        )
