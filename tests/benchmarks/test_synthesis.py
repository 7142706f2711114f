"""A synthetic history is well-formed, has no anomaly, and depends only on its seed."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.analyze.synthesis import Synthesis, synthesize
from checkers.histories.io import operation_rows, reading, recorded
from model.histories import CommitOffset, EndOffset, FetchOffset, Poll, Send
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.catalogue import CATALOGUE


def made(tmp_path: Path, *, rows: int = 700, partitions: int = 3, seed: int = 0) -> Path:
    folder = tmp_path / f"{rows}-{partitions}-{seed}"
    synthesize(Synthesis(folder=folder, rows=rows, partitions=partitions, seed=seed))
    return folder


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("partitions", [1, 3, 50])
def test_a_synthetic_history_is_sound(tmp_path: Path, partitions: int, seed: int) -> None:
    history = recorded.operations(made(tmp_path, partitions=partitions, seed=seed))

    assert [one.id for one in ASSUMPTIONS if one.find(history)] == []
    assert [one.id for one in CATALOGUE if one.find(history)] == []


def test_all_kinds_of_operations_occur(tmp_path: Path) -> None:
    history = recorded.operations(made(tmp_path, rows=6_000))

    kinds = Counter(type(micro) for operation in history for micro in operation.did)
    outcomes = Counter((operation.f, operation.outcome) for operation in history)
    processes = {operation.process for operation in history}
    assert kinds[Send] > 2_000
    assert kinds[Poll] > 2_000
    assert kinds[EndOffset] > 100
    assert kinds[CommitOffset] > 4
    assert kinds[FetchOffset] > 0
    assert outcomes["txn", "info"] > 1 < outcomes["txn", "fail"]
    assert outcomes["init_producer", "ok"] <= outcomes["txn", "info"]
    assert sum(operation.completed_ns is None for operation in history) == 8
    assert len(processes) > 18  # some retired


def test_operations_of_different_processes_are_open_at_once(tmp_path: Path) -> None:
    history = recorded.operations(made(tmp_path, rows=6_000))
    completed = [o for o in history if o.completed_ns is not None]

    overtaken = sum(second.invoked_ns < first.invoked_ns for first, second in pairwise(completed))
    assert overtaken > len(completed) / 4


def test_markers_and_aborted_records_leave_gaps_in_the_offsets(tmp_path: Path) -> None:
    history = recorded.operations(made(tmp_path, partitions=1))
    seen = {m.offset for o in history for m in o.did if isinstance(m, Poll)}

    assert len(seen) < max(offset for offset in seen if offset is not None)


def test_a_seed_determines_the_history(tmp_path: Path) -> None:
    first, again = (made(tmp_path / name, seed=7) for name in "ab")
    other = made(tmp_path, seed=8)

    assert reading.whole(first) == reading.whole(again)
    assert reading.whole(first) != reading.whole(other)


def test_parts_have_the_schema_of_a_recorder_and_split_no_operation(tmp_path: Path) -> None:
    folder = made(tmp_path, rows=1_200_000, partitions=256)
    parts = sorted(folder.glob("part-*.parquet"))

    assert [pq.read_schema(part) for part in parts] == [operation_rows.SCHEMA] * 2
    ops = [pq.read_table(part, columns=["op", "position"]) for part in parts]
    assert ops[0]["op"][-1].as_py() + 1 == ops[1]["op"][0].as_py()
    assert ops[1]["position"][0].as_py() == 0
    assert abs(sum(table.num_rows for table in ops) / 1_200_000 - 1) < 0.06
    assert isinstance(ops[0], pa.Table)
