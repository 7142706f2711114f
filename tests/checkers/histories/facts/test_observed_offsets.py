"""Which offsets clients observed, row by row, and which of them are checked."""

from __future__ import annotations

import pyarrow as pa

from checkers.histories.columnar.fingerprints import fingerprints
from checkers.histories.facts.observed_offsets import (
    COMMITTED_END,
    END,
    KINDS,
    SEND,
    STABLE_END,
    ObservedOffsets,
    checked_rows,
    observed_offsets,
)
from checkers.histories.io.operation_rows import as_table
from checkers.histories.plan.batch import Batch
from model.histories import Isolation
from model.history_notation import history

SEVERAL = """
    p1  send k=a ...
    c1  poll                                       -> ok k=a@0
    p1  ...                                        -> ok @0
    c1  end_offset{isolation=read_uncommitted} k   -> ok @1
    c1  end_offset j                               -> ok @7
    c1  start_offset k                             -> ok @0
    p1  send k=b                                   -> ok @?
    p1  send k=c                                   -> info @2
    p1  send k=d                                   -> fail @3
    p1  send k=e                                   -> never
"""


def observed(text: str, isolation: Isolation = "read_committed") -> ObservedOffsets:
    return observed_offsets(Batch(as_table(history(text))), isolation)


def test_an_offset_is_observed_if_its_operation_ended_ok() -> None:
    of = observed(SEVERAL)
    columns = (of.kind, of.offset, of.end, of.invoked_ns, of.completed_ns, of.committed)
    assert [*zip(*(column.tolist() for column in columns), strict=True)] == [
        (KINDS.index("poll"), 0, 1, 20, 25, True),
        (KINDS.index("send"), 0, 1, 10, 35, False),
        (KINDS.index("end_offset"), 1, 1, 40, 45, False),
        (KINDS.index("end_offset"), 7, 7, 50, 55, True),
    ]


def test_each_row_has_the_fingerprint_of_its_key() -> None:
    batch = Batch(as_table(history(SEVERAL)))
    of = observed_offsets(batch, "read_committed")
    k, j = fingerprints(pa.array(["k", "j"]), batch.hash_seed).tolist()
    assert of.keys[of.key].tolist() == [k, k, k, j]


def test_the_isolation_level_that_a_row_lacks_is_assumed() -> None:
    assert observed(SEVERAL, "read_uncommitted").committed.tolist() == [False] * 4
    recorded = "c1 end_offset{isolation=read_committed} k -> ok @1"
    assert observed(recorded, "read_uncommitted").committed.tolist() == [True]


def test_sends_and_end_offsets_are_checked_and_polls_are_not() -> None:
    of = observed(SEVERAL)
    assert {check: rows.tolist() for check, rows in checked_rows(of)} == {
        SEND: [1],
        END: [2],
        COMMITTED_END: [3],
        STABLE_END: [3],
    }
