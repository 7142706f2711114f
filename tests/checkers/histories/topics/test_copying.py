"""A copy has each row of its topic exactly once, even if the copying is interrupted and resumed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from checkers.client_config import ClientConfig
from checkers.histories.topics.address import Topic, topic
from checkers.histories.topics.copying import TopicCopy, copying
from checkers.progress import Progress
from checkers.testing.broker import Broker
from model.faults import InputFault


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(brokers=1) as started:
        yield started


@pytest.fixture
def operations(broker: Broker, request: pytest.FixtureRequest) -> Topic:
    name = request.node.name.split("[")[0]
    broker.create_topic(name, 2)
    return topic(f"kafka://{broker.bootstrap_servers}/{name}")


def row(number: int, **other: Any) -> bytes:
    cells = {
        "op": number,
        "process": 0,
        "f": "send",
        "outcome": "ok",
        "position": 0,
        "kind": "send",
    }
    cells |= {"invoked_ns": 10 * number, "completed_ns": 10 * number + 5}
    return json.dumps(
        {**cells, "key": "t-0", "offset": number, "value": f"v{number}"} | other
    ).encode()


def put(of: Topic, *values: bytes | None, transactional_id: str | None = None) -> Producer:
    settings = {"bootstrap.servers": of.bootstrap_servers}
    if transactional_id is not None:
        settings["transactional.id"] = transactional_id
    producer = Producer(settings)
    if transactional_id is not None:
        producer.init_transactions()
        producer.begin_transaction()
    for number, value in enumerate(values):
        producer.produce(of.name, value, partition=number % 2)
    assert producer.flush(10) == 0
    return producer


def copied(of: Topic, folder: Path) -> list[int]:
    with copying(of, folder, ClientConfig()) as copy:
        copy.read_on()
        return ops(copy)


def ops(copy: TopicCopy) -> list[int]:
    parts = sorted(copy.folder.glob("part-*.parquet"))
    return sorted(op for part in parts for op in pq.read_table(part)["op"].to_pylist())


def committed(copy: TopicCopy) -> list[int]:
    reader = copy.reader
    settings = {"bootstrap.servers": reader.topic.bootstrap_servers, "group.id": reader.group}
    consumer = Consumer(settings)
    asked = [TopicPartition(reader.topic.name, number) for number in (0, 1)]
    try:
        return [max(0, one.offset) for one in consumer.committed(asked, timeout=10)]
    finally:
        consumer.close()


def test_a_later_run_reads_only_what_is_new(operations: Topic, tmp_path: Path) -> None:
    put(operations, row(0), row(1), row(2) + b"\n" + row(3))
    with copying(operations, tmp_path, ClientConfig()) as copy:
        assert copy.read_on() == 4
        assert committed(copy) == [2, 1]
        assert copy.read_on() == 0
    put(operations, row(4))
    with copying(operations, tmp_path, ClientConfig()) as copy:
        assert copy.read_on() == 1
        assert (ops(copy), committed(copy)) == ([0, 1, 2, 3, 4], [3, 1])


def test_an_interrupted_copy_resumes_and_commits_only_what_is_on_disk(
    operations: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkers.histories.topics.consuming.RECORDS_AT_ONCE", 7)
    monkeypatch.setattr("checkers.histories.topics.copying.ROWS_PER_PART", 30)
    put(operations, *map(row, range(100)))

    def killed(progress: Progress) -> None:
        if (progress.rows or 0) > 60:
            raise KeyboardInterrupt

    with copying(operations, tmp_path, ClientConfig()) as copy:
        copy.rows_per_write = 10
        with pytest.raises(KeyboardInterrupt):
            copy.read_on(killed)
        kept = ops(copy)
        assert 30 < len(kept) < 100
        assert sum(committed(copy)) == len(kept)
        assert len(list(copy.folder.glob("part-*.parquet"))) > 1
    assert copied(operations, tmp_path) == list(range(100))


def test_rows_of_an_aborted_transaction_are_no_part_of_the_history(
    operations: Topic, tmp_path: Path
) -> None:
    put(operations, row(0), row(1))
    put(operations, row(7), transactional_id="aborted").abort_transaction(10)
    put(operations, row(2), transactional_id="committed").commit_transaction(10)
    still_open = put(operations, row(3), transactional_id="open")
    assert copied(operations, tmp_path) == [0, 1, 2]
    still_open.commit_transaction(10)
    assert copied(operations, tmp_path) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (b"hello", ", column 1: Expecting value"),
        (b"[1]", ": not a JSON object"),
        (b" ", ": the record has no value"),
        (None, ": the record has no value"),
        (row(1, offest=3), ": a history has no column offest; if you mean offset"),
        (row(1, op="1"), ": column op is '1', not of type int64"),
        (row(1, kind="sent"), ": column kind is none of send, poll"),
        (row(1, offset=-1001), ": column offset is negative"),
        (b'{"op": 1}', ": column process is null"),
    ],
)
def test_a_record_that_is_no_operation_is_refused_with_its_place(
    broker: Broker, tmp_path: Path, value: bytes | None, fault: str, request: Any
) -> None:
    name = f"odd-{abs(hash(request.node.name))}"
    broker.create_topic(name, 2)
    odd = topic(f"kafka://{broker.bootstrap_servers}/{name}")
    put(odd, row(0), row(1), row(2), value)
    with pytest.raises(InputFault) as refused:
        copied(odd, tmp_path)
    text = str(refused.value)
    assert text.startswith(f"{odd}, partition 1, offset 1{fault}")
    assert "kafka-delete-records" in text


def test_deleted_records_and_truncated_logs_are_refused(operations: Topic, tmp_path: Path) -> None:
    put(operations, *map(row, range(6)))
    copied(operations, tmp_path)
    put(operations, row(6), row(7), row(8))
    admin = AdminClient({"bootstrap.servers": operations.bootstrap_servers})
    (deleted,) = admin.delete_records([TopicPartition(operations.name, 0, 4)]).values()
    deleted.result()
    with pytest.raises(InputFault, match="the records 3 to 3 were deleted before they were copied"):
        copied(operations, tmp_path)
    assert copied(operations, tmp_path / "fresh") == [1, 3, 5, 7, 8]


def test_a_copy_is_written_by_one_process(operations: Topic, tmp_path: Path) -> None:
    with (
        copying(operations, tmp_path, ClientConfig()),
        pytest.raises(InputFault, match="another process copies this topic"),
        copying(operations, tmp_path, ClientConfig()),
    ):
        pass


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("kafka://broker/ops", "not the address of a topic"),
        ("kafka://broker:9092", "'' is no name of a topic"),
        ("kafka://broker:9092/a/b", "'a/b' is no name of a topic"),
        ("kafka://me:secret@broker:9092/ops", "credentials must not be part of an address"),
    ],
)
def test_a_wrong_address_is_refused(text: str, fault: str) -> None:
    with pytest.raises(InputFault, match=fault) as refused:
        topic(text)
    assert "secret" not in str(refused.value)
    assert topic("kafka://[::1]:9092,b:9093/ops").bootstrap_servers == "[::1]:9092,b:9093"
