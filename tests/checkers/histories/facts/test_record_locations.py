"""A shuffle brings all rows with the same location (key, offset and value) into one partition.

So the rows of a location are found within one partition. The expected results come from a loop over
the history.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.pairs import Pairs
from checkers.histories.columnar.sorting import any_in_run, first_in_run, per_key, run_starts
from checkers.histories.facts.record_locations import (
    LOCATION,
    RECORD,
    RECORD_COLUMNS,
    first_rows,
    location_of,
    shuffle_kernels,
)
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.partitions import TableRows, partitions_of
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.dataset import Dataset
from checkers.histories.plan.in_process import MEMORY_BYTES, LocalDataset
from checkers.histories.plan.stage import Source
from model.histories import History, MicroOperation, Operation, Poll, Send
from properties.anomalies.declarations import NOTHING_DECLARED

ROWS_OF_PLACES = st.lists(st.tuples(*[st.integers(0, 2)] * 3, st.integers(0, 9), st.integers(0, 4)))
NUMBERS = st.integers(0, 3) | st.integers(-(2**63), 2**63 - 1)
NUMBERED = st.lists(st.tuples(NUMBERS, NUMBERS))
Row = tuple[int, ...]


@given(rows=ROWS_OF_PLACES)
def test_rows_of_a_value_at_an_offset_have_one_location(rows: list[tuple[int, ...]]) -> None:
    rows.sort()
    cells = [dict(zip(RECORD.names, row, strict=True)) for row in rows]
    batch = Batch(pa.Table.from_pylist(cells, schema=RECORD))
    places = [[*group] for _, group in groupby(range(len(rows)), key=lambda n: rows[n][:3])]
    assert first_rows(batch).tolist() == [place[0] for place in places]
    of_row = [number for number, place in enumerate(places) for _ in place]
    assert location_of(batch).tolist() == of_row


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.booleans())))
def test_a_run_is_flagged_if_one_of_its_rows_is(rows: list[tuple[int, bool]]) -> None:
    keys = np.array([key for key, _ in rows], dtype=np.int64)
    flags = np.array([flag for _, flag in rows], dtype=np.bool_)
    runs = [any(flag for _, flag in run) for _, run in groupby(rows, key=lambda row: row[0])]
    starts = run_starts(keys)
    assert any_in_run(flags, starts).tolist() == runs
    first = [next(n for n in range(at, len(rows)) if flags[n]) for at in starts[runs].tolist()]
    assert first_in_run(flags, starts[runs]).tolist() == first


@given(keys=st.lists(st.integers(0, 3)))
def test_a_function_of_keys_is_applied_once_to_each_run_of_equal_keys(keys: list[int]) -> None:
    asked: list[int] = []

    def square(some: Ints) -> Ints:
        asked.extend(some.tolist())
        return some * some

    squares = per_key(np.array(keys, dtype=np.int64), square)
    assert squares.tolist() == [key * key for key in keys]
    assert asked == [key for key, _ in groupby(keys)]


# ---------------------------------------------------------------- pairs


def columns(pairs: Sequence[tuple[int, int]]) -> tuple[Ints, Ints]:
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return first, second


@given(pairs=NUMBERED, asked=NUMBERED)
def test_a_pair_is_found_only_if_both_its_numbers_stand_in_one_pair(
    pairs: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    known = Pairs.of(*columns(pairs))
    for those in (asked, pairs, asked + pairs):
        assert known.have(*columns(those)).tolist() == [pair in pairs for pair in those]


@given(seed=st.integers(0, 1 << 30), span=st.sampled_from([30, 2**62]))
def test_pairs_that_share_a_number_with_others_are_distinguished(seed: int, span: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-span, span, 40)
    some, asked = ([*map(tuple, rng.choice(numbers, (n, 2)).tolist())] for n in (400, 900))
    among = set(some)
    assert Pairs.of(*columns(some)).have(*columns(asked)).tolist() == [it in among for it in asked]


# ---------------------------------------------------------------- what is dealt out


def repeated_records(seed: int) -> History:
    """Draws sends and polls of few values at few offsets, so most records are repeated."""
    rng = random.Random(seed)
    offsets = (None, 0, 300, 1 << 16, *rng.choices([2, 1 << 40], k=1))

    def micro() -> MicroOperation:
        key, value, offset = rng.choice("kj"), rng.choice("ab"), rng.choice(offsets)
        return Send(key, value, offset) if rng.random() < 0.5 else Poll(key, offset, value)

    return tuple(
        Operation(
            process=0,
            f="txn",
            outcome=rng.choice(["ok", "ok", "info", "fail"]),
            invoked_ns=number,
            completed_ns=number,
            did=tuple(micro() for _ in range(rng.randrange(4))),
        )
        for number in range(rng.randrange(50))
    )


@st.composite
def partitioned(draw: st.DrawFn, h: History) -> LocalDataset:
    """Draws a way to store and partition the history, and returns it as a dataset.

    The history is stored in one to four parts, whose operation numbers may overlap. With little
    memory, a shuffle of the dataset writes its rows to disk.
    """
    rng = random.Random(draw(st.integers(0, 1 << 30)))
    many, apart = draw(st.integers(1, 4)), draw(st.booleans())
    of_op = [n * many // len(h) if apart else rng.randrange(many) for n in range(len(h))]
    table = as_table(h)
    ops = np.array(table["op"].to_pylist(), dtype=np.int64)
    of_row = np.array(of_op, dtype=np.int64)[ops]
    stretches = [TableRows(table.filter(pa.array(of_row == number))) for number in range(many)]
    chunks = partitions_of(stretches, draw(st.sampled_from([1, 20, 1000])))
    return LocalDataset(chunks, memory_bytes=draw(st.sampled_from([0, 4000, MEMORY_BYTES])))


def rows_by_source(h: History) -> dict[Source, list[Row]]:
    rows: dict[Source, list[Row]] = {Source.RECORD_LOCATIONS: [], Source.SENDS: []}
    for op, operation in enumerate(h):
        for it in operation.did:
            if isinstance(it, Send | Poll):
                key, value = fingerprints(pa.array([it.key, it.value])).tolist()
                row = (key, UNKNOWN_OFFSET if it.offset is None else it.offset, value, op)
                if isinstance(it, Send):
                    rows[Source.SENDS].append(row)
                if isinstance(it, Poll) or it.offset is not None:
                    rows[Source.RECORD_LOCATIONS].append(row)
    return rows


def rows_in(dataset: Dataset) -> list[list[Row]]:
    assert isinstance(dataset, LocalDataset)
    read = [Batch(partition.read(RECORD_COLUMNS)) for partition in dataset.partitions]
    of_rows = ([it.ints(name).tolist() for name in (*LOCATION, "op")] for it in read)
    return [[*zip(*of_partition, strict=True)] for of_partition in of_rows]


@pytest.mark.parametrize("source", [Source.RECORD_LOCATIONS, Source.SENDS])
@settings(max_examples=60, deadline=None)
@given(data=st.data(), seed=st.integers(0, 1 << 40), groups=st.integers(1, 4))
def test_operations_ascend_within_a_location_and_within_a_value(
    source: Source, data: st.DataObject, seed: int, groups: int
) -> None:
    def of(row: Row) -> Row:
        key, offset, value, _ = row
        return (key, offset, value) if source is Source.RECORD_LOCATIONS else (value, key)

    def whole(row: Row) -> Row:
        key, offset, value, _ = row
        return (key, offset >> 16) if source is Source.RECORD_LOCATIONS else (value,)

    h = repeated_records(seed)
    with data.draw(partitioned(h)).shuffle(shuffle_kernels(NOTHING_DECLARED), groups) as shuffled:
        partitions = rows_in(shuffled[source])
    assert sorted(row for rows in partitions for row in rows) == sorted(rows_by_source(h)[source])
    apart = [{whole(row) for row in rows} for rows in partitions]
    assert sum(map(len, apart)) == len(set().union(*apart))
    for rows in partitions:
        firsts = [first for first, _ in groupby(of(row)[0] for row in rows)]
        assert len(firsts) == len({*firsts})
        for first in firsts:
            alike = [(*of(row), row[-1]) for row in rows if of(row)[0] == first]
            assert alike == sorted(alike)
