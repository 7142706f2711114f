"""Datasets: rows in partitions, and the two ways to process them.

A kernel is a function from a batch of rows to a table.

    collect     kernels process each partition on its own, all kernels in one pass; the driver gets
                their results, concatenated in the order of the partitions
    shuffle     kernels return rows with a shuffle key; rows with equal keys get into one partition,
                in the order of the partitions from which they came

A plan's verdict must be the same in this process and on Spark, and must not depend on where
partitions end.

A partition of the history holds whole operations in completion order. All operations of a partition
come before the operations of the next partition. A shuffled partition promises only that it has all
rows of each of its keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, Self

import pyarrow as pa

from checkers.histories.plan.cost import Measured
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Source


class Dataset(Protocol):
    def collect(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        """Returns one table for each function in `kernels`: its results for all partitions, in
        order.
        """
        ...


class HistoryDataset(Dataset, Protocol):
    @property
    def rows(self) -> int: ...

    def with_hash_seed(self, hash_seed: int) -> Self:
        """Returns the same dataset with another seed for the 64-bit hashes of texts."""
        ...

    def measured_by(self, measured: Measured) -> Self:
        """Returns the same dataset; after each pass over it, `measured` is called with the cost."""
        ...

    def cached(self, *, on_disk: bool) -> AbstractContextManager[Self]:
        """Yields the same dataset with a cache of its columns, until the `with` block ends.

        With `on_disk`, columns that do not fit into memory are cached on disk.
        """
        ...

    def shuffle(
        self, kernels: Mapping[Source, Kernel], partitions: int
    ) -> AbstractContextManager[Mapping[Source, Dataset]]:
        """Yields, for each function in `kernels`, a dataset of the rows that the function returned.

        A row goes to the partition with the number `shuffle key modulo partitions`.
        """
        ...
