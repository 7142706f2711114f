"""Disks of brokers fail, are lost and are replaced; no process of Kafka is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from checkers.record.processes import Shared, Topic
from checkers.reproduce.actions import fail_disk, lose_disk, prefer_disk
from checkers.reproduce.checks import copied, folders, log_has
from checkers.reproduce.stage import Stage
from checkers.systems.administration import Refused
from checkers.systems.apache_kafka import storage
from checkers.systems.apache_kafka.addresses import CONTROLLER, Addresses
from checkers.systems.apache_kafka.cluster import Cluster
from checkers.systems.apache_kafka.jars import Jars
from checkers.systems.system import Layout
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode

META = "version=1\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAA\ncluster.id=c\n"
Answers = Callable[..., Any]


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """Returns the files of a cluster whose broker 1 has two disks; no node runs."""
    layout = Layout(brokers=1, disks=2)
    addresses = Addresses.free(range(2), proxied=False)
    jars = Jars(version="4.3.0", folder=tmp_path / "jars")
    some = Cluster(tmp_path, jars, layout, addresses, None, cast("Any", None))
    some.log_dir(1).mkdir(parents=True)
    (some.log_dir(1) / storage.META).write_text(META)
    storage.add_disk(some.log_dir(1), some.log_dirs(1)[1])
    return some


@pytest.fixture
def disks(cluster: Cluster) -> Stage:
    return Stage(cluster, cast("Shared", None), Topic("t", 1))


def answering(stage: Stage, monkeypatch: pytest.MonkeyPatch, error: str) -> list[Any]:
    """Replaces the brokers: each AlterReplicaLogDirs request gets a response with the error
    `error`.

    Returns a list, to which the body of each request is appended when it is sent.
    """
    requests: list[Any] = []

    def call(_: Stage, _api: Any, _version: int, body: Any, _at: int) -> Any:
        requests.append(body)
        return {"results": [{"partitions": [{"error_code": error}]}]}

    monkeypatch.setattr(Stage, "call", call)
    return requests


def test_each_disk_is_a_directory_with_an_id_of_its_own(cluster: Cluster) -> None:
    first, second = cluster.log_dirs(1)
    one, two = ((each / storage.META).read_text() for each in (first, second))

    assert "node.id=1\n" in two
    assert one.splitlines()[2] != two.splitlines()[2]
    assert len(cluster.log_dirs(CONTROLLER)) == 1
    assert cluster._settings(1)["log.dirs"] == f"{first},{second}"
    assert cluster._settings(1)["metadata.log.dir"] == str(first)


def test_a_removed_disk_is_no_longer_in_the_settings(disks: Stage, cluster: Cluster) -> None:
    first, second = cluster.log_dirs(1)
    (second / "t-0").mkdir()
    assert folders(1, "t-0", disk=2)(disks).reached
    lose_disk(1, listed=False)(disks)

    assert cluster.log_dirs(1) == (first,)
    assert not second.exists()
    text = (first.parent / "server.properties").read_text()
    assert f"log.dirs={first}\n" in text
    assert [(fault.do, fault.node) for fault in disks.faults] == [("lose-disk", 1)]


def test_a_replaced_disk_is_formatted_and_empty(disks: Stage, cluster: Cluster) -> None:
    second = cluster.log_dirs(1)[1]
    before = (second / storage.META).read_text()
    (second / "t-0").mkdir()
    lose_disk(1, listed=True)(disks)

    assert [each.name for each in second.iterdir()] == [storage.META]
    assert (second / storage.META).read_text() != before


@pytest.mark.parametrize("listed", [False, True])
def test_a_failed_disk_can_be_removed_or_replaced(
    disks: Stage, cluster: Cluster, listed: bool
) -> None:
    first, second = cluster.log_dirs(1)
    fail_disk(1)(disks)
    lose_disk(1, listed=listed)(disks)

    assert cluster.log_dirs(1) == ((first, second) if listed else (first,))
    assert second.exists() == listed


def test_only_a_disk_without_metadata_can_be_lost(disks: Stage, cluster: Cluster) -> None:
    lose_disk(1, listed=False)(disks)
    with pytest.raises(AssertionError, match="broker 1 has one disk"):
        cluster.lose_disk(1, listed=False)


def test_the_records_of_a_log_are_read_up_to_a_torn_end(disks: Stage, cluster: Cluster) -> None:
    one, two = (encode([Record(value=value, timestamp_ms=1)]) for value in (b"a", b"b"))
    folder = cluster.log_dirs(1)[0] / "t-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(one + two[:-1])

    assert copied("a", 1)(disks).reached
    assert log_has(1, 1)(disks).reached
    missing = copied("b", 1)(disks)
    assert (missing.reached, missing.text) == (False, "b is not in [1]")


def test_a_failed_disk_takes_no_new_file(disks: Stage, cluster: Cluster) -> None:
    second = cluster.log_dirs(1)[1]
    fail_disk(1)(disks)

    with pytest.raises(FileNotFoundError):
        (second / "replication-offset-checkpoint.tmp").touch()
    assert disks.faults[0].do == "fail-disk"


def test_a_broker_remembers_the_disk_of_a_topic_that_does_not_exist(
    disks: Stage, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = answering(disks, monkeypatch, "UNKNOWN_TOPIC_OR_PARTITION")
    prefer_disk(1, 2)(disks)
    assert requests[0]["dirs"][0]["path"] == str(cluster.log_dirs(1)[1])

    answering(disks, monkeypatch, "LOG_DIR_NOT_FOUND")
    with pytest.raises(Refused, match="LOG_DIR_NOT_FOUND"):
        prefer_disk(1, 2)(disks)
