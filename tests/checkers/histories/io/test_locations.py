"""Histories in folders, globs and object stores are read as local files are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from checkers.histories.analysis import analyze
from checkers.histories.io import delta, iceberg, locations, reading, small_files
from checkers.histories.io.converting import convert
from checkers.histories.io.locations import FileSet, Remote, UnreadableLocation, location
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.partitions import row_groups
from checkers.histories.io.reading import parquet_parts, whole
from checkers.histories.io.sources import sources
from checkers.histories.io.unreadable import UnreadableHistory
from model.history_notation import history
from tests.checkers.histories.io.iceberg_tables import folder_of, iceberg_tables
from tests.checkers.histories.io.s3_server import KEY_ID, MOST_KEYS, SECRET, Store, served

RECORDING = Path(__file__).parents[3] / "data" / "apache_kafka" / "safe"
SAMPLE = Path(__file__).parents[3] / "data" / "jepsen" / "001-lost.edn"
TABLE = as_table(
    history("""
        p1 send k=a -> ok @0
        p1 send k=b -> ok @1
        p2 poll     -> ok k=a@0 k=b@1
    """)
)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    locations._filesystem.cache_clear()
    with served() as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        yield running
    locations._filesystem.cache_clear()


def by_date(folder: Path) -> Path:
    """Writes TABLE as two Parquet files in folders by date, with Spark's empty file `_SUCCESS`."""
    for date, first in (("2026-11-22", 0), ("2026-11-23", 2)):
        (folder / f"date={date}").mkdir(parents=True)
        rows = TABLE.slice(first, 2)
        pq.write_table(rows, folder / f"date={date}" / "part-0.parquet")
    (folder / "_SUCCESS").touch()
    return folder


# ---------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("runs/h", Path("runs/h")),
        ("file:///tmp/a%20b", Path("/tmp/a b")),
        ("file://localhost/tmp/h", Path("/tmp/h")),
        ("s3://b/x/y", Remote("s3", "b", "x/y")),
        ("s3a://b/x/", Remote("s3", "b", "x")),
        ("S3://b/x", Remote("s3", "b", "x")),
        ("s3://b/x?region=eu-west-1", Remote("s3", "b", "x", "region=eu-west-1")),
        ("gs://b/x", Remote("gs", "b", "x")),
        ("hdfs://name:8020/x", Remote("hdfs", "name:8020", "x")),
        (
            "abfss://box@account.dfs.core.windows.net/x",
            Remote("abfss", "box@account.dfs.core.windows.net", "x"),
        ),
    ],
)
def test_an_address_is_read(text: str, read: Path | Remote) -> None:
    assert location(text) == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ftp://b/x", "ftp://b/x: unknown scheme ftp://; the nearest: "),
        ("s3:///x", "the address has no bucket; write s3://BUCKET/PATH"),
        (f"s3://{KEY_ID}:{SECRET}@b/x", "credentials must not be part of an address"),
        (f"gs://u:{SECRET}@b/x", "credentials must not be part of an address"),
        (f"abfss://u:{SECRET}@a.net/x", "credentials must not be part of an address"),
        (f"s3://b/x?secret_key={SECRET}", "has a parameter secret_key; allowed are region"),
        (f"wasb://{SECRET}@b/x", "unknown scheme wasb://"),
        ("no*such*file", "no*such*file: no file or folder matches; check the pattern"),
    ],
)
def test_a_wrong_address_is_refused_without_its_secret(text: str, message: str) -> None:
    with pytest.raises(UnreadableLocation) as fault:
        location(text)
    assert message in str(fault.value)
    assert SECRET not in str(fault.value)


# ---------------------------------------------------------------- folders and globs


def test_folders_by_date_are_one_history(tmp_path: Path) -> None:
    folder = by_date(tmp_path / "h")
    assert whole(folder).equals(TABLE)
    assert whole(location(f"{folder}/date=*")).equals(TABLE)
    assert whole(location(f"{folder}/**/*.parquet")).equals(TABLE)
    assert whole(location(f"{folder}/*-22")).equals(TABLE.slice(0, 2))
    assert parquet_parts(folder, tmp_path / "parts") == sorted(folder.glob("*/*.parquet"))
    assert str(location(f"{folder}/date=*")) == f"{folder}/date=*"


def test_many_small_files_become_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(TABLE.num_rows):
        pq.write_table(TABLE.slice(number, 1), tmp_path / f"{number:03}.parquet")
    monkeypatch.setattr(reading, "MANY_FILES", 3)
    parts = parquet_parts(tmp_path, tmp_path / "parts")
    assert len(parts) == 2  # one is empty
    assert pa.concat_tables([pq.read_table(part) for part in parts]).equals(TABLE)


def test_an_invalid_row_in_one_of_many_files_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(TABLE.num_rows):
        pq.write_table(TABLE.slice(number, 1), tmp_path / f"{number:03}.parquet")
    odd = TABLE.slice(2, 1).set_column(3, "outcome", pa.array(["good"]))
    pq.write_table(odd, tmp_path / "002.parquet")
    monkeypatch.setattr(reading, "MANY_FILES", 3)
    with pytest.raises(UnreadableHistory, match=r"002\.parquet, a row of operation 2: column out"):
        parquet_parts(tmp_path, tmp_path / "parts")


@pytest.mark.parametrize(
    ("error", "move"),
    [
        ("libhdfs.so: cannot open", "set JAVA_HOME, HADOOP_HOME and CLASSPATH"),
        ("Unable to load libjvm dlopen(", "set JAVA_HOME, HADOOP_HOME and CLASSPATH"),
        ("Could not create a OAuth2 access token to authenticate", "hdfs://n/x: the store refuses"),
        ("AWS Error NO_SUCH_BUCKET", "there is no such bucket: check its name"),
        ("curlCode: 7, Could not connect to server", "the store does not answer: check endpoint"),
        ("AWS Error 17", "check the address, or copy the history to a local folder"),
    ],
)
def test_the_error_of_a_store_names_the_next_move(error: str, move: str) -> None:
    assert move in str(locations.refused(Remote("hdfs", "n", "x"), OSError(error)))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["run/history/history.json"], "history.json belongs to a recording; pass the folder of"),
        (["t/_delta_log/0.json", "t/a.parquet"], "t/_delta_log belongs to a Delta table; pass the"),
        (["t/metadata/v1.metadata.json", "t/a.parquet"], "belongs to an Iceberg table; pass the"),
        (["a.parquet", "b.ndjson"], "files of several formats (.ndjson, .parquet); pass those"),
        (["_hidden.parquet", "notes.txt"], "contains neither history.json nor *.parquet nor"),
    ],
)
def test_a_folder_that_is_no_history_is_refused(
    tmp_path: Path, files: list[str], message: str
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    with pytest.raises(UnreadableHistory) as fault:
        whole(tmp_path)
    assert message in str(fault.value)


def test_several_edn_files_are_several_histories(tmp_path: Path) -> None:
    files = (tmp_path / "a.edn", tmp_path / "b.edn")
    for file in files:
        file.write_bytes(SAMPLE.read_bytes())
    with pytest.raises(UnreadableHistory, match="2 EDN files, and each is a history of its own"):
        whole(FileSet("*.edn", files))


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "h.parquet"
    pq.write_table(TABLE, file)
    (group,) = row_groups(file)
    assert group.read(["op"]).num_rows == TABLE.num_rows
    pq.write_table(TABLE.slice(1), file)
    with pytest.raises(UnreadableLocation, match=r"h\.parquet: the file changed while it was read"):
        group.read(["op"])
    file.unlink()
    with pytest.raises(UnreadableLocation, match="the file changed while it was read"):
        group.read(["op"])


# ---------------------------------------------------------------- an object store


def test_a_store_gives_the_same_verdicts(store: Store, tmp_path: Path) -> None:
    store.put("b", "recorded", RECORDING)
    store.put("b", "jepsen/001-lost.edn", SAMPLE)
    store.put("b", "dates", by_date(tmp_path / "h"))
    assert analyze(location("s3://b/recorded")).decisions == analyze(RECORDING).decisions
    edn = location("s3a://b/jepsen/*.edn")
    assert analyze(edn).decisions == analyze(SAMPLE).decisions
    for address in ("s3://b/dates", "s3://b/dates/date=*", "s3://b/**/part-0.parquet"):
        assert whole(location(address)).drop_columns(["f"]).num_rows >= TABLE.num_rows
    assert whole(location("s3://b/dates")).equals(TABLE)


def test_a_store_lists_its_objects_in_pages(store: Store, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "h.parquet")
    lists = []
    for objects in (1, 2 * MOST_KEYS + 1):
        names = [f"{objects}/date={number % 2}/{number:05}.parquet" for number in range(objects)]
        for name in names:
            store.put("b", name, tmp_path / "h.parquet")
        store.requests.clear()
        found = [str(place) for _, place in sources(location(f"s3://b/{objects}"))]
        assert found == sorted(f"s3://b/{name}" for name in names)
        lists.append(store.requests.count("GET "))
    assert lists[1] == lists[0] + 2


@pytest.mark.parametrize(("small_bytes", "is_one"), [(1 << 20, True), (0, False)])
def test_a_small_object_is_read_by_one_request(
    store: Store, tmp_path: Path, small_bytes: int, is_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put("b", "dates", by_date(tmp_path / "h"))
    monkeypatch.setattr(small_files, "SMALL_FILE_BYTES", small_bytes)
    assert whole(location("s3://b/dates")).equals(TABLE)
    gets = Counter(one for one in store.requests if one.endswith(".parquet") and "GET" in one)
    assert len(gets) == 2
    assert ({*gets.values()} == {1}) is is_one


def test_a_pass_reads_a_small_object_by_one_request(store: Store, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "h.parquet")
    store.put("b", "h.parquet", tmp_path / "h.parquet")
    (group,) = row_groups(Remote("s3", "b", "h.parquet"))
    assert store.requests.count("GET h.parquet") == 1  # of the footer, with all before it
    assert group.read(["op", "value"]).equals(TABLE.select(["op", "value"]))
    assert store.requests.count("GET h.parquet") == 2


def test_a_delta_table_in_a_store_is_read_at_its_version(store: Store, tmp_path: Path) -> None:
    day = pa.array(["a b/c%"] * TABLE.num_rows)
    table = TABLE.append_column("day", day)
    write_deltalake(tmp_path / "t", table.slice(0, 1), partition_by=["day"])
    write_deltalake(tmp_path / "t", table.slice(1), mode="append")
    DeltaTable(tmp_path / "t").create_checkpoint()
    store.put("b", "tables/t", tmp_path / "t")
    found = whole(location("s3://b/tables/t"))
    assert found.sort_by([("op", "ascending"), ("position", "ascending")]).equals(TABLE)
    first = delta.files_of(Remote("s3", "b", "tables/t"), 0)
    assert (str(first), whole(first).num_rows) == ("s3://b/tables/t, version 0", 1)
    with pytest.raises(UnreadableHistory, match="s3://b/tables/t/_delta_log belongs to a Delta"):
        whole(location("s3://b/tables"))


def test_an_iceberg_table_in_a_store_is_read_at_a_snapshot(store: Store, tmp_path: Path) -> None:
    with iceberg_tables(tmp_path) as tables:
        table = TABLE.append_column("day", pa.array(["a b/c%"] * TABLE.num_rows))
        written = tables.create("t", table.slice(0, 1), partitioned_by="day")
        written.append(table.slice(1))
        first = written.history()[0].snapshot_id
    store.put("b", "tables/t", folder_of(written))
    convert(location("s3://b/tables/t"), tmp_path / "out")
    found = whole(tmp_path / "out")
    assert found.sort_by([("op", "ascending"), ("position", "ascending")]).equals(TABLE)
    files = iceberg.files_of(Remote("s3", "b", "tables/t"), first)
    assert (str(files), len(files.files)) == (f"s3://b/tables/t, snapshot {first}", 1)
    assert str(files.files[0]).startswith("s3://b/tables/t/data/day=")
    with pytest.raises(
        UnreadableHistory, match=r"metadata\.json belongs to an Iceberg table; pass"
    ):
        whole(location("s3://b/tables"))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("s3://nowhere/h", "s3://nowhere/h: no such bucket, object or folder; check the address"),
        ("s3://b/gone", "s3://b/gone: no such bucket, object or folder; check the address"),
        ("s3://b/gone*", "s3://b/gone*: no file or folder matches; check the pattern"),
        ("s3://b/torn.parquet", "s3://b/torn.parquet: this is no complete Parquet file"),
    ],
)
def test_an_object_that_a_store_lacks_is_named(store: Store, address: str, message: str) -> None:
    store.buckets["b"] = {"torn.parquet": b"PAR1 and no more"}
    with pytest.raises((UnreadableHistory, UnreadableLocation)) as fault:
        whole(location(address))
    assert message in str(fault.value)


def test_refused_credentials_name_the_next_move(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put("b", "h.edn", SAMPLE)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    with pytest.raises(UnreadableLocation) as fault:
        whole(location("s3://b/h.edn"))
    assert "s3://b/h.edn: the store refuses these credentials, or has none" in str(fault.value)
    assert "set AWS_PROFILE" in str(fault.value)
    assert SECRET not in str(fault.value)


def test_an_object_that_changes_while_it_is_read_is_refused(store: Store, tmp_path: Path) -> None:
    store.put("b", "h", by_date(tmp_path / "h"))
    group = next(row_groups(location("s3://b/h/date=2026-11-22/part-0.parquet")))  # type: ignore[arg-type]
    store.buckets["b"]["h/date=2026-11-22/part-0.parquet"] += b"more"
    with pytest.raises(UnreadableLocation, match="the file changed while it was read; wait"):
        group.read(["op"])
