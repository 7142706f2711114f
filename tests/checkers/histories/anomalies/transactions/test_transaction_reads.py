"""The analysis finds the same reads of a transaction as a loop over the records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkers.histories.anomalies.transactions.transaction_reads import BlockContext, _block
from checkers.histories.columnar.bitset import Bitset, packed
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.facts.record_locations import (
    POLL_NOT_OK,
    POLL_OK,
    RECORD,
    SEND_FAIL,
    SEND_INFO,
    SEND_OK,
    UNCOMMITTED,
)
from checkers.histories.facts.unconfirmed_values import NO_UNCONFIRMED_VALUES
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch

ROLES = (SEND_OK, SEND_OK, SEND_INFO, SEND_FAIL, POLL_OK, POLL_NOT_OK, POLL_OK + UNCOMMITTED)
PLACES = st.sampled_from([(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 1, 0)])
OPS = st.integers(0, 4)
ROW_OF_PLACE = st.tuples(PLACES, OPS, st.sampled_from(ROLES))
ROWS = st.lists(ROW_OF_PLACE.map(lambda it: (*it[0], *it[1:])), max_size=15)


def numbers(those: list[int]) -> Ints:
    return np.array(those, dtype=np.int64)


def rows_of(table: pa.Table) -> list[tuple[int, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


@example(  # a transaction that is given its own record
    rows=[(0, 0, 0, 1, SEND_OK), (0, 0, 0, 1, POLL_OK)],
    sending={1},
    furthest={},
    in_order=True,
)
@settings(max_examples=200)
@given(
    rows=ROWS,
    sending=st.sets(OPS, min_size=3),
    furthest=st.dictionaries(st.integers(0, 1), st.integers(0, 1)),
    in_order=st.booleans(),
)
def test_a_block_agrees_with_a_loop_over_its_records(
    rows: list[tuple[int, ...]],
    sending: set[int],
    furthest: dict[int, int],
    in_order: bool,
) -> None:
    rows.sort()  # operations of one place ascend
    unread: list[tuple[int, ...]] = []
    early: list[tuple[int, ...]] = []
    shown: list[int] = []
    for *place, op, role in rows:
        if role != SEND_OK or op not in sending:
            continue
        key, offset, value = place
        there = [(one, what) for *at, one, what in rows if at == place]
        readers = [one for one, what in there if what == POLL_OK]
        if readers:
            shown.append(op)
        if readers and (readers[0] < op or not in_order):
            early.append((key, value, readers[0], op))
        if not readers and offset <= furthest.get(key, UNKNOWN_OFFSET):
            known = [(one, what) for one, what in there if what not in (SEND_INFO, SEND_FAIL)]
            clean = [one for one, what in known if what < UNCOMMITTED]
            unread.append((*place, op, known[0][0], clean[0]))
    keys = sorted(furthest)
    reached = {"key": keys, "offset": [furthest[key] for key in keys], "op": [0] * len(keys)}
    wanted = BlockContext(
        unconfirmed=NO_UNCONFIRMED_VALUES,
        sending=Bitset.of(packed(numbers([*sending]))),
        progress=Batch(pa.table({name: numbers(of) for name, of in reached.items()})),
        in_order=in_order,
    )
    columns = {name: [row[n] for row in rows] for n, name in enumerate(RECORD.names)}
    observed = _block(wanted, Batch(pa.table(columns, schema=RECORD)))
    assert rows_of(observed.unread) == unread
    assert rows_of(observed.early) == early
    assert observed.count["count"].to_pylist() == [len(shown)]
    for name, least in (("once", 1), ("twice", 2)):
        assert Bitset.of(observed.of_ops, name).has(np.arange(5)).tolist() == [
            shown.count(op) >= least for op in range(5)
        ]
