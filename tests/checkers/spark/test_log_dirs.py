"""The audit of log directories has the same result on Spark as in one process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from checkers.log_dirs import segments
from checkers.log_dirs.audit import Audit, audit
from checkers.log_dirs.folders import log_dirs
from checkers.progress import Progress
from checkers.spark import log_segments
from checkers.spark.log_dirs import audit_on_spark
from checkers.spark.log_segments import FORMAT, LogSegments, listed, shares
from checkers.spark.session import session
from tests.checkers.log_dirs import writing
from tests.properties.log_audit.notation import logs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

KAFKA = Path(__file__).parents[2] / "data" / "apache_kafka"

EVERYTHING_WRONG = """
    A t-0 hw=9 cleaned=1 epochs=0@0,7@4 aborted=7:0-3,9:1-1 snapshot=4:7/0/9/9/9/9 stopped
    0    e0 p7/1 s0 txn t1
    1-2  e0 p7/1 s4
    3    e0 p7/1 abort c2
    4    e3 p7/0 commit c1
    5    e0 p7/0 s0 txn
    6-7  e2 p7/0 s0 txn =y
    8    bad checksum
    ---
    9    e2 bad records
    12   e2
    11   e2 t900002
    junk 90
    ---
    13   bad old
    torn 20
    B t-0 hw=8
    0    e0 p7/1 s0 txn t1
    1-2  e0 p7/1 s4 has 2
    3    e0 p7/1 abort c2
    4    e3 p7/0 commit c1
    6-7  e2 p7/0 s0 txn
    A t-1 hw=4
    0    e0 p5/0 s0 txn
    1    e0 p5/1 commit
    --- 2
    B t-1 hw=4
    0    e0 p5/0 s0 txn
    1    e0 p5/1 abort
    B u-0
    --- 7
"""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with session(environment={}) as running:
        yield running


def assert_same(on_spark: Audit, in_process: Audit) -> None:
    assert on_spark == in_process
    for theirs, ours in zip(on_spark.decisions, in_process.decisions, strict=True):
        assert theirs.rows.equals(ours.rows)


def test_logs_of_apache_kafka_have_the_same_verdict(spark: SparkSession) -> None:
    del spark
    folders = [KAFKA / "log_dirs_stopped" / f"broker-{number}" for number in (1, 2, 3)]
    assert_same(audit_on_spark(folders), audit(folders))


def test_all_violations_at_once_have_the_same_verdict(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del spark
    monkeypatch.setattr(log_segments, "TASK_BYTES", 1)
    folders = writing.write(logs(EVERYTHING_WRONG), tmp_path, writing.COMPRESSIONS)
    progress: list[Progress] = []
    found = audit_on_spark(folders, watch=progress.append)
    assert_same(found, audit(folders))
    silent = [decision.check.id for decision in found.decisions if not decision.count]
    assert silent == ["open-transaction"]
    assert [one.stage for one in progress if not one.done] == [
        "starting Spark",
        "reading segments",
        "comparing records",
    ]
    assert progress[1].total == 8


def test_segments_are_a_data_source(spark: SparkSession) -> None:
    dirs = log_dirs([KAFKA / "log_dirs_stopped" / "broker-1"])
    spark.dataSource.register(LogSegments)
    source = spark.read.format(FORMAT).option("segments", listed(dirs.segments))
    rows = source.load().orderBy("segment", "position").toArrow().cast(segments.BATCHES)
    read = [batch for segment in dirs.segments for batch in segments.batches(segment)]
    assert rows.equals(pa.Table.from_batches(read).combine_chunks())
    chosen = {segment.number: [0] for segment in dirs.segments[:3]}
    asked = source.option("rows", "records").option("positions", json.dumps(chosen))
    found = asked.load().orderBy("segment", "offset").toArrow().cast(segments.RECORDS)
    first = [batch for segment in dirs.segments[:3] for batch in segments.records(segment, [0])]
    assert found.equals(pa.Table.from_batches(first).combine_chunks())


def test_a_task_reads_one_large_segment_or_several_small_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder,) = writing.write(logs("A t-0\n0\n---\n1\n---\n2"), tmp_path)
    of = log_dirs([folder]).segments
    size = of[0].path.stat().st_size
    for task_bytes, expected in ((1, [1, 1, 1]), (2 * size, [2, 1]), (9 * size, [3])):
        monkeypatch.setattr(log_segments, "TASK_BYTES", task_bytes)
        assert [len(share.segments) for share in shares(of)] == expected
    assert shares([]) == []


def test_folders_without_logs_need_no_task(spark: SparkSession, tmp_path: Path) -> None:
    del spark
    (tmp_path / "meta.properties").write_text("version=1")
    assert_same(audit_on_spark([tmp_path]), audit([tmp_path]))
