"""Connections: the order of responses, long polls, dropped responses, and invalid frames."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from model.vocabulary import BrokerId, ProducerEpoch, ProducerId, Sequence
from reference_impl.log.record_batch import Record, batches, decode, encode
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.apis import Api
from reference_impl.wire.applied_log import applied, applied_but_unanswered
from reference_impl.wire.faults import BadFault, DropResponse, KillBroker
from reference_impl.wire.serve import CannotServe, Cluster, Served, ServeOptions, serve, serving
from reference_impl.wire.versions import VERSIONS

Connect = Any  # the fixture `connect` of conftest


def create(connection: Any, topic: str, *, replicas: int = 1) -> None:
    new = {"name": topic, "num_partitions": 1, "replication_factor": replicas}
    connection.call(Api.CREATE_TOPICS, 7, topics=[new], timeout=5000)
    while leader(connection, topic) < 1:
        time.sleep(0.01)


def leader(connection: Any, topic: str) -> int:
    (found,) = connection.call(Api.METADATA, 9, topics=[{"name": topic}]).topics
    return int(found.partitions[0].leader_id) if found.partitions else -1


def produce(topic: str, value: bytes, *, sequence: int = 0, acks: int = -1) -> dict[str, Any]:
    batch = encode(
        [Record(value=value)],
        producer_id=ProducerId(1), producer_epoch=ProducerEpoch(0),
        base_sequence=Sequence(sequence),
    )  # fmt: skip
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
    return {"acks": acks, "timeout": 5000, "topic_data": data}


def fetch(topic: str, offset: int, *, max_wait: int, max_bytes: int = 10_000) -> dict[str, Any]:
    wanted = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": max_bytes}
    topics = [{"topic": topic, "partitions": [wanted]}]
    return {"max_wait": max_wait, "min_bytes": 1, "topics": topics}


def values(fetched: Any) -> list[bytes | None]:
    (found,) = fetched.responses[0].partitions
    return [record.value for batch in batches(found.records) for _, record in decode(batch)]


def test_a_connection_gets_its_responses_in_order(connect: Connect) -> None:
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        connection.send(Api.FETCH, 12, **fetch("t", 0, max_wait=300))  # nothing there: it waits
        connection.send(Api.PRODUCE, 9, **produce("t", b"a"))
        connection.correlation -= 1
        assert values(connection.answer(Api.FETCH, 12)) == []
        connection.correlation += 1
        assert (
            connection.answer(Api.PRODUCE, 9).responses[0].partition_responses[0].base_offset == 0
        )


def test_acks_0_closes_the_connection_if_it_fails(connect: Connect) -> None:
    """If a produce request with acks=0 fails, the broker closes the connection.

    Kafka: KafkaApis.handleProduceRequest, "Closing connection due to error".
    """
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        connection.send(Api.PRODUCE, 9, **produce("t", b"a", acks=0))
        assert leader(connection, "t") == 1  # still open
        connection.send(Api.PRODUCE, 9, **produce("t", b"a", sequence=7, acks=0))
        assert connection.receive_frame() is None
        again = connect(cluster.bootstrap_servers)
        again.send(Api.PRODUCE, 9, **produce("missing", b"a", acks=0))
        assert again.receive_frame() is None


def test_a_topic_partition_that_occurs_twice_is_appended_once(connect: Connect) -> None:
    """If a topic partition occurs twice in a request, only its last batch is appended.

    Kafka: KafkaApis.handleProduceRequest.
    """
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        body = produce("t", b"first")
        body["topic_data"] += produce("t", b"second")["topic_data"]
        (responses,) = connection.call(Api.PRODUCE, 9, **body).responses
        assert [one.base_offset for one in responses.partition_responses] == [0]
        assert values(connection.call(Api.FETCH, 12, **fetch("t", 0, max_wait=100))) == [b"second"]


@pytest.mark.parametrize(
    ("transactional_id", "error"),
    [
        (None, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ("", ErrorCode.INVALID_REQUEST),
    ],
)
def test_transactional_records_need_a_transactional_id(
    connect: Connect, transactional_id: str | None, error: ErrorCode
) -> None:
    """Transactional records are rejected if the request has no transactional id or an empty one.

    Kafka: KafkaApis.handleProduceRequest; for an empty id
    TransactionCoordinator.handleVerifyPartitionsInTransaction.
    """
    records = encode(
        [Record(value=b"v")],
        producer_id=ProducerId(1), producer_epoch=ProducerEpoch(0),
        base_sequence=Sequence(0), transactional=True,
    )  # fmt: skip
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        connection.call(Api.FIND_COORDINATOR, 3, key="x", key_type=1)
        while connection.call(Api.FIND_COORDINATOR, 3, key="x", key_type=1).error_code:
            time.sleep(0.01)
        body = produce("t", b"") | {"transactional_id": transactional_id}
        body["topic_data"][0]["partition_data"][0]["records"] = records
        (response,) = connection.call(Api.PRODUCE, 9, **body).responses
        assert response.partition_responses[0].error_code == error


@pytest.mark.parametrize(("max_bytes", "found"), [(1, [b"a"]), (10_000, [b"a", b"b"])])
def test_the_limit_of_a_fetch_applies_to_its_first_topic_partition_too(
    connect: Connect, max_bytes: int, found: list[bytes]
) -> None:
    """The size limit of a whole fetch also limits its first topic partition.

    With a limit of one byte the response has only the first batch. Kafka:
    ReplicaManager.readFromLog.
    """
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        for sequence, value in enumerate((b"a", b"b")):
            connection.call(Api.PRODUCE, 9, **produce("t", value, sequence=sequence))
        body = fetch("t", 0, max_wait=100) | {"max_bytes": max_bytes}
        assert values(connection.call(Api.FETCH, 12, **body)) == found


def test_a_follower_serves_consumers_since_version_11(connect: Connect) -> None:
    """A follower serves consumers from Fetch version 11 on; older ones get an error.

    The error is NOT_LEADER_OR_FOLLOWER. Kafka: FetchParams.fetchOnlyLeader, KIP-392.
    """
    with serving(ServeOptions(brokers=3)) as cluster:
        connections = [connect(cluster.bootstrap_servers, place) for place in range(3)]
        create(connections[0], "t", replicas=3)
        at = leader(connections[0], "t") - 1
        connections[at].call(Api.PRODUCE, 9, **produce("t", b"a"))
        follower = connections[(at + 1) % 3]
        old = follower.call(Api.FETCH, 10, **fetch("t", 0, max_wait=0))
        assert old.responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert values(follower.call(Api.FETCH, 11, **fetch("t", 0, max_wait=5_000))) == [b"a"]


def test_beside_an_error_a_fetch_response_has_nothing(connect: Connect) -> None:
    """A fetch response with an error has neither offsets nor aborted transactions.

    The offsets are -1. Kafka: ReplicaManager.createLogReadResult for an OffsetOutOfRangeException.
    """
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        answer = connection.call(Api.FETCH, 12, **fetch("t", 9, max_wait=0), isolation_level=1)
        (found,) = answer.responses[0].partitions
        assert found.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert (found.high_watermark, found.last_stable_offset, found.log_start_offset) == (-1,) * 3
        assert found.aborted_transactions is None


@pytest.mark.parametrize(("timestamp", "since"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 12)])
def test_a_query_of_list_offsets_has_a_first_version(
    connect: Connect, timestamp: int, since: int
) -> None:
    """Each special timestamp of ListOffsets is supported from a certain version on.

    In an earlier version the error is UNSUPPORTED_VERSION. Kafka:
    ReplicaManager.isListOffsetsTimestampUnsupported.
    """
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        wanted = [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}]
        body = {"replica_id": -1, "topics": [{"name": "t", "partitions": wanted}]}
        for version in (since - 1, since):
            if version not in VERSIONS[Api.LIST_OFFSETS]:
                continue
            answer = connection.call(Api.LIST_OFFSETS, version, **body)
            error = answer.topics[0].partitions[0].error_code
            assert error == (ErrorCode.NONE if version >= since else ErrorCode.UNSUPPORTED_VERSION)


def test_a_topic_partition_that_is_listed_twice_is_an_invalid_request(connect: Connect) -> None:
    """ListOffsets for a topic partition that occurs twice in the request gets INVALID_REQUEST.

    Kafka: ReplicaManager.fetchOffset.
    """
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        wanted = [{"partition_index": 0, "timestamp": query} for query in (-1, -2)]
        body = {"replica_id": -1, "topics": [{"name": "t", "partitions": wanted}]}
        (topic,) = connection.call(Api.LIST_OFFSETS, 8, **body).topics
        (found,) = topic.partitions
        assert (found.error_code, found.offset) == (ErrorCode.INVALID_REQUEST, -1)


def test_a_long_poll_ends_with_the_append(connect: Connect) -> None:
    with serving(ServeOptions(brokers=3)) as cluster:
        first = connect(cluster.bootstrap_servers)
        create(first, "t", replicas=3)
        place = leader(first, "t") - 1
        reader, writer = (connect(cluster.bootstrap_servers, place) for _ in range(2))
        reader.send(Api.FETCH, 12, **fetch("t", 0, max_wait=2_000_000))
        writer.call(Api.PRODUCE, 9, **produce("t", b"a"))

        assert values(reader.answer(Api.FETCH, 12)) == [b"a"]


def test_a_fetch_of_many_partitions_is_limited_after_the_first_batch(connect: Connect) -> None:
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        for topic in ("a", "b"):
            create(connection, topic)
            connection.call(Api.PRODUCE, 9, **produce(topic, b"x" * 100))
        both = fetch("a", 0, max_wait=0)
        both["topics"] += fetch("b", 0, max_wait=0)["topics"]
        small = connection.call(Api.FETCH, 12, max_bytes=10, **both)
        large = connection.call(Api.FETCH, 12, max_bytes=10_000, **both)

    def sizes(answer: Any) -> list[int]:
        return [len(one.partitions[0].records) for one in answer.responses]

    assert sizes(small) == [sizes(large)[0], 0]
    assert all(sizes(large))
    assert [one.partitions[0].high_watermark for one in small.responses] == [1, 1]


def test_acks_0_has_no_response_and_the_record_is_appended(connect: Connect) -> None:
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        connection.send(Api.PRODUCE, 9, **produce("t", b"a", acks=0))

        assert values(connection.call(Api.FETCH, 12, **fetch("t", 0, max_wait=5000))) == [b"a"]


def test_a_dropped_response_closes_the_connection_after_the_append(
    tmp_path: Path, connect: Connect
) -> None:
    log = tmp_path / "applied.ndjson"
    options = ServeOptions(brokers=1, faults=(DropResponse(every=2),), applied_log=log)
    with serving(options) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        connection.call(Api.PRODUCE, 9, **produce("t", b"a"))
        connection.send(Api.PRODUCE, 9, **produce("t", b"b", sequence=1))
        connection.send(Api.PRODUCE, 9, **produce("t", b"c", sequence=2))
        assert connection.receive_frame() is None  # neither b nor c is answered
        again = connect(cluster.bootstrap_servers)
        seen = values(again.call(Api.FETCH, 12, **fetch("t", 0, max_wait=0)))
        retried = again.call(Api.PRODUCE, 9, **produce("t", b"b", sequence=1))

    assert seen == [b"a", b"b"]
    assert retried.responses[0].partition_responses[0].base_offset == 1
    assert applied_but_unanswered(log) == 1
    assert applied(log) == 2  # c, behind the cut, was never read


def test_a_killed_broker_is_replaced_and_restarts_with_its_disk(connect: Connect) -> None:
    fault = KillBroker(broker_id=BrokerId(1), after=2, restart=20)
    with serving(ServeOptions(brokers=2, faults=(fault,))) as cluster:
        other = connect(cluster.bootstrap_servers, 1)
        topic = next(name for name in topics_led_by(other, 1))
        first = connect(cluster.bootstrap_servers)
        first.call(Api.PRODUCE, 9, **produce(topic, b"a"))
        first.send(Api.PRODUCE, 9, **produce(topic, b"b", sequence=1))
        while first.receive_frame() is not None:
            pass
        while leader(other, topic) != 2:
            time.sleep(0.01)
        assert both_values(other, topic) == [b"a", b"b"]
        while len(other.call(Api.METADATA, 9, topics=[]).brokers) < 2:
            time.sleep(0.01)
        third = connect(cluster.bootstrap_servers)
        assert len(third.call(Api.METADATA, 9, topics=[{"name": topic}]).topics) == 1

    assert [note.split(" after ")[0] for note in cluster.notes] == [
        "broker 1 is killed",
        "broker 1 restarts",
    ]


def test_a_broker_that_is_down_is_not_killed_again(connect: Connect) -> None:
    faults = tuple(KillBroker(broker_id=BrokerId(1), after=after) for after in (1, 2))
    with serving(ServeOptions(brokers=2, faults=faults)) as cluster:
        other = connect(cluster.bootstrap_servers, 1)
        (topic,) = topics_led_by(other, 1)
        connect(cluster.bootstrap_servers).call(Api.PRODUCE, 9, **produce(topic, b"a"))
        while leader(other, topic) != 2:
            time.sleep(0.01)
        other.call(Api.PRODUCE, 9, **produce(topic, b"b", sequence=1))
        assert both_values(other, topic) == [b"a", b"b"]
    assert [note.split(" after ")[0] for note in cluster.notes] == ["broker 1 is killed"]


def test_a_failed_restart_is_raised_when_serving_ends(connect: Connect) -> None:
    fault = KillBroker(broker_id=BrokerId(1), after=1, restart=5)
    notes: list[str] = []

    def kept_from_its_port() -> None:
        options = ServeOptions(brokers=2, faults=(fault,))
        with serving(options) as cluster, socket.socket() as squatter:
            other = connect(cluster.bootstrap_servers, 1)
            (topic,) = topics_led_by(other, 1)
            first = connect(cluster.bootstrap_servers)
            first.call(Api.PRODUCE, 9, **produce(topic, b"a"))
            while first.receive_frame() is not None:
                pass
            host, port = cluster.bootstrap_servers.split(",")[0].split(":")
            squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            squatter.bind((host, int(port)))
            squatter.listen()
            while len(cluster.notes) < 3:
                leader(other, topic)
            notes.extend(cluster.notes)

    with pytest.raises(CannotServe, match="in use"):
        kept_from_its_port()
    assert notes[2].startswith("a planned kill or restart failed: 127.0.0.1:")


def topics_led_by(connection: Any, broker: int) -> list[str]:
    """Creates topics until one of them is led by `broker`; returns a list with its name."""
    for number in range(8):
        create(connection, f"t{number}", replicas=2)
        if leader(connection, f"t{number}") == broker:
            return [f"t{number}"]
    raise AssertionError(f"broker {broker} leads none of eight topics")


def both_values(connection: Any, topic: str) -> list[bytes | None]:
    asked = [fetch(topic, offset, max_wait=5000, max_bytes=1) for offset in range(2)]
    return [value for one in asked for value in values(connection.call(Api.FETCH, 12, **one))]


# ---------------------------------------------------------------- what is no request


GOOD = struct.pack(">hhih", Api.API_VERSIONS, 0, 1, -1)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (struct.pack(">i", 3) + b"abc", "a frame of 3 bytes is too short for a request header"),
        (struct.pack(">i", -1), "a frame of -1 bytes"),
        (struct.pack(">i", 2**31 - 1), "a frame of 2147483647 bytes"),
        (b"GET / HTTP/1.1\r\n\r\n", "a frame of 1195725856 bytes"),
        (struct.pack(">ihhi", 8, 999, 0, 1), "api key 999 is not supported"),
        (struct.pack(">ihhi", 8, 4, 0, 1), "api key 4 is not supported"),
        (struct.pack(">ihhi", 8, 3, 99, 1), "METADATA version 99 is not supported"),
        (struct.pack(">ihhi", 8, 0, 2, 1), "PRODUCE version 2 is not supported"),
        (struct.pack(">ihhih", 10, 3, 9, 1, -1), "METADATA version 9: "),
        (struct.pack(">ihhih", 30, 3, 1, 1, -1) + b"\x7f" * 20, "METADATA version 1: "),
        (struct.pack(">ih", 100, 3), "the stream ends inside a frame"),
    ],
)
def test_an_invalid_frame_closes_its_connection_with_one_log_line(
    sent: bytes, expected: str, cluster: Served, connect: Connect
) -> None:
    before = len(cluster.notes)
    connection = connect(cluster.bootstrap_servers)
    connection.stream.sendall(sent)
    connection.stream.shutdown(socket.SHUT_WR)

    assert connection.receive_frame() is None
    assert len(cluster.notes) == before + 1
    assert expected in cluster.notes[-1]
    assert "\n" not in cluster.notes[-1]
    alive = connect(cluster.bootstrap_servers)
    alive.send_frame(GOOD)
    assert alive.receive_frame() is not None


def test_random_bytes_never_stop_the_server(cluster: Served, connect: Connect) -> None:
    rng = random.Random(8)
    for _ in range(1000):
        api = rng.choice(list(VERSIONS))
        body = bytes(
            rng.choice((0, 1, 2, 255, rng.randrange(256))) for _ in range(rng.randrange(60))
        )
        connection = connect(cluster.bootstrap_servers)
        frame = struct.pack(">hhih", api, rng.randrange(0, 14), 1, -1) + body
        connection.stream.sendall(struct.pack(">i", len(frame)) + frame)
        connection.stream.shutdown(socket.SHUT_WR)
        while connection.receive_frame() is not None:
            pass

    assert not [note for note in cluster.notes if "bug" in note]


def test_an_unknown_version_of_api_versions_gets_a_version_0_response(
    cluster: Served, connect: Connect
) -> None:
    connection = connect(cluster.bootstrap_servers)
    connection.send_frame(struct.pack(">hhih", Api.API_VERSIONS, 99, 1, -1))
    connection.correlation = 1

    answer = connection.answer(Api.API_VERSIONS, 0)
    assert answer.error_code == 35
    assert [(one.api_key, one.max_version) for one in answer.api_keys] == [(18, 4)]


# ---------------------------------------------------------------- starting and stopping


def test_a_port_in_use_is_rejected_by_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(CannotServe, match=rf"{port}: .*; port 0 selects free ports"),
            serving(ServeOptions(brokers=1, port=port)),
        ):
            pass


@pytest.mark.parametrize(
    ("expected", "complaint"),
    [
        ({"brokers": 0}, "0 brokers: the number must be 1 to 16"),
        ({"faults": (KillBroker(broker_id=BrokerId(9), after=1),)}, "id=9 must be 1 to 3"),
        (
            {"brokers": 1, "faults": (KillBroker(broker_id=BrokerId(1), after=1),)},
            "needs at least two brokers",
        ),
    ],
)
def test_invalid_options_are_rejected(expected: dict[str, Any], complaint: str) -> None:
    with pytest.raises((CannotServe, BadFault), match=complaint):
        ServeOptions(**expected)


def test_a_cancelled_server_frees_its_ports() -> None:
    ready: list[Cluster] = []

    async def cancelled() -> None:
        task = asyncio.create_task(serve(ServeOptions(brokers=2), on_ready=ready.append))
        while not ready:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    thread = threading.Thread(target=lambda: asyncio.run(cancelled()))
    thread.start()
    thread.join()
    for server in ready[0].bootstrap_servers.split(","):
        with socket.create_server(("127.0.0.1", int(server.split(":")[1]))):
            pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_server_cleanly(number: int) -> None:
    program = (
        "import asyncio, reference_impl.wire.serve as s\n"
        "def ready(cluster): print(cluster.bootstrap_servers, flush=True)\n"
        "asyncio.run(s.serve(s.ServeOptions(brokers=1), on_ready=ready))\n"
        "print('stopped')\n"
    )
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("127.0.0.1:")
        server.send_signal(number)
        assert server.stdout.read() == "stopped\n"
    assert server.returncode == 0
