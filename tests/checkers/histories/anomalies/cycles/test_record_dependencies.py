"""The search for record dependencies leaves out only rows that cannot be part of a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from checkers.histories.anomalies.cycles.dependency_context import (
    UNKNOWN_SENDER,
    DependencyContext,
    UnconfirmedSenders,
)
from checkers.histories.anomalies.cycles.log_records import _last_effective_senders
from checkers.histories.anomalies.cycles.record_dependencies import (
    EDGES,
    _locations_polled_by,
    dependents_of,
    with_records,
)
from checkers.histories.anomalies.cycles.time_ranges import InfoSenders, TimeRanges
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import Pairs
from checkers.histories.columnar.sorting import NumberSet
from checkers.histories.facts.record_locations import (
    POLL_NOT_OK,
    POLL_OK,
    RECORD,
    SEND_FAIL,
    SEND_INFO,
    SEND_OK,
    UNCOMMITTED,
    shuffle_kernels,
)
from checkers.histories.facts.unconfirmed_values import find_unconfirmed
from checkers.histories.io.operation_rows import as_table
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.in_process import LocalDataset
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.partition import InMemory
from checkers.histories.plan.shuffle import SHUFFLE_KEY, merged
from checkers.histories.plan.stage import Source
from properties.anomalies.declarations import NOTHING_DECLARED
from tests.checkers.histories.plans import result_of
from tests.checkers.histories.random_histories import random_history

EVERY = range(7)
OPS = st.sampled_from(EVERY)
EDGE = st.tuples(OPS, OPS)
ROLE = st.sampled_from([SEND_OK, SEND_INFO, SEND_FAIL, POLL_OK, POLL_NOT_OK, POLL_OK + UNCOMMITTED])
OFFSET = st.sampled_from([UNKNOWN_OFFSET, 0, 1, 1 << 40])
PLACE_ROW = st.tuples(st.integers(0, 1), OFFSET, st.integers(0, 1), OPS, ROLE)
Edge = tuple[int, int]


def numbers(those: Sequence[int] | Sequence[Sequence[int]]) -> Ints:
    return np.array(those, dtype=np.int64)


def edges_of(rows: list[tuple[int, ...]]) -> Batch:
    columns = zip(EDGES.names, numbers(rows).reshape(-1, 3).T, strict=True)
    return Batch(pa.table(dict(columns), schema=EDGES))


# ---------------------------------------------------------------- time_ranges of time


@settings(max_examples=300)
@given(
    late=st.dictionaries(OPS, OPS.map(lambda after: 2 * after - 1), max_size=3),
    edges=st.lists(EDGE, max_size=4),
)
def test_every_cycle_is_inside_one_time_range(late: dict[int, int], edges: list[Edge]) -> None:
    """Every cycle of dependencies is inside one of the time ranges of `TimeRanges`.

    Every cycle has a dependency that leads back in time. There is a range for each such dependency:
    the time between its two operations. Overlapping ranges are merged.
    """
    ops = sorted(late)
    info_senders = InfoSenders(NumberSet(numbers(ops)), numbers([late[op] for op in ops]))

    def time(op: int) -> int:
        return late.get(op, 2 * op)

    assert info_senders.time(numbers(EVERY)).tolist() == [time(op) for op in EVERY]
    back = [(a, b) for a, b in edges if time(a) >= time(b)]
    spans = [{*range(time(b), time(a) + 1)} for a, b in back]
    for span in list(spans):  # put together what has a time in common
        joined = [one for one in spans if one & span]
        spans = [one for one in spans if not one & span] + [set().union(*joined)]
    made = TimeRanges.of(edges_of([(a, b, 0) for a, b in back]), info_senders)
    assert [*zip(made.begin.tolist(), made.end.tolist(), strict=True)] == sorted(
        (min(span), max(span)) for span in spans
    )
    around = range(-3, 10)
    assert made.covered.has(numbers(around)).tolist() == [
        any({2 * op, 2 * op + 1} & span for span in spans) for op in around
    ]
    between = [(time(a), time(b)) for a, b in product(EVERY, EVERY)]
    assert made.contain(*numbers(between).T).tolist() == [
        n for n, times in enumerate(between) if any({*times} <= span for span in spans)
    ]


# ---------------------------------------------------------------- where operations polled


def places(rows: list[tuple[int, ...]]) -> Batch:
    columns = zip(RECORD.names, numbers(rows).reshape(-1, len(RECORD)).T, strict=True)
    return Batch(pa.table(dict(columns)).cast(RECORD))


@given(rows=st.lists(PLACE_ROW, max_size=12), ops=st.sets(OPS, max_size=3))
def test_all_rows_at_polled_locations_are_kept(rows: list[tuple[int, ...]], ops: set[int]) -> None:
    rows.sort()
    polls = [row for row in rows if row[-1] not in (SEND_OK, SEND_INFO, SEND_FAIL)]
    polled = {(key, offset) for key, offset, _, op, _ in polls if op in ops}
    shown = _locations_polled_by(NumberSet(numbers(sorted(ops))), places(rows))
    observed = zip(*(shown.ints(name).tolist() for name in RECORD.names), strict=True)
    assert [*observed] == [row for row in rows if row[:2] in polled]


@given(rows=st.lists(PLACE_ROW, max_size=12), took_effect=st.sets(OPS, max_size=3))
def test_the_sender_of_a_record_is_the_last_one_that_took_effect(
    rows: list[tuple[int, ...]], took_effect: set[int]
) -> None:
    rows.sort()
    sent_by: dict[tuple[int, ...], int] = dict.fromkeys((row[:3] for row in rows), UNKNOWN_SENDER)
    for *place, op, role in rows:
        if role == SEND_OK or (role == SEND_INFO and op in took_effect):
            sent_by[tuple(place)] = max(op, sent_by[tuple(place)])
    made = _last_effective_senders(numbers(sorted(took_effect)), places(rows))
    assert made.tolist() == [*sent_by.values()]


def of_one_piece(history: pa.Table, kernel: Kernel) -> pa.Table:
    return merged([kernel(Batch(history)).drop_columns([SHUFFLE_KEY])], kernel)


@settings(max_examples=100)
@given(seed=st.integers(0, 1 << 40), data=st.data())
def test_records_of_pairs_are_those_of_all_dependencies(seed: int, data: st.DataObject) -> None:
    h = random_history(seed, ("txn", "send", "poll", "poll"), settled=0.9)
    table = as_table(h)
    dealt = {
        name: of_one_piece(table, kernel)
        for name, kernel in shuffle_kernels(NOTHING_DECLARED).items()
    }
    sources = {name: partial(LocalDataset, (InMemory(made),)) for name, made in dealt.items()}
    of = result_of(find_unconfirmed(), sources)
    batch = Batch(dealt[Source.RECORD_LOCATIONS])
    nobody = InfoSenders(NumberSet(numbers([])), numbers([]))
    dependencies = DependencyContext("cycles", of, UnconfirmedSenders.of(of), nobody, ww_deps=False)
    made = dependents_of(dependencies, batch)
    all_dependencies = [*zip(made.first.tolist(), made.second.tolist(), strict=True)]
    assume(all_dependencies)
    some = data.draw(st.lists(st.sampled_from(all_dependencies), max_size=3))
    pairs = Pairs.of(numbers([a for a, _ in some]), numbers([b for _, b in some]))
    rows = np.flatnonzero([pair in some for pair in all_dependencies])
    assert with_records(dependencies, pairs, batch).equals(made.labels(batch, rows))
