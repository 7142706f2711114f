"""Sorting and grouping of columns agree with plain Python, for numbers of any size."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checkers.histories.columnar.sorting import (
    NumberSet,
    codes,
    concatenated_ranges,
    distinct,
    first_occurrences,
    grouping_order,
    member,
    run_lengths,
    run_starts,
    stable_order,
)

FEW = st.integers(0, 3)
ALIKE = FEW.map(lambda number: number << 40)  # equal in their low bits
ANY = st.integers(-(2**63), 2**63 - 1)
CELL = FEW | ALIKE | ANY
ROWS = st.lists(st.tuples(CELL, CELL, CELL), max_size=20)


@given(rows=ROWS, width=st.integers(1, 3))
def test_rows_are_grouped_by_the_first_column_and_sorted_by_the_rest(
    rows: list[tuple[int, int, int]], width: int
) -> None:
    columns = [np.array([row[n] for row in rows], dtype=np.int64) for n in range(width)]
    order = grouping_order(*columns).tolist()
    heads = list(dict.fromkeys(rows[number][0] for number in order))

    def expected(number: int) -> tuple[int, ...]:
        first, *rest = rows[number][:width]
        return (heads.index(first), *rest, number)

    assert order == sorted(range(len(rows)), key=expected)


@given(rows=ROWS)
def test_a_run_starts_where_a_column_changes(rows: list[tuple[int, int, int]]) -> None:
    rows.sort()
    columns = [np.array([row[n] for row in rows], dtype=np.int64) for n in range(3)]
    starts = run_starts(*columns)
    assert starts.tolist() == [n for n, row in enumerate(rows) if n == 0 or row != rows[n - 1]]
    assert int(run_lengths(starts, len(rows)).sum()) == len(rows)


@given(numbers=st.lists(CELL, max_size=20))
def test_codes_are_numbered_by_first_occurrence(numbers: list[int]) -> None:
    code, count = codes(np.array(numbers, dtype=np.int64))
    each = list(dict.fromkeys(numbers))
    assert (code.tolist(), count) == ([each.index(number) for number in numbers], len(each))
    assert first_occurrences(code).tolist() == [numbers.index(number) for number in each]


@given(those=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3))))
def test_ranges_are_concatenated(those: list[tuple[int, int]]) -> None:
    first, counts = np.array(those, dtype=np.int64).reshape(-1, 2).T
    numbers = [number for at, count in those for number in range(at, at + count)]
    assert concatenated_ranges(first, counts).tolist() == numbers


@given(
    numbers=st.lists(st.sampled_from([0, 1, 9]) | st.sampled_from([0, 5 << 16, 7 << 31])),
    spare=st.sampled_from([1, 2**62]),
)
def test_the_sort_is_stable(numbers: list[int], spare: int) -> None:
    order = stable_order(np.array(numbers, dtype=np.int64), max(numbers, default=0) + spare)
    assert order.tolist() == sorted(range(len(numbers)), key=lambda n: numbers[n])


@given(numbers=st.lists(CELL, max_size=20))
def test_equal_numbers_have_one_code(numbers: list[int]) -> None:
    cells = np.array(numbers, dtype=np.int64)
    code, count = codes(cells)
    assert count == len({*numbers})
    assert len({*zip(numbers, code.tolist(), strict=True)}) == len({*code.tolist()}) == count
    assert distinct(cells).tolist() == sorted({*numbers})


@given(numbers=st.lists(FEW | ANY, max_size=20), among=st.sets(FEW | ANY, max_size=8))
def test_members_are_found(numbers: list[int], among: set[int]) -> None:
    ascending = np.array(sorted(among), dtype=np.int64)
    found = member(np.array(numbers, dtype=np.int64), ascending)
    assert found.tolist() == [number in among for number in numbers]


@given(
    seed=st.integers(0, 1 << 32), among=st.integers(1, 3_000), span=st.sampled_from([4, 999, 2**62])
)
def test_members_of_a_large_set_are_found(seed: int, among: int, span: int) -> None:
    rng = np.random.default_rng(seed)
    ascending = np.unique(rng.integers(-span, span, among))
    numbers = np.r_[rng.integers(-span, span, 2_000), ascending[:500] + (1 << 40), ascending]
    expected = np.isin(numbers, ascending).tolist()
    assert member(numbers, ascending).tolist() == expected
    known = NumberSet.of(np.r_[ascending[::-1], ascending])
    assert len(known) == len(ascending)
    for asked in (known, known, pickle.loads(pickle.dumps(known))):
        assert asked.has(numbers).tolist() == expected


def test_the_filter_of_a_set_is_not_pickled() -> None:
    numbers = np.arange(0, 1 << 40, 1 << 20)
    known = NumberSet.of(numbers)
    small = len(pickle.dumps(known))
    assert known.has(numbers).all()
    assert len(pickle.dumps(known)) == small
