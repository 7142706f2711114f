"""Runs an analysis plan in a test, on a history that is partitioned and shuffled."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from checkers.histories.facts.record_locations import shuffle_kernels
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.partitions import TableRows, partitions_of
from checkers.histories.plan.dataset import Dataset
from checkers.histories.plan.in_process import LocalDataset
from checkers.histories.plan.scheduler import HashCollision, run
from checkers.histories.plan.stage import Plan, Source
from model.histories import History
from properties.anomalies.declarations import Declarations

ResultT = TypeVar("ResultT")


def result_of(plan: Plan[ResultT], sources: Mapping[Source, Callable[[], Dataset]]) -> ResultT:
    """Runs a query plan and returns its result; fails if two strings of a column have the same
    hash.
    """
    result = run(plan, sources)
    assert not isinstance(result, HashCollision)
    return result


@contextmanager
def shuffled(
    h: History, declared: Declarations, rows_per_partition: int, partitions: int
) -> Generator[dict[Source, Callable[[], Dataset]]]:
    """Yields the sources of a plan: the history, and its rows shuffled into some partitions."""
    tables = [TableRows(as_table([one], first_op=number)) for number, one in enumerate(h)]
    operations = LocalDataset(partitions_of(tables, rows_per_partition))
    with operations.shuffle(shuffle_kernels(declared), partitions) as by_key:
        yield {
            Source.OPERATIONS: lambda: operations,
            Source.RECORD_LOCATIONS: lambda: by_key[Source.RECORD_LOCATIONS],
            Source.SENDS: lambda: by_key[Source.SENDS],
        }
