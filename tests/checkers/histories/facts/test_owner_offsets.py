"""The packed offsets of an owner behave as a set of offsets.

An owner is a consumer or a consumer group.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkers.histories.columnar.bitset import count, members, word_of
from checkers.histories.facts.owner_offsets import (
    OWNER_WORDS,
    OwnerOffsets,
    _order,
    _pairs,
    packed_offsets,
    without,
)

OFFSET = st.integers(0, 200) | st.integers(2**40, 2**40 + 3)
FEW = st.integers(-1, 1)
ROW = st.tuples(FEW, FEW, OFFSET)
ROWS = st.lists(ROW, max_size=30)
# owners and keys that are far apart, or fingerprints
FAR = st.sampled_from([0, 1, 2**15])
WIDE = st.sampled_from([0, 1, 2**31, -(2**63), 2**63 - 1])
ANYWHERE = OFFSET | st.sampled_from([-(2**63), 2**63 - 1])
NUMBERS = (FEW, FAR, WIDE)
OF_ANY = [st.tuples(owner, key, ANYWHERE) for owner in NUMBERS for key in NUMBERS]
ROWS_OF_ANY = st.one_of(*(st.lists(row, max_size=12) for row in OF_ANY))


def columns(rows: list[tuple[int, int, int]]) -> list[Any]:
    return [np.array([row[n] for row in rows], dtype=np.int64) for n in range(3)]


def of_batches(batches: list[list[tuple[int, int, int]]]) -> OwnerOffsets:
    words = []
    for batch, rows in enumerate(batches):
        owner, key, offset = columns(rows)
        words.append(packed_offsets(owner, key, offset, batch))
    return OwnerOffsets.of(pa.concat_tables([OWNER_WORDS.empty_table(), *words]))


def rows_of(made: OwnerOffsets, *, repeated: bool = False) -> set[tuple[int, int, int]]:
    row, offset = members(made.word, made.repeated if repeated else made.bits)
    columns = (made.owner[row].tolist(), made.key[row].tolist(), offset.tolist())
    return set(zip(*columns, strict=True))


@settings(deadline=None)
@given(batches=st.lists(ROWS, max_size=4), wanted=ROWS)
def test_the_union_of_batches_is_the_union_of_their_offsets(
    batches: list[list[tuple[int, int, int]]], wanted: list[tuple[int, int, int]]
) -> None:
    made = of_batches(batches)
    everything = [row for rows in batches for row in rows]
    twice = {row for row in everything if everything.count(row) > 1}
    assert rows_of(made) == set(everything)
    assert rows_of(made, repeated=True) == twice
    assert {*made.repeated_in[made.repeated == 0].tolist()} <= {-1}
    assert count(made.bits) == len(set(everything))
    assert made.has(*columns(wanted)).tolist() == [row in everything for row in wanted]
    for owner in (-1, 0, 1):
        repeats = [
            number
            for number, rows in enumerate(batches)
            for at, row in enumerate(rows)
            if row[0] == owner
            if row in rows[:at] or any(row in earlier for earlier in batches[:number])
        ]
        firsts = made.repeated_in[(made.owner == owner) & (made.repeated_in >= 0)]
        assert firsts.min(initial=99) == min(repeats, default=99)


@settings(deadline=None)
@given(rows=ROWS, removed=ROWS)
def test_offsets_are_removed_from_packed_words(
    rows: list[tuple[int, int, int]], removed: list[tuple[int, int, int]]
) -> None:
    _, key, offset = columns(removed)
    gone = {row[1:] for row in removed}
    owners, keys, all_offsets = columns(rows)
    left = OwnerOffsets.of(without(packed_offsets(owners, keys, all_offsets, 0), key, offset))
    assert rows_of(left) == {row for row in rows if row[1:] not in gone}


@settings(deadline=None)
@given(rows=ROWS, owner=st.integers(-1, 1), key=st.integers(-1, 1), low=OFFSET, high=OFFSET)
def test_offsets_in_an_interval_are_found(
    rows: list[tuple[int, int, int]], owner: int, key: int, low: int, high: int
) -> None:
    made = of_batches([rows])
    asked = (np.array([number]) for number in (owner, key, low, high))
    _, row, bits = made.within(*asked)
    _, found = members(made.word[row], bits)
    wanted = {row[2] for row in rows if row[:2] == (owner, key) and low <= row[2] < high}
    assert sorted(found.tolist()) == sorted(wanted)


def ordered(rows: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    return sorted({(owner, key, offset >> 6) for owner, key, offset in rows})


@settings(deadline=None)
@example(rows=[(0, 0, 2**22 - 1), (0, 0, 2**22)])  # words that differ in more than 16 bits
@given(rows=ROWS_OF_ANY)
def test_the_order_is_by_owner_key_and_word_and_stable(
    rows: list[tuple[int, int, int]],
) -> None:
    owner, key, offset = columns(rows)
    order, starts = _order(owner, key, word_of(offset))
    of_row = [(owner, key, offset >> 6) for owner, key, offset in rows]
    assert order.tolist() == sorted(range(len(rows)), key=lambda n: of_row[n])
    assert [of_row[n] for n in order[starts].tolist()] == ordered(rows)


@settings(deadline=None)
@example(rows=[(0, 2**40, 0), (2**40, 0, 0)])  # the product of both ranges has 81 bits
@given(rows=ROWS_OF_ANY.filter(len))
def test_numbers_of_pairs_ascend_with_owner_and_key(rows: list[tuple[int, int, int]]) -> None:
    owner, key, _ = columns(rows)
    number, below = _pairs(owner, key)
    named = {*zip(number.tolist(), (row[:2] for row in rows), strict=True)}
    assert all(0 <= n < below for n, _ in named)
    assert len(named) == len({*number.tolist()})
    assert [pair for _, pair in sorted(named)] == sorted({row[:2] for row in rows})


@settings(deadline=None)
@given(rows=ROWS_OF_ANY, some=st.lists(st.one_of(OF_ANY), max_size=5), left=st.integers(0, 9))
def test_words_are_found_at_their_rows(
    rows: list[tuple[int, int, int]], some: list[tuple[int, int, int]], left: int
) -> None:
    lie, (owners, keys, places) = ordered(rows), ({row[n] for row in rows} for n in range(3))
    asked = [*product(owners, keys, places), *some]
    owner, key, offset = columns(asked)
    of_asked = [(owner, key, offset >> 6) for owner, key, offset in asked]
    made = of_batches([rows])
    assert made.has(owner, key, offset).tolist() == [row in rows for row in asked]
    found = [lie.index(word) if word in lie else -1 for word in of_asked]
    assert made.at(owner, key, word_of(offset)).tolist() == found
    pairs = {word[:2] for word in lie}
    where = [bisect_left(lie, word) if word[:2] in pairs else len(lie) for word in of_asked]
    assert made._insertion_point(owner, key, word_of(offset)).tolist() == where
    # a selection has an index of its own
    few = made.where(np.arange(len(made)) >= left)
    held = [row in rows and word in lie[left:] for row, word in zip(asked, of_asked, strict=True)]
    assert few.has(owner, key, offset).tolist() == held
