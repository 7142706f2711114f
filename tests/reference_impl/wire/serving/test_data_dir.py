"""A cluster with a data directory continues where it stopped, however it stopped."""

from __future__ import annotations

import asyncio
import errno
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.vocabulary import BrokerId
from reference_impl.disk import data_dir, log_folder
from reference_impl.disk.cluster_metadata import ClusterMetadata
from reference_impl.disk.files import BadDataDir
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serve import serve
from reference_impl.wire.serving.serving import serving
from tests.reference_impl.wire.one_topic import create, fetch, produce, values

Connect = Any  # the fixture `connect` of conftest
ONE = BrokerId(1)
SHORT_SESSIONS = replace(SERVED, heartbeat_ms=50, session_timeout_ms=400)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@contextmanager
def cluster(data: Path, connect: Connect, *, brokers: int = 1) -> Generator[tuple[Any, Any]]:
    """Serves a cluster; yields it and a connection to its first broker."""
    with serving(
        ServeOptions(brokers=brokers, data_dir=data, broker_settings=SHORT_SESSIONS)
    ) as served:
        yield served, connect(served.bootstrap_servers)


def produced(connection: Any, value: bytes, sequence: int = 0) -> int:
    answer = connection.call(Api.PRODUCE, 9, **produce("t", value, sequence=sequence))
    (found,) = answer.responses[0].partition_responses
    assert found.error_code == 0
    return int(found.base_offset)


def read(connection: Any) -> list[bytes | None]:
    return values(connection.call(Api.FETCH, 12, **fetch("t", 0, max_wait=1000)))


def test_a_stopped_cluster_continues_with_its_records_and_producers(
    data: Path, connect: Connect
) -> None:
    with cluster(data, connect) as (_, connection):
        create(connection, "t")
        assert produced(connection, b"a") == 0
        assert produced(connection, b"b", 1) == 1
    assert (data / "broker-1" / ".kafka_cleanshutdown").exists()
    with cluster(data, connect) as (served, connection):
        assert not (data / "broker-1" / ".kafka_cleanshutdown").exists(), "true only once"
        assert read(connection) == [b"a", b"b"]
        assert produced(connection, b"b", 1) == 1, "the retry is known"
        assert produced(connection, b"c", 2) == 2
        assert served.notes == []


def test_the_folder_is_that_of_kafka(data: Path, connect: Connect) -> None:
    with cluster(data, connect) as (_, connection):
        create(connection, "t")
        produced(connection, b"a")
        batch = connection.call(Api.FETCH, 12, **fetch("t", 0, max_wait=1000))
    log = data / "broker-1" / "t-0" / "00000000000000000000.log"
    assert log.read_bytes() == batch.responses[0].partitions[0].records
    names = {file.name for file in (data / "broker-1" / "t-0").iterdir()}
    indexes = {f"{log.stem}.index", f"{log.stem}.timeindex"}
    assert names == {log.name, *indexes, "leader-epoch-checkpoint", "partition.metadata"}
    checkpoint = (data / "broker-1" / "replication-offset-checkpoint").read_text()
    assert "t 0 1" in checkpoint.splitlines()
    assert "node.id=1" in (data / "broker-1" / "meta.properties").read_text()


def test_a_killed_broker_restarts_from_its_files(data: Path, connect: Connect) -> None:
    with cluster(data, connect) as (served, connection):
        create(connection, "t")
        produced(connection, b"a")
        served.kill(ONE)
        with (data / "broker-1" / "t-0" / "00000000000000000000.log").open("ab") as log:
            log.write(b"torn")
        served.start(ONE)
        served.await_calm()
        assert read(connect(served.bootstrap_servers)) == [b"a"]
        (note,) = served.notes
        assert "the log ends here, at offset 1" in note


def test_a_power_loss_removes_unflushed_bytes_from_the_files(data: Path, connect: Connect) -> None:
    with cluster(data, connect) as (served, connection):
        create(connection, "t")
        produced(connection, b"a")
        served.lose_power(ONE)
        assert (data / "broker-1" / "t-0" / "00000000000000000000.log").stat().st_size == 0
        served.start(ONE)
        served.await_calm()


def test_broker_epochs_never_come_twice(data: Path, connect: Connect) -> None:
    epochs: list[int] = []
    for _ in range(3):
        with cluster(data, connect, brokers=2):
            pass
        image = ClusterMetadata.open(data / "cluster-metadata.ndjson").image
        epochs += sorted(broker.broker_epoch for broker in image.brokers)
    assert epochs == sorted({*epochs})


def test_flush_messages_flushes_before_the_acknowledgement(
    data: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(data_dir, "flush", lambda path: flushed.append(path.parent.name))
    with cluster(data, connect) as (_, connection):
        new = {
            "name": "t", "num_partitions": 1, "replication_factor": 1,
            "configs": [{"name": "flush.messages", "value": "2"}],
        }  # fmt: skip
        connection.call(Api.CREATE_TOPICS, 7, topics=[new], timeout=5000)
        flushes: list[int] = []
        for sequence in range(5):
            produced(connection, b"a", sequence)
            flushes.append(flushed.count("t-0"))
    assert flushes == [0, 1, 1, 2, 2]
    points = (data / "broker-1" / "recovery-point-offset-checkpoint").read_text()
    assert "t 0 5" in points.splitlines(), "everything is flushed at a clean stop"


def test_a_broker_whose_disk_fails_halts_without_an_acknowledgement(
    data: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    def fill() -> None:
        with cluster(data, connect) as (_, connection):
            create(connection, "t")
            monkeypatch.setattr(log_folder, "append", full)
            connection.send(Api.PRODUCE, 9, **produce("t", b"a"))
            assert connection.receive_frame() is None

    with pytest.raises(OSError, match="No space left"):
        fill()
    assert not (data / "broker-1" / ".kafka_cleanshutdown").exists()


def refused(data: Path) -> str:
    with pytest.raises(BadDataDir) as fault:
        asyncio.run(serve(ServeOptions(brokers=1, data_dir=data), note=lambda _: None))
    return str(fault.value)


def test_a_data_directory_in_use_is_refused(data: Path, connect: Connect) -> None:
    with cluster(data, connect):
        assert refused(data) == (
            f"{data} is used by another process; stop it, or name another data directory"
        )


def test_a_file_is_no_data_directory(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert refused(tmp_path / "data").startswith(f"{tmp_path / 'data'}: File exists; name a folder")


def test_the_folder_of_another_broker_is_refused(data: Path, connect: Connect) -> None:
    with cluster(data, connect):
        pass
    properties = data / "broker-1" / "meta.properties"
    properties.write_text(properties.read_text().replace("node.id=1", "node.id=2"))
    assert "node.id is 2, but must be 1" in refused(data)


def test_a_deleted_topic_stays_deleted_and_its_successor_is_another_one(
    data: Path, connect: Connect
) -> None:
    """A broker that was down while a topic was deleted finds the old log by its topic id.

    The broker deletes this log. Kafka: the topic id in partition.metadata.
    """
    with cluster(data, connect) as (_, connection):
        create(connection, "t")
        create(connection, "gone")
        produced(connection, b"old")
        for _ in range(2):
            connection.call(Api.DELETE_TOPICS, 5, topic_names=["t", "gone"], timeout=5000)
            create(connection, "t")
        (before,) = connection.call(Api.METADATA, 12, topics=[{"name": "t"}]).topics
        assert read_end(connection) == 0
    folder = data / "broker-1"
    assert not (folder / "gone-0").exists()
    old = folder / "t-0" / "partition.metadata"
    old.write_text(old.read_text().replace("topic_id: ", "topic_id: AAAA")[:-4])
    (folder / "t-0" / "00000000000000000000.log").write_bytes(b"")
    with cluster(data, connect) as (_, connection):
        (after,) = connection.call(Api.METADATA, 12, topics=[{"name": "t"}]).topics
        assert after.topic_id == before.topic_id
        assert connection.call(Api.METADATA, 9, topics=[{"name": "gone"}]).topics[0].error_code == 3
        assert produced(connection, b"new") == 0
        assert read(connection) == [b"new"]
    assert "AAAA" not in old.read_text()


def read_end(connection: Any) -> int:
    part = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}
    topics = [{"name": "t", "partitions": [part]}]
    (found,) = (
        connection.call(Api.LIST_OFFSETS, 5, replica_id=-1, topics=topics).topics[0].partitions
    )
    return int(found.offset)


def delete(connection: Any, topic: str) -> None:
    connection.call(Api.DELETE_TOPICS, 5, topic_names=[topic], timeout=5000)


def test_a_deleted_topic_is_deleted_on_disk(data: Path, connect: Connect) -> None:
    with cluster(data, connect) as (_, connection):
        create(connection, "t")
        produced(connection, b"a")
        delete(connection, "t")
        await_true(lambda: not (data / "broker-1" / "t-0").exists())
    checkpoint = (data / "broker-1" / "replication-offset-checkpoint").read_text()
    assert "t 0" not in checkpoint


def test_a_topic_that_was_created_again_keeps_its_new_records(data: Path, connect: Connect) -> None:
    with cluster(data, connect) as (_, connection):
        create(connection, "t")
        produced(connection, b"old")
        delete(connection, "t")
        create(connection, "t")
        assert produced(connection, b"new") == 0
    with cluster(data, connect) as (_, connection):
        assert read(connection) == [b"new"]


def test_a_broker_that_missed_the_deletion_drops_the_old_records(
    data: Path, connect: Connect, tmp_path: Path
) -> None:
    with cluster(data, connect) as (_, connection):
        create(connection, "t")
        produced(connection, b"old")
    shutil.copytree(data / "broker-1" / "t-0", tmp_path / "t-0")
    with cluster(data, connect) as (_, connection):
        delete(connection, "t")
        create(connection, "t")
    shutil.rmtree(data / "broker-1" / "t-0")
    shutil.copytree(tmp_path / "t-0", data / "broker-1" / "t-0")
    with cluster(data, connect) as (_, connection):
        assert produced(connection, b"new") == 0
        assert read(connection) == [b"new"]


def await_true(condition: Callable[[], bool]) -> None:
    until_s = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.01)
