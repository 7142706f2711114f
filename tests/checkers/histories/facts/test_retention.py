"""For every way to partition a history, the analysis finds the same log starts as
`properties.anomalies.retention`.
"""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.columnar.fingerprints import fingerprints
from checkers.histories.facts.retention import find_log_starts
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.partitions import TableRows, partitions_of
from checkers.histories.plan.in_process import LocalDataset
from checkers.histories.plan.stage import Source
from model.histories import History
from model.history_notation import history
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.retention import BEGINNING, NOWHERE, kept_from
from tests.checkers.histories.drawn_histories import DECLARED, histories
from tests.checkers.histories.plans import result_of


def log_starts(h: History, declared: Declarations, rows: int, *keys: str) -> list[int]:
    tables = [TableRows(as_table([one], first_op=number)) for number, one in enumerate(h)]
    dataset = LocalDataset(partitions_of(tables, rows))
    found = result_of(find_log_starts(declared), {Source.OPERATIONS: lambda: dataset})
    offsets: list[int] = found.of(fingerprints(pa.array(keys, pa.string()))).tolist()
    return offsets


@settings(max_examples=60, deadline=None)
@given(h=histories(), declared=DECLARED, rows=st.sampled_from([1, 3, 100]))
def test_log_starts_are_those_of_the_definition(
    h: History, declared: Declarations, rows: int
) -> None:
    keys = sorted({micro.key for operation in h for micro in operation.did})
    kept = kept_from(h, declared)
    assert log_starts(h, declared, rows, *keys) == [kept(key) for key in keys]


def test_the_highest_log_start_of_a_successful_look_up_counts() -> None:
    h = history("""
        c1  start_offset k    -> ok @3
        c2  start_offset k    -> ok @2
        c1  start_offset k    -> fail @5
        c1  poll              -> ok t-0=a@0 j=b@0
    """)
    compacted = Declarations(compacted=frozenset({"t"}))
    for rows in (1, 9):
        assert log_starts(h, compacted, rows, "k", "t-0", "j") == [3, NOWHERE, BEGINNING]
        assert log_starts(h, NOTHING_DECLARED, rows, "t-0") == [BEGINNING]
