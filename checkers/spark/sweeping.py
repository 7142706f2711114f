"""A sweep as Spark tasks: each judges some seeds where it runs, and tells the verdicts."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark import cloudpickle

from checkers.spark.session import session
from checkers.sweeping import Judged, Swept, judge

SEEDS_PER_TASK: Final = 8
dumps: Final[Any] = cloudpickle.dumps


def judged_on_spark(swept: Swept, seeds: range, master: str) -> Iterator[Judged]:
    """The verdicts on the seeds as their tasks end.

    InputFault when there is no Java, or no such master.
    """
    with session(master) as spark:
        tasks = max(1, len(seeds) // SEEDS_PER_TASK)
        numbers = spark.range(seeds.start, seeds.stop, 1, tasks)
        told = numbers.mapInArrow(partial(_judged, swept), "told binary")
        for row in told.toLocalIterator(prefetchPartitions=True):
            verdict: Judged = pickle.loads(row["told"])
            yield verdict


def _judged(swept: Swept, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for seed in batch.column("id").to_pylist():
            yield pa.RecordBatch.from_pydict({"told": [dumps(judge(swept, seed))]})
