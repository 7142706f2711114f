"""Long texts are shortened in the same way in a table of operations as in the operations."""

from __future__ import annotations

import pytest

from checkers.histories.io.operation_rows import as_operations, as_table
from checkers.histories.shortening import LONGEST, shortened, with_short_texts
from model.history_notation import history


@pytest.mark.parametrize("length", [1, LONGEST, LONGEST + 1])
def test_a_table_of_operations_is_shortened_as_the_operations_are(length: int) -> None:
    value = "ä" * length
    operations = history(f"""
        p1  send k={value}  -> ok @0
        c1  poll            -> ok k={value}@0
    """)
    rows = with_short_texts(as_table(operations))
    assert tuple(as_operations(rows)) == shortened(operations)
    assert (value in rows["value"].to_pylist()) == (length <= LONGEST)
