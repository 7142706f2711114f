"""Datasets: a source in partitions, and the two ways to process it.

    collect     kernels process each partition alone, all in one pass; the driver gets their
                results, concatenated in the order of the partitions
    shuffle     kernels return rows with a shuffle key; rows with one key come into one partition,
                in the order of the partitions they came from

A kernel depends neither on the partitions of its source nor on the executor. So a plan runs in this
process (`in_process.py`) and on Spark (`checkers.spark.dataset`) unchanged.

A partition of the history holds whole operations in completion order, and every operation of a
partition has a smaller number than those of the next one. A shuffled partition only guarantees
that all rows of a key are there. No verdict depends on where the boundaries of partitions are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, Self, TypeVar

import pyarrow as pa

from checkers.histories.plan.kernel import Kernel

NameT = TypeVar("NameT")


class Dataset(Protocol):
    """A source in partitions."""

    def collect(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        """The result of each kernel over all partitions, in the order of the partitions."""
        ...


class HistoryDataset(Dataset, Protocol):
    """A history in partitions."""

    @property
    def rows(self) -> int:
        """About how many rows the history has."""
        ...

    def with_hash_seed(self, hash_seed: int) -> Self:
        """The same partitions; fingerprints use this seed."""
        ...

    def cached(self, *, on_disk: bool) -> AbstractContextManager[Self]:
        """The same partitions for many passes: columns that were read are kept for the block.

        Columns that do not fit into memory are kept only with `on_disk`.
        """
        ...

    def shuffle(
        self, kernels: Mapping[NameT, Kernel], partitions: int
    ) -> AbstractContextManager[Mapping[NameT, Dataset]]:
        """For each kernel a dataset of its rows in this many partitions, for the block.

        A row's partition is its shuffle key modulo the number of partitions.
        """
        ...
