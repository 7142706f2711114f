"""Fetch sessions over TCP follow the rules of Kafka (KIP-227)."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest

from model.vocabulary import BrokerId
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, encode
from reference_impl.protocol.messages import ErrorCode, Fetched
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.requests.broker.topic_ids import TopicIds
from reference_impl.wire.requests.records import fetches
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving

Connect = Callable[..., Any]
PARTITIONS = 4
FULL, FINAL = 0, -1


@pytest.fixture(scope="module")
def cluster() -> Iterator[Served]:
    with serving(ServeOptions(brokers=1)) as served:
        yield served


@pytest.fixture
def reader(cluster: Served, connect: Connect) -> Reader:
    return Reader(connect(cluster.bootstrap_servers))


class Reader:
    """A consumer that sends single fetches. It creates a topic with four partitions."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.topic = f"t{time.monotonic_ns()}"
        new = {"name": self.topic, "num_partitions": PARTITIONS, "replication_factor": 1}
        connection.call(Api.CREATE_TOPICS, 7, topics=[new], timeout=5000)
        while not all(self.leaders()):
            time.sleep(0.01)

    def described(self) -> Any:
        (found,) = self.connection.call(Api.METADATA, 12, topics=[{"name": self.topic}]).topics
        return found

    def leaders(self) -> list[bool]:
        found = self.described().partitions
        return [one.leader_id > 0 for one in found] or [False]

    def produce(self, partition: int, *values: bytes) -> None:
        batch = encode([Record(value=value, timestamp_ms=1) for value in values])
        data = [{"name": self.topic, "partition_data": [{"index": partition, "records": batch}]}]
        self.connection.call(Api.PRODUCE, 9, acks=-1, timeout=5000, topic_data=data)

    def fetch(
        self,
        session: tuple[int, int],
        offsets: dict[int, int] | None = None,
        *,
        forget: tuple[int, ...] = (),
        version: int = 12,
        max_wait: int = 0,
        **values: Any,
    ) -> Any:
        wanted = [
            {"partition": index, "fetch_offset": offset, "partition_max_bytes": 1_000_000}
            for index, offset in (offsets or {}).items()
        ]
        name = {"topic_id": self.described().topic_id} if version > 12 else {"topic": self.topic}
        return self.connection.call(
            Api.FETCH,
            version,
            **{"max_bytes": 1_000_000, "min_bytes": 1} | values,
            max_wait=max_wait,
            session_id=session[0],
            session_epoch=session[1],
            topics=[{**name, "partitions": wanted}] if wanted else [],
            forgotten_topics_data=[{**name, "partitions": forget}] if forget else [],
        )

    def begin(self, offsets: dict[int, int], version: int = 12) -> int:
        answer = self.fetch((0, FULL), offsets, version=version)
        assert answer.session_id > 0
        assert answer.error_code == ErrorCode.NONE
        return int(answer.session_id)


def named(answer: Any) -> list[int]:
    """Returns the partitions in a response, in their order."""
    return [one.partition_index for topic in answer.responses for one in topic.partitions]


def values(answer: Any) -> dict[int, list[bytes | None]]:
    """Returns the values in a response, for each partition that has records there."""
    return {
        one.partition_index: [
            record.value for batch in batches(one.records) for _, record in decode(batch)
        ]
        for topic in answer.responses
        for one in topic.partitions
        if one.records
    }


@pytest.mark.parametrize("version", [7, 12, 13, 17])
def test_an_incremental_fetch_names_nothing_and_gets_only_news(
    reader: Reader, version: int
) -> None:
    session = reader.begin(dict.fromkeys(range(PARTITIONS), 0), version)
    assert named(reader.fetch((session, 1), version=version)) == []
    reader.produce(2, b"a")
    third = reader.fetch((session, 2), version=version)
    assert (values(third), third.session_id) == ({2: [b"a"]}, session)
    # The offset has not moved, so the record comes again; with the new offset it does not.
    assert values(reader.fetch((session, 3), version=version)) == {2: [b"a"]}
    assert named(reader.fetch((session, 4), {2: 1}, version=version)) == []


def test_a_full_fetch_without_session_names_all_partitions_each_time(reader: Reader) -> None:
    for _ in range(2):
        answer = reader.fetch((0, FINAL), {0: 0, 1: 0})
        assert (answer.session_id, named(answer)) == (0, [0, 1])


def test_partitions_join_and_leave_a_session(reader: Reader) -> None:
    session = reader.begin({0: 0, 1: 0})
    assert named(reader.fetch((session, 1), {3: 0}, forget=(1,))) == [3]
    for partition in range(PARTITIONS):
        reader.produce(partition, b"v")
    assert sorted(values(reader.fetch((session, 2)))) == [0, 3]


def test_a_session_whose_last_partition_leaves_ends(reader: Reader) -> None:
    session = reader.begin({0: 0})
    ended = reader.fetch((session, 1), forget=(0,))
    assert (ended.error_code, ended.session_id) == (0, 0)
    gone = reader.fetch((session, 2))
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_the_epoch_detects_repeated_and_unknown_requests(reader: Reader) -> None:
    session = reader.begin({0: 0})
    reader.fetch((session, 1))
    repeated = reader.fetch((session, 1))
    assert repeated.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert (repeated.session_id, repeated.responses) == (0, ())
    early = reader.fetch((session, 7))
    assert early.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert reader.fetch((session, 2)).error_code == 0, "a refused request changes nothing"
    unknown = reader.fetch((session ^ 1, 3))
    assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize(("first", "second"), [(12, 13), (13, 12)])
def test_a_session_has_either_names_or_topic_ids(reader: Reader, first: int, second: int) -> None:
    session = reader.begin({0: 0}, first)
    mixed = reader.fetch((session, 1), version=second)
    assert mixed.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_full_fetch_ends_the_session_that_it_names(reader: Reader) -> None:
    session = reader.begin({0: 0})
    second = reader.fetch((session, FULL), {0: 0})
    assert second.session_id not in {0, session}
    assert reader.fetch((session, 1)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert reader.fetch((second.session_id, FINAL), {0: 0}).session_id == 0
    gone = reader.fetch((second.session_id, 1))
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_an_error_is_repeated_and_its_end_is_news(reader: Reader) -> None:
    session = reader.begin({0: 0, 1: 5})
    for epoch in (1, 2):
        answer = reader.fetch((session, epoch))
        assert named(answer) == [1]
        error = answer.responses[0].partitions[0].error_code
        assert error == ErrorCode.OFFSET_OUT_OF_RANGE
    assert named(reader.fetch((session, 3), {1: 0})) == [1]
    assert named(reader.fetch((session, 4))) == []


def test_a_deleted_and_a_recreated_topic_have_errors_in_the_session(reader: Reader) -> None:
    session = reader.begin({0: 0}, 13)
    topic = {"name": reader.topic, "num_partitions": 1, "replication_factor": 1}
    reader.connection.call(
        Api.DELETE_TOPICS, 6, topics=[{"name": reader.topic, "topic_id": None}], timeout=5000
    )
    epoch = 1
    while not (answer := reader.fetch((session, epoch), version=13)).responses:
        epoch += 1
    error = answer.responses[0].partitions[0].error_code
    assert error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    reader.connection.call(Api.CREATE_TOPICS, 7, topics=[topic], timeout=5000)
    while not all(reader.leaders()):
        time.sleep(0.01)
    answer = reader.fetch((session, epoch + 1), version=13)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.INCONSISTENT_TOPIC_ID


def test_partitions_with_records_are_read_last_by_the_next_fetch(reader: Reader) -> None:
    session = reader.begin(dict.fromkeys(range(PARTITIONS), 0))
    for partition in range(PARTITIONS):
        reader.produce(partition, b"v")
    limited = [reader.fetch((session, epoch), max_bytes=1) for epoch in (1, 2, 3)]
    assert [[*values(one)] for one in limited] == [[0], [1], [2]]


def test_an_incremental_fetch_waits_for_any_partition_of_its_session(
    cluster: Served, reader: Reader, connect: Connect
) -> None:
    session = reader.begin(dict.fromkeys(range(PARTITIONS), 0))
    writer = Reader(connect(cluster.bootstrap_servers))
    writer.topic = reader.topic
    wanted = {"max_wait": 20_000, "min_bytes": 1, "max_bytes": 1_000}
    reader.connection.send(Api.FETCH, 12, session_id=session, session_epoch=1, topics=[], **wanted)
    time.sleep(0.05)
    started = time.monotonic()
    writer.produce(3, b"late")
    assert values(reader.connection.answer(Api.FETCH, 12)) == {3: [b"late"]}
    assert time.monotonic() - started < 5


def test_unknown_partitions_do_not_end_a_wait_unless_all_are_unknown(reader: Reader) -> None:
    """Kafka: KafkaApis.handleFetchRequest reads only partitions that exist."""
    started = time.monotonic()
    answer = reader.fetch((0, FINAL), {9: 0, 1: 0}, max_wait=200)
    assert time.monotonic() - started >= 0.199  # the broker's clock has whole milliseconds
    assert named(answer) == [1, 9], "unknown partitions come last"
    started = time.monotonic()
    assert named(reader.fetch((0, FINAL), {9: 0}, max_wait=20_000)) == [9]
    assert time.monotonic() - started < 5


def test_the_deletion_of_a_topic_ends_the_wait_for_others(
    cluster: Served, reader: Reader, connect: Connect
) -> None:
    """Kafka: DelayedFetch.tryComplete, case C."""
    other = Reader(connect(cluster.bootstrap_servers))
    wanted = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000}]
    named_topics = [{"topic": one.topic, "partitions": wanted} for one in (reader, other)]
    reader.connection.send(
        Api.FETCH, 12, session_id=0, session_epoch=FINAL, topics=named_topics,
        max_wait=20_000, min_bytes=1, max_bytes=1_000,
    )  # fmt: skip
    time.sleep(0.05)
    started = time.monotonic()
    other.connection.call(
        Api.DELETE_TOPICS, 6, topics=[{"name": other.topic, "topic_id": None}], timeout=5000
    )
    answer = reader.connection.answer(Api.FETCH, 12)
    assert time.monotonic() - started < 5
    assert [(topic.topic, topic.partitions[0].error_code) for topic in answer.responses] == [
        (reader.topic, ErrorCode.NONE),
        (other.topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


def test_a_topic_created_again_during_a_wait_is_inconsistent(
    cluster: Served, reader: Reader, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker may apply the deletion and the creation of the topic in one step."""
    session = reader.begin({0: 0}, 13)
    writer = Reader(connect(cluster.bootstrap_servers))
    writer.topic = reader.topic
    reader.connection.send(
        Api.FETCH, 13, session_id=session, session_epoch=1, topics=[],
        max_wait=20_000, min_bytes=1, max_bytes=1_000,
    )  # fmt: skip
    time.sleep(0.05)

    async def recreated(broker: Any) -> TopicIds:
        return TopicIds({reader.topic: UUID(int=7)}, {UUID(int=7): (reader.topic, 1)})

    monkeypatch.setattr(fetches, "topic_ids", recreated)
    writer.produce(0, b"of the new topic")
    answer = reader.connection.answer(Api.FETCH, 13)
    assert values(answer) == {}
    assert answer.responses[0].partitions[0].error_code == ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_session_does_not_survive_its_broker(connect: Connect) -> None:
    with serving(ServeOptions(brokers=2)) as two:
        reader = Reader(connect(two.bootstrap_servers))
        session = reader.begin({})
        two.kill(BrokerId(1))
        two.start(BrokerId(1))
        two.await_calm()
        reader.connection = connect(two.bootstrap_servers)
        answer = reader.fetch((session, 1))
        assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("seed", range(3))
def test_a_session_returns_the_records_of_full_fetches(
    cluster: Served, connect: Connect, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """A fetch session returns the same records as fetches of all partitions without a session."""
    choose = random.Random(seed)
    reader = Reader(connect(cluster.bootstrap_servers))
    offsets = dict.fromkeys(range(PARTITIONS), 0)
    session = reader.begin(offsets)
    moved: dict[int, int] = {}
    reads = 0
    read_now = fetches._read_now

    async def counted(*of: Any) -> Fetched:
        nonlocal reads
        reads += 1
        return await read_now(*of)

    monkeypatch.setattr(fetches, "_read_now", counted)
    for epoch in range(1, 61):
        action = choose.random()
        partition = choose.randrange(PARTITIONS)
        if action < 0.4:
            reader.produce(partition, b"v" * choose.randrange(5))
        elif action < 0.5:
            moved[partition] = offsets[partition] = choose.choice([0, offsets[partition], 99])
        isolation = choose.choice([0, 1])
        incremental = reader.fetch((session, epoch), moved, isolation_level=isolation)
        full = reader.fetch((0, FINAL), offsets, isolation_level=isolation)
        assert values(incremental) == values(full)
        complete = {one.partition_index: one for one in full.responses[0].partitions}
        for topic in incremental.responses:
            for one in topic.partitions:
                assert one == complete[one.partition_index]
        silent = {index: one for index, one in complete.items() if index not in named(incremental)}
        assert all(not one.records and not one.error_code for one in silent.values())
        moved = {}
        for index, found in values(full).items():
            if choose.random() < 0.7:
                moved[index] = offsets[index] = offsets[index] + len(found)
    assert reads < 60 * 2 * PARTITIONS * 0.9, "unchanged partitions are not read again"


def test_a_forgotten_change_of_a_partition_is_noticed(
    cluster: Served, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a session returns an old answer, the test that compares it with full fetches fails."""
    monkeypatch.setattr(fetches, "_unchanged", lambda broker, partition: partition.unchanged)
    with pytest.raises(AssertionError):
        test_a_session_returns_the_records_of_full_fetches(cluster, connect, monkeypatch, 1)


def test_a_dead_connection_leaves_its_session_usable(
    cluster: Served, reader: Reader, connect: Connect
) -> None:
    session = reader.begin({0: 0})
    reader.connection.stream.shutdown(socket.SHUT_RDWR)
    reader.connection = connect(cluster.bootstrap_servers)
    assert reader.fetch((session, 1)).error_code == 0
