"""Defines kernels: functions from a batch of rows to a table. Spark executors or this process
execute them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.column_cache import CachedPartition
from checkers.histories.plan.combining import Combine
from checkers.histories.plan.cost import Meter
from checkers.histories.plan.partition import Partition


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function from a batch of rows to a table.

    A kernel is pickled together with its parameters and sent to the workers.
    """

    title: str  # what the kernel does; progress shows it
    columns: tuple[str, ...]  # the columns that it reads
    schema: pa.Schema  # of its result
    run: Callable[[Batch], pa.Table]
    # a shuffle groups the rows of a partition by the first of these columns, and sorts by the rest
    order: tuple[str, ...] = ()
    # merges rows of several partitions into fewer rows; None: the rows stay as they are
    combine: Combine | None = None
    shuffled_by: tuple[str, ...] = ()  # the parts of the shuffle key, if the kernel makes one
    is_guard: bool = False  # if it returns rows for a partition, later kernels skip the partition
    partitions: frozenset[int] | None = None  # numbers of the partitions to read; None: all
    # the operations to read, ascending; a batch has at least their rows; None: all
    ops: Ints | None = field(default=None, compare=False)

    def needs(self, number: int, partition: Partition) -> bool:
        chosen = self.partitions is None or number in self.partitions
        return chosen and (self.ops is None or partition.may_contain(self.ops))

    def __call__(self, batch: Batch) -> pa.Table:
        """Calls the kernel's function with the batch. Returns the function's table, cast to the
        schema of the kernel.
        """
        result = self.run(batch)
        assert result.schema.names == self.schema.names, (self.title, result.schema, self.schema)
        return result if result.schema.equals(self.schema) else result.cast(self.schema)


def run_kernels(
    kernels: Sequence[Kernel], partition: Partition, number: int, hash_seed: int, meter: Meter
) -> Iterator[pa.Table]:
    """Yields the table of each kernel (function on rows) for one partition.

    A guard is a kernel that returns the invalid rows of a partition. If a guard returns a row, all
    later kernels are skipped, and their tables are empty.
    """
    meter.begin(kernel.title for kernel in kernels)
    active = [kernel for kernel in kernels if kernel.needs(number, partition)]
    of_all = columns_of(kernel for kernel in active if kernel.ops is None)
    selective = [kernel for kernel in active if not {*kernel.columns} <= {*of_all}]
    ops = [kernel.ops for kernel in selective if kernel.ops is not None]
    near = partition.containing(ops) if ops else partition
    whole = _batch(partition, of_all, number, hash_seed, meter)
    part = _batch(near, columns_of(selective), number, hash_seed, meter)
    meter.rows += max(len(whole), len(part))
    rejected = False
    for kernel in kernels:
        batch = part if kernel in selective else whole
        skipped = rejected or kernel not in active
        table = (
            kernel.schema.empty_table()
            if skipped
            else meter.kept(kernel.title, partial(kernel, batch))
        )
        rejected |= kernel.is_guard and table.num_rows > 0
        yield table


def _batch(
    partition: Partition, columns: Sequence[str], number: int, hash_seed: int, meter: Meter
) -> Batch:
    cache = partition if isinstance(partition, CachedPartition) else None
    table = meter.read(partial(partition.read, columns)) if columns else pa.table({})
    return Batch(table, number, hash_seed, cache)


def columns_of(kernels: Iterable[Kernel]) -> list[str]:
    return list(dict.fromkeys(name for kernel in kernels for name in kernel.columns))


def titles(kernels: Iterable[Kernel]) -> str:
    """Returns the different titles of the kernels, joined:
    `consumed offsets; commit progress of groups`.
    """
    return "; ".join(dict.fromkeys(kernel.title for kernel in kernels))
