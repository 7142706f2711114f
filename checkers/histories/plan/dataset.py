"""Defines datasets: rows in partitions.

A kernel is a function from a batch of rows to a table. A dataset can be processed by kernels in two
ways:

    collect     the kernels process each partition separately, all kernels in one pass; the driver
                gets their results, concatenated in the order of the partitions
    shuffle     the kernels return rows with a shuffle key; all rows with equal keys get into one
                partition, in the order of the partitions from which they came

The verdict of a query plan must be the same in this process and on Spark. The verdict must not
depend on the operation at which one partition ends and the next partition begins.

A partition of the history has complete operations in completion order. All operations of a
partition come before the operations of the next partition. A shuffled partition guarantees only
that it has all rows of each of its keys.
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
        """Returns one table for each kernel (function on rows): its results for all partitions,
        in their order.
        """
        ...


class HistoryDataset(Dataset, Protocol):
    @property
    def rows(self) -> int: ...

    def with_hash_seed(self, hash_seed: int) -> Self:
        """Returns the same dataset with another seed for the 64-bit hashes of its texts."""
        ...

    def measured_by(self, measured: Measured) -> Self:
        """Returns the same dataset with a callback: `measured` is called with the cost of each
        pass, after the pass.
        """
        ...

    def cached(self, *, on_disk: bool) -> AbstractContextManager[Self]:
        """Yields the same dataset with a cache for its columns. The cache is deleted at the end of
        the `with` block.

        With `on_disk`, the columns that do not fit into memory are stored on disk. Otherwise they
        are not stored.
        """
        ...

    def shuffle(
        self, kernels: Mapping[Source, Kernel], partitions: int
    ) -> AbstractContextManager[Mapping[Source, Dataset]]:
        """Yields, for each kernel (function on rows), a dataset of the rows that the kernel
        returned.

        A row goes to the partition with the number `shuffle key modulo partitions`.
        """
        ...
