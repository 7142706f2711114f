"""Spark's web UI, the progress and the costs of an analysis name the same stages."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from checkers.histories.analysis import Analysis, analysis_of, partitioned
from checkers.histories.explanation import every_anomaly, planned
from checkers.histories.io.operation_rows import as_table
from checkers.histories.plan.cost import READING
from checkers.histories.plan.in_process import LocalDataset
from checkers.progress import Progress
from checkers.spark.run import IN_ONE_TASK, analyze_on_spark, in_one_task
from checkers.spark.session import session, ui_address
from checkers.spark.watching import relayed
from properties.anomalies.catalogue import named
from properties.anomalies.declarations import NOTHING_DECLARED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 40  # of a partition
JOBS = 30  # one for each pass, and two for the shuffle


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with session("local[2]", ui=True) as running:
        yield running


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "h.parquet"
    pq.write_table(as_table(every_anomaly()), path, row_group_size=30)
    return path


def costs(found: Analysis) -> list[Any]:
    """Returns, for each pass over the data, its source, its shuffles, and its rows in all and by
    stage.

    Bytes, seconds and tasks are left out.
    """
    return [
        (one.source, one.into, one.rows, {name: it.rows for name, it in one.stages().items()})
        for one in found.passes
    ]


def jobs_in_ui(spark: SparkSession) -> list[dict[str, Any]]:
    """Returns all Spark jobs, the oldest first, from the REST API of Spark's UI."""
    address = ui_address(spark)
    assert address.startswith("http://127.0.0.1:")
    jobs = f"{address}/api/v1/applications/{spark.sparkContext.applicationId}/jobs"
    with urllib.request.urlopen(jobs, timeout=60) as answer:
        listed: list[dict[str, Any]] = json.load(answer)
    return listed[::-1]


@contextmanager
def described(spark: SparkSession, count: int) -> Iterator[list[str]]:
    """Yields a list. At the end of the `with` block, the list has the descriptions of the `count`
    jobs that the block started.
    """
    before, names = len(jobs_in_ui(spark)), list[str]()
    yield names
    deadline = time.monotonic() + 60  # the UI learns of jobs a little later
    while len(names) < count and time.monotonic() < deadline:
        names[:] = [job.get("description", "") for job in jobs_in_ui(spark)[before:]]


def test_every_spark_job_is_named_after_the_stages_of_its_pass(
    spark: SparkSession, stored: Path
) -> None:
    progress: list[Progress] = []
    with described(spark, JOBS) as jobs:
        found = analyze_on_spark(
            stored, rows_per_partition=ROWS, shuffle_partitions=3, watch=progress.append
        )
    passes = ["; ".join(name for name in one.stages() if name != READING) for one in found.passes]
    shuffle = "shuffling by location; shuffling by value"
    assert jobs == [name for one in passes for name in [one] * (2 if one == shuffle else 1)]
    assert {one.stage for one in progress if one.total} == {*passes}
    plan = planned(named(), NOTHING_DECLARED)
    assert {name for one in passes for name in one.split("; ")} <= {
        stage.name for one in plan for stage in one.stages
    }
    tracker = spark.sparkContext.statusTracker()
    assert all(tracker.getJobIdsForGroup(name) for name in passes)
    assert not tracker.getJobIdsForGroup("log ends")


def test_costs_are_those_of_the_local_engine(
    spark: SparkSession, stored: Path, tmp_path: Path
) -> None:
    del spark
    partitions = partitioned(stored, tmp_path / "made", ROWS)
    local = analysis_of(LocalDataset(partitions), named(), name=str(stored), shuffle_partitions=3)
    assert costs(analyze_on_spark(stored, rows_per_partition=ROWS, shuffle_partitions=3)) == costs(
        local
    )
    whole = LocalDataset(partitioned(stored, tmp_path / "whole"))
    assert costs(analyze_on_spark(stored)) == costs(analysis_of(whole, named(), name=str(stored)))


def test_the_progress_of_one_task_moves(spark: SparkSession, tmp_path: Path) -> None:
    seen = tmp_path / "seen"

    def watch(progress: Progress) -> None:
        if progress == Progress(stage="halfway", done=1, total=2):
            seen.touch()

    def work(report: Callable[[Progress], None]) -> bool:
        report(Progress(stage="halfway", done=1, total=2))
        deadline = time.monotonic() + 60
        while not seen.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return seen.exists()

    with relayed(spark, watch) as relay:
        assert in_one_task(spark, partial(work, relay))


def test_a_small_history_is_one_job(spark: SparkSession, stored: Path) -> None:
    notes: list[str] = []
    with described(spark, 1) as jobs:
        analyze_on_spark(stored, note=notes.append)
    assert jobs == [IN_ONE_TASK]
    assert notes == []  # Spark was already running
