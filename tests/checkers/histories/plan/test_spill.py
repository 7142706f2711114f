"""Tables written to disk are read back unchanged; integers are stored in the narrowest width."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from checkers.histories.columnar.arrow import as_ints
from checkers.histories.plan import shuffle
from checkers.histories.plan.batch import UNKNOWN_OFFSET
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.partition import InMemory, Partition
from checkers.histories.plan.shuffle import SHUFFLE_KEY, Outgoing, merged, split_by_key
from checkers.histories.plan.spill import (
    OnDisk,
    SpillStore,
    only_table_in,
    read_in_turn,
    shrunk,
    spill,
)

of_64_bits = st.integers(-(2**63), 2**63 - 1)
sizes = st.sampled_from([8, 16, 32, 64]).flatmap(
    lambda bits: st.lists(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
)
TABLES = [
    pa.table({"op": [1, 2, 3], "value": ["a", None, "b"]}),
    pa.table({"op": pa.array([], pa.int64()), "value": pa.array([], pa.string())}),
    pa.table({"op": [2**40], "value": pa.array([None], pa.string())}),
]


@given(sizes)
@example([2**31 - 1])
@example([2**31])
@example([-(2**31)])
@example([-(2**31) - 1])
def test_integers_are_stored_in_the_narrowest_width(numbers: list[int]) -> None:
    (column,) = shrunk(pa.table({"n": pa.array(numbers, pa.int64())})).columns
    assert as_ints(column).tolist() == numbers
    width = column.type.bit_width
    fit = [bits for bits in (8, 16, 32, 64) if all(-(2**bits) <= 2 * n < 2**bits for n in numbers)]
    assert width == (fit[0] if numbers else 64)


@given(st.lists(st.none() | of_64_bits), of_64_bits)
def test_nulls_stay_null(numbers: list[int | None], null: int) -> None:
    (column,) = shrunk(pa.table({"n": pa.array(numbers, pa.int64())})).columns
    assert column.to_pylist() == numbers
    assert as_ints(column, null).tolist() == [null if n is None else n for n in numbers]


@given(st.lists(st.none() | st.text(max_size=3)))
def test_texts_are_unchanged_with_and_without_a_dictionary(texts: list[str | None]) -> None:
    column = pa.array(texts, pa.string())
    table = shrunk(pa.table({"few": column.dictionary_encode(), "many": column}))
    assert [it.to_pylist() for it in table.columns] == [texts, texts]


def test_tables_are_appended_to_a_file(tmp_path: Path) -> None:
    spilled = [spill(table, tmp_path / "some.arrow") for table in TABLES]
    assert [it.at + it.size for it in spilled][:-1] == [it.at for it in spilled][1:]
    assert [it.rows for it in spilled] == [3, 0, 1]
    assert [it.read(["op", "value"]) for it in spilled] == TABLES
    assert spilled[0].read(["value"]).schema.names == ["value"]
    assert only_table_in(tmp_path / "some.arrow") == TABLES[0]


def test_parts_are_read_in_order_from_memory_and_files(tmp_path: Path) -> None:
    parts: list[Partition] = [
        *(spill(table, tmp_path / "some.arrow") for table in TABLES),
        InMemory(TABLES[0]),
        spill(TABLES[2], tmp_path / "more.arrow"),
        spill(TABLES[0], tmp_path / "some.arrow"),
    ]
    in_turn = [TABLES[number].select(["op"]) for number in (0, 1, 2, 0, 2, 0)]
    assert [*read_in_turn(parts, ["op"])] == in_turn


@pytest.mark.parametrize("memory_bytes", [0, 100, 1 << 20])
def test_tables_that_exceed_memory_go_to_disk(tmp_path: Path, memory_bytes: int) -> None:
    store = SpillStore(tmp_path, memory_bytes)
    kept = [(number, table, store.keep(number, table)) for number in (7, 8) for table in TABLES]
    assert all(it.read(["op", "value"]) == table for _, table, it in kept)
    assert sum(table.nbytes for _, table, it in kept if isinstance(it, InMemory)) <= memory_bytes
    spilt = {number for number, _, it in kept if isinstance(it, OnDisk)}
    assert {file.name for file in tmp_path.iterdir()} == {f"{number}.arrow" for number in spilt}
    assert bool(spilt) == (memory_bytes < 1 << 20)
    store.drop(7)
    assert {file.name for file in tmp_path.iterdir()} == {f"{it}.arrow" for it in spilt - {7}}


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 300) | of_64_bits)), max_size=4),
    st.integers(1, 4),
)
@example([[(0, UNKNOWN_OFFSET), (0, 1)], [(0, 2)]], 1)
def test_split_rows_of_any_width_are_merged_in_order(
    batches: list[list[tuple[int, int]]], count: int
) -> None:
    schema = pa.schema([(SHUFFLE_KEY, pa.int64()), ("key", pa.int64()), ("n", pa.int64())])
    kernel = Kernel("split", (), schema, lambda it: it.table, ("key", "n"))
    parts: list[list[pa.Table]] = [[] for _ in range(count)]
    for batch in batches:
        keys = [key for key, _ in batch]
        columns = [pa.array(it, pa.int64()) for it in (keys, keys, [n for _, n in batch])]
        for number, part in split_by_key(pa.table(columns, schema=schema), count):
            parts[number].append(part)
    for number, some in enumerate(parts):
        table = merged(some, kernel)
        rows = [*zip(*(as_ints(table[name]).tolist() for name in ("key", "n")), strict=True)]
        every = [row for batch in batches for row in batch if row[0] % count == number]
        assert sorted(rows) == sorted(every)
        of_key = [[n for k, n in rows if k == key] for key in dict(rows)]
        assert [n for some in of_key for n in some] == [
            n for _, n in rows
        ]  # rows of a key are consecutive
        assert all(some == sorted(some) for some in of_key)
        assert np.all([it.dtype == np.int64 for it in map(as_ints, table.columns)])


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 300)), max_size=9), max_size=6),
    st.integers(1, 4),
    st.integers(1, 6),
)
def test_rows_wait_until_they_give_parts_worth_writing(
    batches: list[list[tuple[int, int]]], count: int, of_part: int
) -> None:
    schema = pa.schema([(SHUFFLE_KEY, pa.int64()), ("n", pa.int64())])
    tables = [
        pa.table([[row[n] for row in batch] for n in range(2)], schema=schema) for batch in batches
    ]
    arrived: dict[int, list[int]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shuffle, "ROWS_OF_PART", of_part)
        outgoing = Outgoing(count)
        for table in tables:
            before = outgoing.rows
            some = [*outgoing.add(table)]
            assert bool(some) == (before + table.num_rows >= of_part * count)
            for number, part in [*some, *(outgoing.rest() if table is tables[-1] else [])]:
                arrived.setdefault(number, []).extend(as_ints(part["n"]).tolist())
    every = pa.concat_tables([schema.empty_table(), *tables])
    expected = {number: as_ints(part["n"]).tolist() for number, part in split_by_key(every, count)}
    assert arrived == expected
