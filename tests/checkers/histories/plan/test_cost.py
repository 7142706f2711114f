"""A pass reports what it read and kept: rows, bytes and seconds of tasks and stages."""

from __future__ import annotations

import pyarrow as pa
import pytest

from checkers.histories.analysis import analyze
from checkers.histories.io.operation_rows import as_table
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.cost import READING, PassCost, StageCost, TaskCost
from checkers.histories.plan.in_process import LocalDataset
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.partition import InMemory
from checkers.histories.plan.shuffle import SHUFFLE_KEY
from checkers.histories.plan.stage import Source
from model.history_notation import history

NUMBERS = pa.schema([("n", pa.int64())])
SHUFFLED = pa.schema([(SHUFFLE_KEY, pa.int64()), ("n", pa.int64())])


def numbers(*parts: list[int]) -> tuple[LocalDataset, list[PassCost]]:
    costs: list[PassCost] = []
    partitions = tuple(InMemory(pa.table({"n": part}, NUMBERS)) for part in parts)
    return LocalDataset(partitions).measured_by(costs.append), costs


def even(batch: Batch) -> pa.Table:
    return batch.where(batch.ints("n") % 2 == 0).table


def keyed(batch: Batch) -> pa.Table:
    return pa.table({SHUFFLE_KEY: batch.ints("n"), "n": batch.ints("n")}, SHUFFLED)


EVEN = Kernel("even numbers", ("n",), NUMBERS, even)


def test_a_pass_has_a_task_for_each_partition() -> None:
    dataset, costs = numbers([1, 2, 3], [4], [])
    dataset.collect([EVEN, Kernel("nothing", (), NUMBERS, lambda _: NUMBERS.empty_table())])
    (cost,) = costs
    assert (cost.source, cost.into, cost.rows, cost.bytes) == ("operations", (), 4, 32)
    assert [(task.rows, task.bytes) for task in cost.tasks] == [(3, 24), (1, 8), (0, 0)]
    kept = {name: (one.rows, one.bytes) for name, one in cost.stages().items()}
    assert kept == {READING: (0, 0), "even numbers": (2, 16), "nothing": (0, 0)}
    stages_s = sum(one.seconds for one in cost.stages().values())
    assert 0 < stages_s <= sum(task.seconds for task in cost.tasks) <= cost.seconds


def test_a_shuffle_is_a_pass_into_its_sources() -> None:
    dataset, costs = numbers([1, 2], [3])
    with dataset.shuffle({Source.SENDS: Kernel("by n", ("n",), SHUFFLED, keyed)}, 2) as shuffled:
        shuffled[Source.SENDS].collect([EVEN])
    assert [(one.source, one.into, one.rows) for one in costs] == [
        ("operations", ("sends",), 3),
        ("sends", (), 3),
    ]
    assert costs[0].stages()["by n"].rows == 3


def test_a_kernel_reads_only_the_operations_that_it_names() -> None:
    found = analyze(as_table(history("p1 send k=a -> ok @5\np2 send k=b -> ok @3")))
    last = found.passes[-1]
    assert list(last.stages()) == [READING, "reading the operations of violations"]
    assert last.rows == 2


@pytest.mark.parametrize(
    ("seconds", "skew"), [([1, 1, 1], 1), ([1, 9, 2], 4.5), ([0.5], 1), ([], 1)]
)
def test_skew_is_the_longest_task_over_the_median(seconds: list[float], skew: float) -> None:
    busy = [TaskCost(rows=1, bytes=8, seconds=one, stages={}) for one in seconds]
    idle = TaskCost(rows=0, bytes=0, seconds=0.001, stages={})
    cost = PassCost(source="operations", seconds=1, tasks=(*busy, idle))
    assert cost.skew == skew


def test_the_costs_of_a_stage_are_added() -> None:
    a, b = StageCost(seconds=1, rows=2, bytes=3), StageCost(seconds=4, rows=5, bytes=6)
    tasks = tuple(TaskCost(rows=1, bytes=1, seconds=1, stages={"s": one}) for one in (a, b))
    cost = PassCost(source="operations", seconds=1, tasks=tasks)
    assert cost.stages() == {"s": StageCost(seconds=5, rows=7, bytes=9)}
