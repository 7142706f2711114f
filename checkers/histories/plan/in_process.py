from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from checkers.histories.columnar.memory import copied_aside
from checkers.histories.plan.column_cache import CachedPartition, ColumnCache
from checkers.histories.plan.combining import combined_tables, combiners
from checkers.histories.plan.cost import Measured, Meter, TaskCost, measured_pass, unmeasured
from checkers.histories.plan.dataset import Dataset
from checkers.histories.plan.kernel import Kernel, run_kernels, titles
from checkers.histories.plan.partition import Partition
from checkers.histories.plan.shuffle import Outgoing, merged, shuffled_schema
from checkers.histories.plan.spill import SpillStore, codec_for, read_in_turn
from checkers.histories.plan.stage import Source
from checkers.progress import Progress, Watcher, unwatched

MEMORY_BYTES: Final = 256 << 20  # of caches and shuffles in this process; more is spilled to disk


@dataclass(frozen=True, slots=True)
class LocalDataset:
    """A dataset whose partitions are read by this process, one after the other."""

    partitions: tuple[Partition, ...]
    watch: Watcher = unwatched
    hash_seed: int = 0
    memory_bytes: int = MEMORY_BYTES
    source: Source = Source.OPERATIONS
    measured: Measured = unmeasured

    @property
    def rows(self) -> int:
        return int(sum(partition.rows for partition in self.partitions))

    def with_hash_seed(self, hash_seed: int) -> LocalDataset:
        return replace(self, hash_seed=hash_seed)

    def measured_by(self, measured: Measured) -> LocalDataset:
        return replace(self, measured=measured)

    @contextmanager
    def cached(self, *, on_disk: bool) -> Generator[LocalDataset]:
        with tempfile.TemporaryDirectory(prefix="urteil-cache-") as folder:
            codec = codec_for(self.rows, Path(folder))
            cache = ColumnCache(Path(folder) if on_disk else None, self.memory_bytes, codec)
            partitions = (
                CachedPartition(partition, number, cache)
                for number, partition in enumerate(self.partitions)
            )
            yield replace(self, partitions=tuple(partitions))

    def collect(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        results = [[kernel.schema.empty_table()] for kernel in kernels]
        combined = combiners(kernel.combine for kernel in kernels)
        with measured_pass(self.measured, self.source.value) as tasks:
            for of_partition in self._pass(kernels, tasks):
                for kernel, table in enumerate(of_partition):
                    if kernel in combined:
                        combined[kernel].add(table)
                    elif table.num_rows:
                        results[kernel].append(copied_aside(table))
        for kernel, whole in combined_tables(combined):
            results[kernel].append(whole)
        return [pa.concat_tables(of_kernel) for of_kernel in results]

    @contextmanager
    def shuffle(
        self, kernels: Mapping[Source, Kernel], partitions: int
    ) -> Generator[Mapping[Source, Dataset]]:
        """Yields, for each kernel (function on rows), a dataset of its rows, partitioned by their
        shuffle key.

        The rows that exceed `memory_bytes` are stored on disk. The limit does not include the rows
        that wait until they are distributed to partitions.
        """
        into = tuple(source.value for source in kernels)
        with tempfile.TemporaryDirectory(prefix="urteil-shuffle-") as scratch:
            with measured_pass(self.measured, self.source.value, into) as tasks:
                shuffled = self._shuffled(kernels, partitions, Path(scratch), tasks)
            yield shuffled

    def _shuffled(
        self, kernels: Mapping[Source, Kernel], count: int, scratch: Path, tasks: list[TaskCost]
    ) -> Mapping[Source, LocalDataset]:
        codec, memory_bytes = codec_for(self.rows, scratch), self.memory_bytes // len(kernels)

        def store() -> SpillStore:
            return SpillStore(Path(tempfile.mkdtemp(dir=scratch)), memory_bytes, codec)

        in_transit = {name: store() for name in kernels}
        parts: dict[Source, list[list[Partition]]] = {
            name: [[] for _ in range(count)] for name in kernels
        }
        outgoing = {name: Outgoing(count) for name in kernels}

        def keep(name: Source, some: Iterator[tuple[int, pa.Table]]) -> None:
            for number, part in some:
                parts[name][number].append(in_transit[name].keep(number, part))

        for of_partition in self._pass(list(kernels.values()), tasks):
            for name, table in zip(kernels, of_partition, strict=True):
                keep(name, outgoing[name].add(table))
        for name, last in outgoing.items():
            keep(name, last.rest())
        shuffled: dict[Source, LocalDataset] = {}
        for name, kernel in kernels.items():
            columns = shuffled_schema(kernel).names
            kept = store()
            partitions: list[Partition] = []
            for number, arrived in enumerate(parts.pop(name)):
                table = merged(read_in_turn(arrived, columns), kernel)
                arrived.clear()
                in_transit[name].drop(number)
                partitions.append(kept.keep(number, table))
            shuffled[name] = replace(self, partitions=tuple(partitions), source=name)
        return shuffled

    def _pass(
        self, kernels: Sequence[Kernel], tasks: list[TaskCost]
    ) -> Iterator[Iterator[pa.Table]]:
        title, rows, total = titles(kernels), 0, len(self.partitions)
        for number, partition in enumerate(self.partitions):
            self.watch(Progress(stage=title, done=number, total=total, rows=rows))
            meter = Meter()
            yield run_kernels(kernels, partition, number, self.hash_seed, meter)
            tasks.append(meter.task())
            rows += partition.rows
        self.watch(Progress(stage=title, done=total, total=total, rows=rows))
