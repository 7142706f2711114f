"""Datasets: a source in partitions, and the two ways to process it.

    collect     kernels process each partition on its own, all kernels in one pass; the driver gets
                their results, concatenated in the order of the partitions
    shuffle     kernels return rows with a shuffle key; rows with equal keys get into one partition,
                in the order of the partitions from which they came

The result of a kernel depends neither on how its source is partitioned nor on the executor. So a
plan runs in this process (`in_process.py`) and on Spark (`checkers.spark.dataset`) unchanged.

A partition of the history holds whole operations in completion order, and all operations of a
partition come before those of the next one. A shuffled partition only guarantees that all rows of a
key are in one partition. No verdict depends on where a partition ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, Self, TypeVar

import pyarrow as pa

from checkers.histories.plan.kernel import Kernel

NameT = TypeVar("NameT")


class Dataset(Protocol):
    """A source that is divided into partitions; `collect` runs functions (kernels) on them."""

    def collect(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        """Returns, for each kernel, the rows that it returned for all partitions, in their order.

        A kernel is a function from a batch of rows to a table.
        """
        ...


class HistoryDataset(Dataset, Protocol):
    """A history that is divided into partitions, which can also be shuffled and cached."""

    @property
    def rows(self) -> int: ...

    def with_hash_seed(self, hash_seed: int) -> Self:
        """Returns the same partitions, whose fingerprints are computed with another seed."""
        ...

    def cached(self, *, on_disk: bool) -> AbstractContextManager[Self]:
        """Yields the same partitions with a cache of their columns, until the block ends.

        Columns that do not fit into memory are kept only with `on_disk`.
        """
        ...

    def shuffle(
        self, kernels: Mapping[NameT, Kernel], partitions: int
    ) -> AbstractContextManager[Mapping[NameT, Dataset]]:
        """Yields for each kernel a dataset of the kernel's rows, which exists until the block ends.

        A kernel is a function from a batch of rows to a table with a shuffle key. A row gets into
        the partition whose number is the shuffle key modulo `partitions`.
        """
        ...
