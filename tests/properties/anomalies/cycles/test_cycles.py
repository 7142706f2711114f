"""Each kind of cycle is found, as Jepsen finds it with the checker Elle."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.io.jepsen import operations
from model.histories import History, Operation, Outcome, Poll, Send
from model.history_notation import history
from properties.anomalies.catalogue import catalogue
from properties.anomalies.cycles.cycle import (
    FORMS,
    G2,
    G_SINGLE,
    IMPRECISE,
    Cycle,
    between,
    cycle_row,
    cycles,
    dependencies,
)
from properties.anomalies.cycles.dependencies import Dependency
from properties.anomalies.cycles.explanation import explain
from properties.anomalies.cycles.forms import anomalies
from properties.anomalies.declarations import Declarations

SAMPLES = Path(__file__).parents[3] / "data" / "jepsen"
VERDICTS: dict[str, Any] = json.loads((SAMPLES / "verdicts.json").read_text())
READS = Declarations()
WRITES = Declarations(ww_deps=True)
ALL = Declarations(ww_deps=True, rw_deps=True)


def found(h: History, declared: Declarations = READS) -> dict[str, list[tuple[int, ...]]]:
    of_forms = {form: cycles(h, form, declared) for form in (*FORMS, G_SINGLE, G2)}
    return {form: [row.ops for row in rows] for form, rows in of_forms.items() if rows}


CIRCLE = """
    t1  txn k=a  ...
    t2  txn j=b  ...
    t1  ...      -> ok @0 j=b@0
    t2  ...      -> ok @0 k=a@0
"""


def test_two_transactions_that_read_each_other_are_a_cycle() -> None:
    (row,) = cycles(history(CIRCLE), "G1c", READS)
    assert row == Cycle(
        first_op=0,
        component=2,
        ops=(0, 1),
        kinds=("wr", "wr"),
        keys=("k", "j"),
        values=("a", "b"),
        next_values=("", ""),
    )
    assert row.size == -2
    assert found(history(CIRCLE)) == {"G1c": [(0, 1)]}


CHAIN = (
    Dependency(first=0, second=1, kind="ww", key="k", value="a", next_value="b"),
    Dependency(first=1, second=2, kind="wr", key="k", value="b"),
    Dependency(first=2, second=0, kind="rw", key="k", value="b", next_value="a"),
    Dependency(first=2, second=1, kind="wr", key="j", value="c"),
)


def test_dependencies_between_two_operations_are_of_the_chosen_kinds() -> None:
    assert between(CHAIN, ("ww", "rw")) == {(0, 1): [CHAIN[0]], (2, 0): [CHAIN[2]]}


def test_the_last_operation_of_a_cycle_precedes_the_first() -> None:
    row = cycle_row((0, 1, 2), 3, between(CHAIN, ("ww", "wr", "rw")))
    assert row.kinds == ("ww", "wr", "rw")
    assert row.next_values == ("b", "", "a")


def test_the_explanation_leaves_out_records_that_give_no_reason() -> None:
    h = history("""
        t1  txn k=a  ...
        t2  txn j=b  ...
        t1  ...      -> ok @0 j=b@0 m=u@0
        t2  ...      -> ok @0 k=a@0
    """)
    (row,) = cycles(h, "G1c", READS)
    assert "T1 = operation 0, process 0: txn k=a -> ok @0 j=b@0\n" in explain(
        row, dict(enumerate(h))
    )


def test_the_explanation_reads_like_elle() -> None:
    h = history(CIRCLE)
    (row,) = cycles(h, "G1c", READS)
    lines = [
        "Let:",
        "  T1 = operation 0, process 0: txn k=a -> ok @0 j=b@0",
        "  T2 = operation 1, process 1: txn j=b -> ok @0 k=a@0",
        "Then:",
        "  - T1 < T2, because T2 polled k=a@0, which T1 sent.",
        "  - However, T2 < T1, because T1 polled j=b@0, which T2 sent: a contradiction.",
    ]
    by_number = dict(enumerate(h))
    assert explain(row, by_number).splitlines() == lines
    one_of_many = replace(row, component=1_234)
    assert explain(one_of_many, by_number).splitlines() == [
        *lines,
        "This is the shortest cycle found among 1,234 operations.",
    ]


def test_interleaved_writes_are_a_cycle_only_with_ww_deps() -> None:
    h = history("""
        t1  txn k=a j=d  ...
        t2  txn k=b j=c  ...
        t1  ...          -> ok @0 @1
        t2  ...          -> ok @1 @0
    """)
    assert found(h) == {}
    assert found(h, WRITES) == {"G0": [(0, 1)]}
    (row,) = cycles(h, "G0", WRITES)
    text = explain(row, dict(enumerate(h)))
    assert "T1 < T2, because T1 sent k=a@0, and T2 sent k=b@1, the next record of the key." in text
    assert "However, T2 < T1, because T2 sent j=c@0, and T1 sent j=d@1" in text


def test_a_cycle_may_contain_a_write_dependency() -> None:
    h = history("""
        t1  txn k=a      ...
        t2  txn k=b j=c  -> ok @1 @0
        t1  ...          -> ok @0 j=c@0
    """)
    assert found(h) == {}
    assert found(h, WRITES) == {"G1c": [(0, 1)]}


def test_a_process_that_reads_its_later_send_is_a_process_cycle() -> None:
    h = history("""
        c1  poll      -> ok k=a@0
        c1  send k=a  -> ok @0
    """)
    assert found(h) == {"G1c-process": [(0, 1)]}
    (row,) = cycles(h, "G1c-process", READS)
    assert "process 0 ran T1 before T2" in explain(row, dict(enumerate(h)))


def test_a_read_before_the_send_is_a_realtime_cycle() -> None:
    h = history("""
        c1  poll      -> ok k=a@0
        p1  send k=a  -> ok @0
    """)
    assert found(h) == {"G1c-realtime": [(0, 1)]}
    (row,) = cycles(h, "G1c-realtime", READS)
    assert explain(row, dict(enumerate(h))).splitlines()[-2:] == [
        "  - T1 < T2, because T1 completed at 0.000015 ms, and T2 was invoked after that, at "
        "0.000020 ms.",
        "  - However, T2 < T1, because T1 polled k=a@0, which T2 sent: a contradiction.",
    ]


def test_a_later_write_at_a_lower_offset_is_a_cycle() -> None:
    later = "p1 send k=a -> ok @1\n{} send k=b -> ok @0"
    assert found(history(later.format("p2")), WRITES) == {"G0-realtime": [(0, 1)]}
    assert found(history(later.format("p1")), WRITES) == {"G0-process": [(0, 1)]}


@pytest.mark.parametrize("ended", ["info", "fail"])
def test_an_operation_that_did_not_end_ok_precedes_none_in_time(ended: str) -> None:
    h = history(f"""
        c1  poll      -> {ended} k=a@0
        p1  send k=a  -> ok @0
    """)
    assert found(h) == {}


@pytest.mark.parametrize("ended", ["-> info", "-> fail", "-> never"])
def test_a_polled_record_depends_on_its_send_however_the_send_ended(ended: str) -> None:
    h = history(f"""
        c1  poll      -> ok k=a@0
        p1  send k=a  {ended}
    """)
    assert found(h) == {"G1c-realtime": [(0, 1)]}


def test_a_stronger_form_hides_the_weaker_form_around_it() -> None:
    h = history("""
        t1  txn k=a j=d  ...
        t2  txn k=b j=c  ...
        c1  poll         -> ok k=a@0 i=e@0
        p1  send i=e     -> ok @0
        t1  ...          -> ok @0 @1 i=e@0
        t2  ...          -> ok @1 @0
    """)
    assert found(h) == {"G1c-realtime": [(0, 1)]}
    assert found(h, WRITES) == {"G0": [(2, 3)]}


def test_a_reader_that_sees_one_partition_of_a_transaction_is_g_single() -> None:
    h = history("""
        p1  send k=a     -> ok @0
        t1  txn k=b j=c  -> ok @1 @0
        c1  poll         -> ok k=a@0 j=c@0
    """)
    assert found(h, WRITES) == {}
    assert found(h, ALL) == {"G-single": [(2, 1)]}
    (row,) = cycles(h, G_SINGLE, ALL)
    assert "T1 polled no further than k=a@0, and T2 sent the next, k=b@1" in explain(
        row, dict(enumerate(h))
    )


def test_a_g_single_shows_what_the_reader_missed_even_if_the_sender_read_from_it() -> None:
    """The first transaction precedes the second one by two dependencies: wr, because the second
    polled a record of the first; and rw, because the first missed a record of the second.
    """
    h = history("""
        p1  send j=x     -> ok @0
        t1  txn k=a      ...
        t2  txn j=y i=c  ...
        t1  ...          -> ok @0 j=x@0 i=c@0
        t2  ...          -> ok @1 @0 k=a@0
    """)
    assert found(h, ALL) == {"G1c": [(1, 2)], "G-single": [(1, 2)]}
    (row,) = cycles(h, G_SINGLE, ALL)
    assert (row.kinds, row.keys) == (("rw", "wr"), ("j", "i"))


def test_an_operation_that_only_time_links_to_a_cycle_is_not_counted_with_it() -> None:
    """The send of j=y comes after the first send of the cycle and before the second. No dependency
    through records links it to one of them.
    """
    h = history("""
        p2  send j=x  -> ok @0
        p1  send k=b  -> ok @1
        p1  send j=y  -> ok @1
        p1  send k=a  -> ok @0
    """)
    (row,) = cycles(h, "G0-process", WRITES)
    assert (row.ops, row.component) == ((1, 3), 2)


def test_a_lagging_reader_is_no_cycle() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        p1  send k=b  -> ok @1
        c1  poll      -> ok k=a@0
        c1  poll      -> ok k=b@1
    """)
    assert found(h, ALL) == {}


def test_two_operations_that_missed_each_other_are_g2() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        p1  send j=b  -> ok @0
        t1  txn k=c   ...
        t2  txn j=d   ...
        t1  ...       -> ok @1 j=b@0
        t2  ...       -> ok @1 k=a@0
    """)
    assert found(h, ALL) == {"G2": [(2, 3)]}


def test_each_form_counts_its_observations() -> None:
    h = history("""
        p1  send k=a  -> ok @0
        p2  send k=b  -> ok @1
        c1  poll      -> ok k=a@0
    """)
    observed = {one.id: one.observed(h) for one in anomalies(ALL)}
    assert (observed["G0"], observed["G1c-realtime"], observed["G-single"]) == (1, 1, 1)
    assert (observed["G1c"], observed["G1c-process"]) == (0, 0)  # c1 sends nothing
    assert {one.id: one.observed(h) for one in anomalies(READS)}["G0"] == 0


def test_a_polled_record_can_be_in_a_cycle_if_something_leads_to_it_and_on() -> None:
    """Each row has the end of a history, and two pairs of counts: the observations of G1c and of
    G1c-process, first without `--ww-deps` and then with it.
    """
    start = """
        c1  poll      -> ok i=x@0
        c1  send k=a  -> ok @0
    """
    for read, counts, with_ww in (
        ("c2  poll      -> ok k=a@0", (0, 0), (0, 0)),
        ("c2  poll      -> ok k=a@0\nc2 send j=b -> ok @0", (0, 1), (0, 1)),
        ("c2  poll      -> info k=a@0\nc2 send j=b -> ok @0", (0, 0), (0, 0)),
        ("c2  send j=b  -> ok @0\nc2 poll -> ok k=a@0", (0, 0), (0, 0)),
        ("c2  txn j=b   -> ok @0 k=a@0", (0, 1), (1, 1)),
        ("c2  txn j=b   -> fail k=a@0", (0, 1), (1, 1)),
    ):
        h = history(start + read)
        for declared, expected in ((READS, counts), (ALL, with_ww)):
            observed = {one.id: one.observed(h) for one in anomalies(declared)}
            assert (observed["G1c"], observed["G1c-process"]) == expected, read


# ---------------------------------------------------------------- what Elle would say


OF_CYCLES = {*FORMS, *IMPRECISE}


def in_jepsen(h: History, declared: Declarations) -> set[str]:
    """Returns the names under which jepsen.tests.kafka reports the cycles of the history."""
    rows = catalogue(replace(declared, jepsen=True))
    return {one.id for one in rows if one.id in OF_CYCLES and one.find(h)}


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_the_samples_have_the_cycles_that_jepsen_finds(name: str) -> None:
    h = tuple(operations(SAMPLES / f"{name}.edn"))
    for declared, of_jepsen in ((READS, "anomalies"), (WRITES, "anomalies_with_ww_deps")):
        assert in_jepsen(h, declared) == OF_CYCLES & set(VERDICTS[name][of_jepsen])


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draws a history that sends and polls the values k0, k1 and so on, at any times."""
    made: list[Operation] = []
    unsent = [(key, offset) for key in "kj" for offset in range(draw(st.integers(0, 4)))]
    records = list(unsent)
    for process in range(draw(st.integers(0, 6))):
        invoked = draw(st.integers(0, 8))
        completed = draw(st.integers(invoked, 9))
        outcome: Outcome = draw(st.sampled_from(["ok", "ok", "ok", "info", "fail"]))
        did: list[Send | Poll] = []
        for _ in range(draw(st.integers(0, 3))):
            if draw(st.booleans()) and unsent:
                key, offset = unsent.pop(draw(st.integers(0, len(unsent) - 1)))
                did.append(Send(key, f"{key}{offset}", offset))
            elif records:
                key, offset = draw(st.sampled_from(records))
                did.append(Poll(key, offset, f"{key}{offset}"))
        made.append(
            Operation(
                process=process % 3 if draw(st.booleans()) else process + 3,
                f="txn",
                outcome=outcome,
                invoked_ns=invoked,
                completed_ns=completed,
                did=tuple(did),
            )
        )
    return tuple(sorted(made, key=lambda o: o.completed_ns or 0))


def elle(h: History, declared: Declarations) -> Iterator[str]:
    """Yields Elle's names of the cycles in the history, such as `G1c`.

    The strongly connected components of the dependencies are searched one after another.
    """
    edges = [(d.first, d.second, d.kind) for d in dependencies(h, declared) if d.kind != "process"]

    def cyclic(component: set[int], *kinds: str) -> bool:
        inside = [(a, b) for a, b, kind in edges if kind in kinds and {a, b} <= component]
        return not nx.is_directed_acyclic_graph(nx.DiGraph(inside))

    for component in nx.strongly_connected_components(nx.DiGraph([(a, b) for a, b, _ in edges])):
        if len(component) == 1:
            continue
        if cyclic(component, "ww"):
            yield from ("G0", "PL-1-cycle-exists")
            continue
        g1c, g0_realtime = cyclic(component, "ww", "wr"), cyclic(component, "ww", "realtime")
        if g1c:
            yield from ("G1c", "PL-2-cycle-exists")
        if g0_realtime:
            yield from ("G0-realtime", "strong-PL-1-cycle-exists")
        if not g1c and not g0_realtime:
            yield from ("G1c-realtime", "strong-PL-2-cycle-exists")


def sequential(h: History) -> bool:
    return all(
        first.process != second.process
        or (first.completed_ns is not None and first.completed_ns < second.invoked_ns)
        for number, second in enumerate(h)
        for first in h[:number]
    )


@settings(max_examples=80, deadline=None)
@given(h=histories().filter(sequential), ww_deps=st.booleans())
def test_generated_histories_have_the_forms_that_elle_finds(h: History, ww_deps: bool) -> None:
    declared = Declarations(ww_deps=ww_deps)
    assert in_jepsen(h, declared) == set(elle(h, declared))


@settings(max_examples=40, deadline=None)
@given(histories())
def test_every_row_is_a_cycle_of_its_form(h: History) -> None:
    pairs = {(d.first, d.second, d.kind, d.key, d.value) for d in dependencies(h, ALL)}
    for form in (*FORMS, G_SINGLE, G2):
        for row in cycles(h, form, ALL):
            steps = zip(row.ops, (*row.ops[1:], row.ops[0]), strict=True)
            pairs_of_row = [
                (*ends, kind, key, value)
                for ends, kind, key, value in zip(
                    steps, row.kinds, row.keys, row.values, strict=True
                )
            ]
            assert set(pairs_of_row) <= pairs
            anti = row.kinds.count("rw")
            assert (anti == 1) if form == G_SINGLE else (anti >= 2) if form == G2 else not anti
            assert ("wr" in row.kinds) or not form.startswith("G1c")
            assert ("realtime" in row.kinds) == form.endswith("-realtime")
            assert explain(row, dict(enumerate(h))).endswith(".")
