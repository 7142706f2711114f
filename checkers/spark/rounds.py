"""Runs a search on Spark in rounds. The result of each round is an RDD on the executors' disks.

The result of a round is called its *level*: for example, the states that the search found in this
round. All levels have the same partitioner. So one task reads the same partition in all levels,
without a shuffle. If an executor is lost, Spark computes the lost partitions a second time.

Each level depends on all earlier levels, so the lineage grows with the square of the number of
levels. To limit this growth, every 16 levels (`copied_together`) are copied through a shuffle to
one RDD.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checkers.rounds import REPORT, Collect, Send, Sent
from checkers.spark.run import errors_of_tasks
from checkers.spark.tasks import prepare_worker
from checkers.spark.watching import described
from model.faults import InputFault

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import SparkSession

PARTITIONS_PER_CORE: Final = 2
MOST_PARTITIONS: Final = 1 << 15

_Kind = int
_KEPT, _SENT, _REPORT, _FAULT = range(4)
# What is sent has the sender's partition, and a number there. What is kept has its level.
_Item = tuple[_Kind, tuple[int, int] | int, bytes]
_Element = tuple[int, _Item]


@dataclass
class SparkRounds:
    """The levels of a distributed search, as RDDs of a Spark session. The method `closed` is for a
    `with` block. When this block ends, Spark frees the RDDs.
    """

    spark: SparkSession
    partitions: int = 0  # 0: some for each core
    copied_together: int = 16  # levels
    levels: list[RDD[_Element]] = field(default_factory=list)  # the newest ones
    copies: list[RDD[_Element]] = field(default_factory=list)  # of the levels before them

    def __post_init__(self) -> None:
        self.context = self.spark.sparkContext
        cores = self.context.defaultParallelism
        self.partitions = self.partitions or min(PARTITIONS_PER_CORE * cores, MOST_PARTITIONS)

    @contextmanager
    def closed(self) -> Generator[SparkRounds]:
        try:
            yield self
        finally:
            for kept in (*self.copies, *self.levels):
                kept.unpersist()

    def on_workers(self, file: Path) -> Callable[[], str]:
        from pyspark import SparkFiles

        self.context.addFile(file.as_uri())
        return partial(SparkFiles.get, file.name)

    def begin(self, sent: Sequence[Sent], collect: Collect) -> list[bytes]:
        items = [(to, (_SENT, (0, n), data)) for n, (to, data) in enumerate(sent)]
        return self._collected("level 1", self.context.parallelize(items, 1), collect)

    def advance(self, title: str, send: Send, collect: Collect) -> list[bytes]:
        work = partial(_send, send, self.count - 1)
        sent = self.levels[-1].mapPartitionsWithIndex(work)
        return self._collected(title, sent, collect)

    def visit(self, title: str, level: int, send: Send) -> list[bytes]:
        later = level - len(self.copies) * self.copied_together
        rdd = self.copies[level // self.copied_together] if later < 0 else self.levels[later]
        visited = rdd.mapPartitionsWithIndex(partial(_send, send, level))
        return self._reports(title, visited)

    def _collected(self, title: str, sent: RDD[_Element], collect: Collect) -> list[bytes]:
        arrived = self._partitioned(sent)
        every = self.context.union([arrived, *self.copies, *self.levels])
        work = partial(_collect, collect, self.count)
        level = every.mapPartitionsWithIndex(work, preservesPartitioning=True)
        self.levels.append(_on_disk(level))
        reports = self._reports(title, level)
        if len(self.levels) > self.copied_together:
            self._copy(self.levels[: self.copied_together])
        return reports

    @property
    def count(self) -> int:
        return len(self.copies) * self.copied_together + len(self.levels)

    def _copy(self, levels: Sequence[RDD[_Element]]) -> None:
        together = self.context.union([*levels])
        # without a partitioner, else Spark would leave out the shuffle
        copy = _on_disk(self._partitioned(together.mapPartitionsWithIndex(_unchanged)))
        self._reports("copying levels", copy)
        for level in levels:
            level.unpersist()
        self.copies.append(copy)
        del self.levels[: len(levels)]

    def _partitioned(self, elements: RDD[_Element]) -> RDD[_Element]:
        shuffled = elements.partitionBy(self.partitions, _own)
        # in the serializer of the levels, so that a union of both does not convert the levels
        return shuffled.mapPartitionsWithIndex(_unchanged, preservesPartitioning=True)

    def _reports(self, title: str, elements: RDD[_Element]) -> list[bytes]:
        with described(self.spark, title), errors_of_tasks(), self._cancelled_by_interrupts():
            items = elements.mapPartitionsWithIndex(_only_reports).collect()
        for kind, data in items:
            if kind == _FAULT:
                raise InputFault(data.decode())
        return [data for _, data in items]

    @contextmanager
    def _cancelled_by_interrupts(self) -> Generator[None]:
        try:
            yield
        except KeyboardInterrupt:
            self.context.cancelAllJobs()
            raise


def _on_disk(level: RDD[_Element]) -> RDD[_Element]:
    from pyspark import StorageLevel

    return level.persist(StorageLevel.DISK_ONLY)


def _own(partition: int) -> int:
    return partition


def _unchanged(_number: int, elements: Iterable[_Element]) -> Iterable[_Element]:
    return elements


def _only_reports(_number: int, elements: Iterable[_Element]) -> Iterator[tuple[_Kind, bytes]]:
    return ((kind, data) for _, (kind, _, data) in elements if kind in (_REPORT, _FAULT))


def _send(send: Send, level: int, number: int, elements: Iterable[_Element]) -> Iterator[_Element]:
    prepare_worker(len(sys.modules))

    def sent() -> Iterator[Sent]:
        return send(d for _, (kind, of, d) in elements if kind == _KEPT and of == level)

    for n, (to, kind, data) in enumerate(_faults_as_items(sent)):
        yield (
            (to, (_SENT, (number, n), data))
            if kind == _KEPT
            else (number, (kind, (number, n), data))
        )


def _collect(
    collect: Collect, level: int, number: int, elements: Iterable[_Element]
) -> Iterator[_Element]:
    prepare_worker(len(sys.modules))
    arrived, earlier = _in_turn(elements)

    def kept() -> Iterator[Sent]:
        return collect((data for kind, _, data in arrived if kind == _SENT), earlier)

    yield from ((number, (kind, level, data)) for kind, _, data in arrived if kind != _SENT)
    for _, kind, data in _faults_as_items(kept):
        yield number, (kind, level, data)


def _in_turn(elements: Iterable[_Element]) -> tuple[list[_Item], Iterator[bytes]]:
    """Returns two things: the items that arrived in the current round, sorted by sender, and the
    data that were stored in earlier rounds.
    """
    rest = iter(elements)
    arrived: list[_Item] = []
    first: list[_Item] = []
    for _, item in rest:
        if isinstance(item[1], int):
            first.append(item)
            break
        arrived.append(item)
    arrived.sort(key=itemgetter(1))
    items = chain(first, (item for _, item in rest))
    return arrived, (data for kind, _, data in items if kind == _KEPT)


def _faults_as_items(task: Callable[[], Iterator[Sent]]) -> Iterator[tuple[int, _Kind, bytes]]:
    # Spark would run a task that raises again, and report a traceback of the worker.
    try:
        for to, data in task():
            yield to, _REPORT if to == REPORT else _KEPT, data
    except InputFault as fault:
        yield REPORT, _FAULT, str(fault).encode()
