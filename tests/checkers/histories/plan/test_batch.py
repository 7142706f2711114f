"""Batches are pickled; selected rows and computed columns agree with a loop over the rows."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from checkers.histories.columnar.fingerprints import fingerprints
from checkers.histories.plan.batch import Batch


def test_a_batch_is_pickled_without_computed_columns() -> None:
    batch = Batch(pa.table({"op": [1, 2]}), number=3, hash_seed=4)
    batch.derived(("something large",), lambda it: [it.ints("op")] * 1000)
    again = pickle.loads(pickle.dumps(batch))
    assert again == batch
    assert (again.number, again.hash_seed) == (3, 4)
    assert again._computed == {}


def test_an_empty_selection_holds_no_memory() -> None:
    keys = pa.array(["a", "b"] * 500).dictionary_encode()
    batch = Batch(pa.table({"op": range(1000), "key": keys}), number=0, hash_seed=0)
    nothing = batch.where(np.zeros(1000, dtype=np.bool_))
    assert nothing.table.schema == batch.table.schema
    assert len(nothing) == len(nothing.where(np.arange(0))) == 0
    assert len(nothing.rows_of(np.arange(3))) == 0
    assert nothing.table.get_total_buffer_size() < 100 < batch.table.get_total_buffer_size()


@example([], [])
@example([], [1])
@example([1, 1], [])
@example([1, 3], [2])  # between two of them
@given(st.lists(st.integers(0, 20)).map(sorted), st.sets(st.integers(-2, 22)).map(sorted))
def test_rows_of_operations_are_found(ops: list[int], wanted: list[int]) -> None:
    rows = Batch(pa.table({"op": pa.array(ops, pa.int64())})).rows_of(np.array(wanted, np.int64))
    assert rows.tolist() == [row for row, op in enumerate(ops) if op in wanted]


def of_rows(rows: list[tuple[int, str | None]], *, number: int = 0) -> Batch:
    """Returns a batch of two Arrow chunks, each with its own dictionary of keys."""
    ops, keys = [row[0] for row in rows], [row[1] for row in rows]
    half = len(rows) // 2
    columns = {
        "op": pa.chunked_array([ops[:half], ops[half:]], pa.int64()),
        "key": pa.chunked_array(
            [pa.array(some, pa.string()).dictionary_encode() for some in (keys[:half], keys[half:])]
        ),
        "value": pa.chunked_array([keys[:half], keys[half:]], pa.string()),
    }
    return Batch(pa.table(columns), number=number, hash_seed=4)


ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None])), max_size=9)


@given(
    rows=ROWS,
    columns=st.lists(st.sampled_from(["op", "key", "value"]), unique=True),
    numbers=st.lists(st.integers(0, 8), max_size=9),
)
def test_a_selection_has_the_rows_and_columns_in_the_requested_order(
    rows: list[tuple[int, str | None]], columns: list[str], numbers: list[int]
) -> None:
    batch, some = of_rows(rows, number=3), [row for row in numbers if row < len(rows)]
    made = batch.where(np.array(some, dtype=np.int64), columns)
    expected = batch.table.select(columns or ["op", "key", "value"])
    cells = expected.to_pylist()
    assert made.table.schema == expected.schema
    assert made.table.to_pylist() == [cells[row] for row in some]
    assert (made.number, made.hash_seed) == (3, 4)
    flags = np.array([row in some for row in range(len(rows))], dtype=np.bool_)
    flagged = batch.where(flags, columns).table.to_pylist()
    assert flagged == [cells[row] for row in sorted({*some})]


@given(rows=ROWS)
def test_views_of_columns_agree_with_a_loop_over_the_rows(
    rows: list[tuple[int, str | None]],
) -> None:
    batch, some = of_rows(rows), [n for n, (op, _) in enumerate(rows) if op]
    nothing = Batch(pa.Table.from_batches([], batch.table.schema), hash_seed=4)
    of_some = batch.where(np.array(some, dtype=np.int64))
    of_none = batch.where(np.zeros(len(rows), dtype=np.bool_))
    views = [(batch, rows), (of_some, [rows[n] for n in some]), (of_none, []), (nothing, [])]
    for seen, those in views:
        texts = [text for _, text in those]
        assert seen.ints("op").tolist() == [op for op, _ in those]
        for name in ("key", "value"):
            assert seen.is_valid(name).tolist() == [text is not None for text in texts]
            assert seen.is_in(name, "a", "c").tolist() == [text == "a" for text in texts]
            numbers, named = seen.codes(name)
            assert [named[n].as_py() if n >= 0 else None for n in numbers.tolist()] == texts
            expected = fingerprints(pa.array(texts, pa.string()), 4).tolist()
            assert seen.fingerprints(name).tolist() == expected
