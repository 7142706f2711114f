"""A power loss at any moment loses nothing that was flushed. The next start of the broker repairs
the files.

A cluster is served, and every change of its files is recorded. The tests then open the files that a
power loss between two changes may leave.
"""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.disk import files
from reference_impl.disk.data_dir import DataDir
from reference_impl.disk.files import BadDataDir
from reference_impl.log.record_batch import decode
from reference_impl.protocol.topic_id import topic_id
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.requests.cluster.control_plane import CLUSTER_ID
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving
from tests.reference_impl.disk.power import LOSSES, Disk, Loss, Operation, Recorder, write
from tests.reference_impl.wire.conftest import Connection
from tests.reference_impl.wire.one_topic import leader, produce
from tests.reference_impl.wire.waiting import until

TIMEOUTS = replace(SERVED, heartbeat_ms=50, session_timeout_ms=400, flush_check_ms=10)
ONE = BrokerId(1)
FLUSHED, LAZY = TopicPartition("flushed", 0), TopicPartition("lazy", 0)
TIMED = TopicPartition("timed", 0)


@dataclass(slots=True)
class Recorded:
    """The changes of a cluster's files, and the number of changes after which each record is safe.

    A power loss must not lose a safe record. The topic `flushed` flushes each record, so a record
    is safe when it is acknowledged. The topic `timed` flushes after 20 ms, and its records are safe
    then. Records of the topic `lazy` are not in `safe`.
    """

    root: Path
    operations: list[Operation] = field(default_factory=list[Operation])
    safe: list[tuple[int, TopicPartition, bytes]] = field(default_factory=list[Any])
    sent: set[bytes] = field(default_factory=set[bytes])

    def safe_at(self, cut: int, place: TopicPartition) -> list[bytes]:
        return [value for at, of, value in self.safe if at <= cut and of == place]

    def is_flushed(self, place: TopicPartition, since: int) -> bool:
        log = self.root / "broker-1" / str(place) / "00000000000000000000.log"
        return ("flush", log) in self.operations[since:]


def record(root: Path, patched: pytest.MonkeyPatch) -> Recorded:
    """Serves a cluster twice, and records its file changes; only one of the two stops is clean."""
    root.mkdir()
    recorder = Recorder(root)
    patched.setattr(files, "os", recorder)
    found = Recorded(root, recorder.operations)
    for life in range(2):
        with (
            serving(ServeOptions(brokers=1, data_dir=root, broker_settings=TIMEOUTS)) as served,
            connected(served.bootstrap_servers) as connection,
        ):
            if not life:
                create(connection, "flushed", **{"flush.messages": "1"})
                create(connection, "lazy", **{"flush.ms": "3600000"})
                create(connection, "timed", **{"flush.ms": "20"})
                create(connection, "gone")
            for number in range(4):
                for place in (LAZY, FLUSHED, TIMED):
                    value = f"{place.topic}-{life}-{number}".encode()
                    found.sent.add(value)
                    sent_at, sequence = len(recorder.operations), 4 * life + number
                    connection.call(
                        Api.PRODUCE, 9, **produce(place.topic, value, sequence=sequence, acks=-1)
                    )
                    if place == TIMED:
                        until(partial(found.is_flushed, TIMED, sent_at))
                        leader(connection, "timed")  # answered after the step that flushes
                    if place != LAZY:
                        found.safe.append((len(recorder.operations), place, value))
            if not life:
                connection.call(Api.DELETE_TOPICS, 5, topic_names=["gone"], timeout=5000)
            else:
                served.kill(ONE)
    return found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    with pytest.MonkeyPatch.context() as patched:
        return record(tmp_path_factory.mktemp("power") / "data", patched)


def start(folder: Path) -> tuple[DataDir, dict[TopicPartition, list[bytes]]]:
    """Opens a data directory as a start does; returns it with the values in its logs."""
    opened = DataDir.open(folder, cluster_id=CLUSTER_ID, topic_id=topic_id, note=lambda _: None)
    logs, _ = opened.start_broker(ONE)
    values = {
        place: [record.value or b"" for batch in log.batches() for _, record in decode(batch.data)]
        for place, log in logs.items()
    }
    return opened, values


def check(recorded: Recorded, folder: Path, cut: int) -> None:
    opened, values = start(folder)
    opened.close({}, 0)
    known = {place for place, _ in opened.metadata.image.topic_partitions}
    for place in (FLUSHED, TIMED):
        expected = recorded.safe_at(cut, place)
        assert values.get(place, [])[: len(expected)] == expected, "flushed, and lost"
        assert not expected or place in known
    for place in (FLUSHED, LAZY, TIMED):
        assert set(values.get(place, [])) <= recorded.sent
    opened, again = start(folder)
    opened.close({}, 0)
    assert again == values, "the second start finds nothing to repair"


def test_nothing_flushed_is_lost_wherever_the_power_fails(
    recorded: Recorded, tmp_path: Path
) -> None:
    random, disk = Random(22), Disk(recorded.root)
    assert len(recorded.operations) > 100
    for cut, operation in enumerate(recorded.operations, 1):
        disk.apply(operation)
        loss, folder = random.choice(LOSSES), tmp_path / "left"
        write(disk.left(loss), folder)
        try:
            check(recorded, folder, cut)
        except Exception as error:
            raise AssertionError(f"{loss}, after operation {cut}: {operation[:2]}") from error
        shutil.rmtree(folder)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_nothing_is_lost_after_a_clean_stop(recorded: Recorded, loss: Loss, tmp_path: Path) -> None:
    disk = Disk(recorded.root)
    for operation in recorded.operations:
        if operation[1].name.startswith(".kafka_cleanshutdown"):
            break
        disk.apply(operation)
    write(disk.left(loss), tmp_path / "left")
    opened, values = start(tmp_path / "left")
    opened.close({}, 0)
    assert len(values[FLUSHED]) == len(values[LAZY]) == len(values[TIMED]) == 4


@pytest.mark.parametrize("unflushed", [".log", ".ndjson", ".tmp", "folders"])
def test_a_missing_flush_is_found(recorded: Recorded, unflushed: str, tmp_path: Path) -> None:
    """The flushes of one kind of file are left out (segments, metadata, checkpoints or folders).
    Then a check fails.
    """
    random, disk, folder = Random(22), Disk(recorded.root), tmp_path / "left"
    for cut, operation in enumerate(recorded.operations, 1):
        name, path, *_ = operation
        if name == "flush" and unflushed == (path.suffix or "folders"):
            continue
        disk.apply(operation)
        if name not in {"write", "rename"}:
            continue
        write(disk.left(random.choice(LOSSES)), folder)
        try:
            check(recorded, folder, cut)
        except (AssertionError, BadDataDir):
            return
        shutil.rmtree(folder)
    pytest.fail(f"no power loss shows that {unflushed} are not flushed")


def create(connection: Any, topic: str, **configs: str) -> None:
    new = {
        "name": topic, "num_partitions": 1, "replication_factor": 1,
        "configs": [{"name": name, "value": value} for name, value in configs.items()],
    }  # fmt: skip
    connection.call(Api.CREATE_TOPICS, 7, topics=[new], timeout=5000)
    while leader(connection, topic) < 1:
        time.sleep(0.01)


@contextmanager
def connected(address: str) -> Generator[Connection]:
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port))) as stream:
        yield Connection(stream)
