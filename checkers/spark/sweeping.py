"""Runs a sweep (simulations of one scenario with many seeds) in Spark tasks. Each task simulates
some seeds, and returns the verdicts on them.
"""

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
    """Yields the verdict on each seed, in the order of the seeds, while later tasks still run.

    Raises InputFault if Java is missing or the master does not answer.
    """
    with session(master) as spark:
        tasks = max(1, len(seeds) // SEEDS_PER_TASK)
        numbers = spark.range(seeds.start, seeds.stop, 1, tasks)
        verdicts = numbers.mapInArrow(partial(_judged, swept), "verdict binary")
        for row in verdicts.toLocalIterator(prefetchPartitions=True):
            verdict: Judged = pickle.loads(row["verdict"])
            yield verdict


def _judged(swept: Swept, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for seed in batch.column("id").to_pylist():
            yield pa.RecordBatch.from_pydict({"verdict": [dumps(judge(swept, seed))]})
