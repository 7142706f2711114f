"""A pipeline consumes each input once; its output and its offsets become visible together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.histories import Send
from model.history_notation import history
from properties.anomalies.declarations import Declarations
from properties.anomalies.groups import (
    input_processed_twice,
    input_skipped,
    offset_without_output,
    output_without_offset,
)
from properties.anomalies.groups.input_processed_twice import (
    InputProcessedTwice,
    inputs_processed_twice,
)
from properties.anomalies.groups.input_skipped import InputSkipped, inputs_skipped
from properties.anomalies.groups.offset_without_output import (
    OffsetWithoutOutput,
    offsets_without_output,
)
from properties.anomalies.groups.output_without_offset import (
    OutputWithoutOffset,
    outputs_without_offset,
)
from properties.anomalies.groups.pipelines import Step, steps
from properties.anomalies.transactions.torn_transaction import torn_transactions

TWICE = history("""
    t1  txn{id=x,group=g} o=a +i@1  -> ok @0 i=m@0
    t2  txn{id=y,group=g} o=b +i@1  -> ok @2 i=m@0
""")


def test_an_input_that_two_committed_steps_consumed_is_found() -> None:
    (row,) = inputs_processed_twice(TWICE)
    assert row == InputProcessedTwice(group="g", key="i", offset=0, first_op=0, second_op=1)
    assert input_processed_twice.observed(TWICE) == 1
    assert input_processed_twice.explain(row, dict(enumerate(TWICE))).splitlines() == [
        "group g, key i: the input at offset 0 was consumed by operation 0 and by operation 1, and "
        "both committed an offset above the input.",
        "  first   operation 0, process 0: txn{id=x,group=g} +i@1 -> ok i=m@0"
        "  [0.000010 ms .. 0.000015 ms]",
        "  second  operation 1, process 1: txn{id=y,group=g} +i@1 -> ok i=m@0"
        "  [0.000020 ms .. 0.000025 ms]",
    ]


@pytest.mark.parametrize("ended", ["fail", "info"])
def test_a_step_that_did_not_end_ok_does_not_count_as_consumer(ended: str) -> None:
    h = history(f"""
        t1  txn{{id=x,group=g}} o=a +i@1  -> {ended} @0 i=m@0
        t2  txn{{id=y,group=g}} o=b +i@1  -> ok @2 i=m@0
    """)
    assert inputs_processed_twice(h) == ()


def test_only_offsets_below_the_commit_of_the_same_group_are_consumed() -> None:
    h = history("""
        t1  txn{id=x,group=g} o=a +i@1  -> ok @0 i=m@0
        t2  txn{id=y,group=h} o=b +i@1  -> ok @2 i=m@0
        t1  txn{id=x,group=g} o=c +i@1  -> ok @4 i=n@1
        t1  txn{id=x,group=g} o=d +i@2  -> ok @6 i=n@1
    """)
    assert inputs_processed_twice(h) == ()
    assert input_processed_twice.observed(h) == 3


def test_a_step_consumes_what_it_polled_from_its_key_below_its_commits() -> None:
    h = history("""
        t1  txn{id=x,group=g} i=z +i@1 +i@3 +j@2  -> ok @0 i=m@0 j=n@1 i=o@? i=p@2 i=q@3
        t2  txn{id=y} o=a                         -> ok @0 i=m@0
        c1  commit_offset{group=g} +i@4           -> ok
    """)
    assert list(steps(h)) == [
        Step(("g", "i"), op=0, committed=3, consumed=frozenset({0, 2})),
        Step(("g", "j"), op=0, committed=2, consumed=frozenset({1})),
    ]


def test_a_step_consumes_no_record_of_another_key() -> None:
    """The transaction commits no offset of j, so a record of j has no commit to compare with."""
    h = history("t1  txn{id=x,group=g} o=a +i@3  -> ok @0 i=m@0 j=n@1")
    assert list(steps(h)) == [Step(("g", "i"), op=0, committed=3, consumed=frozenset({0}))]


@pytest.mark.parametrize(("offset", "ended", "explained"), [
    (0, "ok", True), (0, "info", True), (0, "fail", False), (1, "ok", False),
])  # fmt: skip
def test_a_rewind_explains_a_second_consumption(
    offset: int, ended: str, *, explained: bool
) -> None:
    h = history(f"""
        t1  txn{{id=x,group=g}} o=a +i@1       -> ok @0 i=m@0
        c1  commit_offset{{group=g}} +i@{offset}  -> {ended}
        t2  txn{{id=y,group=g}} o=b +i@1       -> ok @2 i=m@0
        t2  txn{{id=y,group=g}} o=c +i@1       -> ok @4 i=m@0
    """)
    first_again = [] if explained else [(0, 2)]
    last_again = [] if ended == "info" else [(2, 3)]
    rows = inputs_processed_twice(h)
    assert [(row.first_op, row.second_op) for row in rows] == first_again + last_again


SKIPPED = history("""
    p1  send i=m                     -> ok @0
    p1  send i=n                     -> ok @1
    t1  txn{id=x,group=g} o=a +i@1   -> fail @0 i=m@0
    t1  txn{id=x,group=g} o=b +i@2   -> ok @2 i=n@1
""")


def test_an_input_that_only_an_aborted_step_consumed_is_skipped() -> None:
    (row,) = inputs_skipped(SKIPPED)
    assert row == InputSkipped(
        group="g",
        key="i",
        offset=0,
        value="m",
        known_op=0,
        committed_offset=2,
        passed_op=3,
        tried_by=(2,),
    )
    assert input_skipped.observed(SKIPPED) == 2
    text = input_skipped.explain(row, dict(enumerate(SKIPPED)))
    assert "although only failed operations of the group had polled m" in text


def test_the_first_transaction_that_passed_the_input_is_named() -> None:
    h = (*SKIPPED, *history("\n" * 5 + "t9  txn{id=x,group=g} o=c +i@3   -> ok @3 i=o@2"))
    assert [row.passed_op for row in inputs_skipped(h)] == [3]


def test_a_record_of_an_aborted_transaction_is_no_input_except_for_jepsen() -> None:
    h = history("""
        p1  txn i=m                      -> fail
        c2  poll                         -> ok i=m@0
        c1  fetch_offset{group=g} i      -> ok @0
        t1  txn{id=x,group=g} o=b +i@2   -> ok @2 i=n@1
    """)
    assert inputs_skipped(h) == ()
    assert [row.offset for row in inputs_skipped(h, Declarations(jepsen=True))] == [0]


def test_an_input_that_no_operation_of_the_group_polled_is_skipped() -> None:
    h = history("""
        c1  fetch_offset{group=g} i      -> ok @0
        c2  poll                         -> ok i=m@0 i=n@1
        t1  txn{id=x,group=g} o=b +i@2   -> ok @2 i=n@1
    """)
    assert [(row.offset, row.known_op, row.tried_by) for row in inputs_skipped(h)] == [(0, 1, ())]
    assert inputs_skipped(h[1:]) == ()  # it is unknown where the group began


def test_a_step_with_unknown_outcome_may_have_consumed_the_input() -> None:
    h = history("""
        p1  send i=m i=n                 -> ok @0 @1
        c1  fetch_offset{group=g} i      -> ok @0
        t1  txn{id=x,group=g} o=a        -> info @0 i=m@0
        t2  txn{id=y,group=g} o=b +i@2   -> ok @2 i=n@1
    """)
    assert inputs_skipped(h) == ()
    silent = history("""
        p1  send i=m i=n                 -> ok @0 @1
        c1  fetch_offset{group=g} i      -> ok @0
        t2  txn{id=y,group=g} o=b +i@2   -> ok @2 i=n@1
        t1  txn{id=x,group=g} o=a        -> never
    """)
    assert [row.offset for row in inputs_skipped(silent)] == [
        0
    ]  # that transaction was not invoked yet
    earlier = (*silent[:2], *history("\n\n\nt9 txn{id=x,group=g} o=a -> never"), silent[2])
    assert inputs_skipped(earlier) == ()


@pytest.mark.parametrize(
    "other", ["txn{id=y,group=g} o=z -> ok @9", "poll{group=g} -> info", "txn{id=y} o=z -> info"]
)
def test_only_a_transaction_of_the_group_with_unknown_outcome_may_have_consumed_the_input(
    other: str,
) -> None:
    h = history(f"""
        p1  send i=m i=n                 -> ok @0 @1
        c1  fetch_offset{{group=g}} i      -> ok @0
        t1  {other}
        t2  txn{{id=x,group=g}} o=b +i@2   -> ok @2 i=n@1
    """)
    assert [row.offset for row in inputs_skipped(h)] == [0]


def test_an_input_that_the_application_jumped_over_is_not_skipped() -> None:
    h = (*SKIPPED, *history("c1 commit_offset{group=g} +i@1 -> ok"))
    assert inputs_skipped(h) == ()


def test_a_marker_or_a_deletable_record_is_not_skipped() -> None:
    h = history("""
        p1  txn i=m                      -> fail @0
        t1  txn{id=x,group=g} o=a +i@1   -> fail @0 i=l@1
        t1  txn{id=x,group=g} o=b +i@4   -> ok @2 i=l@1 i=n@3   # 2 is a marker
    """)
    assert inputs_skipped(h) == ()
    assert inputs_skipped((*SKIPPED, *history("c1 start_offset i -> ok @1"))) == ()
    assert inputs_skipped(SKIPPED, Declarations(compacted=frozenset({"i"}))) == ()


def test_a_record_seen_only_at_read_uncommitted_is_not_skipped() -> None:
    h = history("""
        c1  poll{isolation=read_uncommitted}  -> ok i=m@0
        c1  fetch_offset{group=g} i           -> ok @0
        t1  txn{id=x,group=g} o=b +i@2        -> ok @2 i=n@1
    """)
    assert inputs_skipped(h) == ()


OUTPUT_ALONE = history("""
    c1  fetch_offset{group=g} i      -> ok @none
    t1  txn{id=x,group=g} o=a +i@1   -> info i=m@0
    c2  poll                         -> ok o=a@0
    c1  fetch_offset{group=g} i      -> ok @none
""")


def test_visible_output_without_the_transactions_offset_is_found() -> None:
    (row,) = outputs_without_offset(OUTPUT_ALONE)
    assert row == OutputWithoutOffset(
        group="g",
        key="i",
        offset=-1,
        op=3,
        committed_offset=1,
        transaction_op=1,
        shown_key="o",
        shown_value="a",
        shown_op=2,
    )
    assert output_without_offset.observed(OUTPUT_ALONE) == 1
    text = output_without_offset.explain(row, dict(enumerate(OUTPUT_ALONE)))
    assert "its output a was read from o by 0.000035 ms" in text
    assert "returned no committed offset" in text


def test_the_first_reader_of_an_output_is_named() -> None:
    h = history("""
        t1  txn{id=x,group=g} o=a o=b +i@1   -> ok @0 @1 i=m@0
        c2  poll                             -> ok o=b@1
        c2  poll                             -> ok o=a@0
        c1  fetch_offset{group=g} i          -> ok @none
    """)
    (row,) = outputs_without_offset(h)
    assert (row.shown_value, row.shown_op) == ("b", 1)


def test_a_fetch_can_show_missing_offsets_after_the_start_of_a_transaction_with_output() -> None:
    transaction, fetch = history("""
        t1  txn{id=x,group=g} o=a +i@1   -> ok @0 i=m@0
        c1  fetch_offset{group=g} i      -> ok @1
    """)
    at_once = replace(transaction, invoked_ns=fetch.invoked_ns, completed_ns=fetch.completed_ns)
    (alone,) = history("c1  commit_offset{group=g} +i@1 -> ok")
    silent = replace(
        transaction, did=tuple(it for it in transaction.did if it != Send("o", "a", 0))
    )
    for other, observed in (
        (transaction, 1),
        (at_once, 0),
        (replace(transaction, outcome="fail"), 0),
        (alone, 0),
        (silent, 0),
    ):
        assert output_without_offset.observed((other, fetch)) == observed


def test_output_read_after_the_fetch_proves_nothing() -> None:
    h = history("""
        t1  txn{id=x,group=g} o=a +i@1   -> info i=m@0
        c2  poll ...
        c1  fetch_offset{group=g} i      -> ok @none
        c2  ...                          -> ok o=a@0
    """)
    assert outputs_without_offset(h) == ()
    assert output_without_offset.observed(h) == 1


def test_a_fetch_at_read_uncommitted_may_return_the_older_offset() -> None:
    h = history("""
        t1  txn{id=x,group=g} o=a +i@1                  -> ok @0 i=m@0
        c2  poll                                        -> ok o=a@0
        c1  fetch_offset{group=g,isolation=read_uncommitted} i  -> ok @none
    """)
    assert outputs_without_offset(h) == ()


def test_a_commit_of_the_lower_offset_explains_the_fetch() -> None:
    h = history("""
        t1  txn{id=x,group=g} o=a +i@1   -> ok @0 i=m@0
        c2  poll                         -> ok o=a@0
        c1  commit_offset{group=g} +i@0  -> ok
        c1  fetch_offset{group=g} i      -> ok @0
    """)
    assert outputs_without_offset(h) == ()


OFFSET_ALONE = history("""
    c1  fetch_offset{group=g} i      -> ok @none
    t1  txn{id=x,group=g} o=a +i@1   -> info i=m@0
    c1  fetch_offset{group=g} i      -> ok @1
    p1  send o=z                     -> ok @3
    c2  poll                         -> ok o=z@3
""")


def test_a_visible_offset_without_the_transactions_output_is_found() -> None:
    (row,) = offsets_without_output(OFFSET_ALONE)
    assert row == OffsetWithoutOutput(
        key="o",
        value="a",
        op=1,
        lies="up to",
        offset=2,
        known_op=3,
        read_offset=3,
        reader_op=4,
        group="g",
        input_key="i",
        committed_offset=1,
        fetch_op=2,
    )
    assert offset_without_output.observed(OFFSET_ALONE) == 1
    assert offset_without_output.observed(OFFSET_ALONE[:4]) == 0, "no reader came so far"
    assert row.size == 1
    text = offset_without_output.explain(row, dict(enumerate(OFFSET_ALONE)))
    assert "it also sent a to o, at offset 2 or below. Readers polled up to offset 3 and" in text
    assert "the committed offset became 1, which only transaction 1 can have set" in text
    assert torn_transactions(OFFSET_ALONE) == ()


def test_a_send_before_the_fetch_does_not_bound_the_record() -> None:
    h = history("""
        c1  fetch_offset{group=g} i      -> ok @none
        t1  txn{id=x,group=g} o=a +i@1   -> info i=m@0
        p1  send o=z                     -> ok @3
        c1  fetch_offset{group=g} i      -> ok @1
        c2  poll                         -> ok o=z@3
    """)
    assert offsets_without_output(h) == ()


def test_an_offset_that_another_operation_may_have_set_proves_no_commit() -> None:
    other = history("\n\nc9 commit_offset{group=g} +i@1 -> info")
    assert offsets_without_output((*OFFSET_ALONE, *other)) == ()
    assert (
        offsets_without_output(OFFSET_ALONE[1:]) == ()
    )  # the offset may be from before the history


def test_output_that_was_read_is_not_missing() -> None:
    h = (*OFFSET_ALONE, *history("c3 poll -> ok o=a@2"))
    assert offsets_without_output(h) == ()
