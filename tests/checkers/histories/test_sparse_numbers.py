"""The numbers of operations may have gaps: only their order counts."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest

from checkers.histories.analysis import Analysis, analysis_of, analyze
from checkers.histories.columnar.arrow import as_ints
from checkers.histories.io.partitions import TableRows, partitions_of
from checkers.histories.io.reading import whole
from checkers.histories.plan.in_process import LocalDataset
from properties.anomalies.catalogue import named

SAMPLES: Final = Path(__file__).parents[2] / "data" / "jepsen"
BEGIN: Final = 1_839_041_942_387_225_857  # as a recorder numbers: microseconds, then its own number
ROWS: Final = 20  # of a partition


def counts(analysis: Analysis) -> dict[str, tuple[str, int]]:
    return {one.anomaly.id: (one.verdict, one.count) for one in analysis.decisions}


def in_partitions(table: pa.Table) -> Analysis:
    slices = [TableRows(table.slice(first, ROWS)) for first in range(0, len(table), ROWS)]
    partitions = partitions_of(slices, ROWS)
    assert len(partitions) > 1
    return analysis_of(LocalDataset(partitions), named(()), name="sparse")


@pytest.mark.parametrize("name", ["001-lost", "006-poll-skip"])
def test_gaps_between_numbers_change_no_verdict(name: str) -> None:
    table = whole(SAMPLES / f"{name}.edn")
    at = table.schema.get_field_index("op")
    ops = as_ints(table["op"])
    sparse = table.set_column(at, table.schema.field(at), pa.array(BEGIN + ops * ops * 1024))
    dense = counts(analyze(table))
    assert counts(analyze(sparse)) == dense
    assert counts(in_partitions(sparse)) == dense
    assert any(verdict == "violated" for verdict, _ in dense.values())
