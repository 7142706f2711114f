"""A served cluster: dropped responses, killed brokers, ports, options and signals."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.vocabulary import BrokerId
from reference_impl.protocol.messages import CONTROLLER, NodeId
from reference_impl.wire.faults.reading import parsed
from reference_impl.wire.faults.rule import BadFault
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.nodes.interruptions import Interruptions
from reference_impl.wire.server.applied_log import applied, applied_but_unanswered
from reference_impl.wire.serving.options import CannotServe, ServeOptions
from reference_impl.wire.serving.serve import Cluster, serve
from reference_impl.wire.serving.served_cluster import ServedCluster
from reference_impl.wire.serving.serving import Served, serving
from tests.reference_impl.wire.one_topic import create, fetch, leader, produce, values

Connect = Any  # the fixture `connect` of conftest


def test_a_dropped_response_closes_the_connection_after_the_append(
    tmp_path: Path, connect: Connect
) -> None:
    log = tmp_path / "applied.ndjson"
    options = ServeOptions(brokers=1, faults=(parsed("drop-response:every=2"),), applied_log=log)
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
    fault = parsed("kill-broker:id=1,after=2,restart=20")
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


def interruptions_of(cluster: Served) -> Interruptions:
    served = cluster._cluster
    assert isinstance(served, Cluster)
    return served.host.interruptions


def test_a_restarted_broker_refuses_connections_until_it_is_unfenced(connect: Connect) -> None:
    """If a broker accepted connections right after its start, its metadata would contain no broker.

    librdkafka would then forget all brokers, and could not send for minutes.
    """
    broker_settings = replace(SERVED, heartbeat_ms=50, session_timeout_ms=400)
    with serving(ServeOptions(brokers=2, broker_settings=broker_settings)) as cluster:
        interruptions_of(cluster).split([NodeId(1)], [CONTROLLER])
        cluster.kill(BrokerId(1))
        cluster.start(BrokerId(1))
        time.sleep(0.1)
        with pytest.raises(ConnectionRefusedError):
            connect(cluster.bootstrap_servers)
        interruptions_of(cluster).heal()
        cluster.await_calm()
        described = connect(cluster.bootstrap_servers).call(Api.METADATA, 9, topics=[])
        assert [broker.node_id for broker in described.brokers] == [1, 2]


def test_a_port_that_is_taken_before_a_broker_accepts_is_an_error(connect: Connect) -> None:
    def kept_from_its_port() -> None:
        broker_settings = replace(SERVED, heartbeat_ms=50, session_timeout_ms=400)
        with (
            serving(ServeOptions(brokers=2, broker_settings=broker_settings)) as cluster,
            socket.socket() as squatter,
        ):
            host, port = cluster.bootstrap_servers.split(",")[0].split(":")
            interruptions_of(cluster).split([NodeId(1)], [CONTROLLER])
            cluster.kill(BrokerId(1))
            cluster.start(BrokerId(1))
            squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            squatter.bind((host, int(port)))
            squatter.listen()
            interruptions_of(cluster).heal()
            cluster.await_calm()

    with pytest.raises(CannotServe, match="in use; port 0"):
        kept_from_its_port()


def test_a_broker_that_is_down_is_not_killed_again(connect: Connect) -> None:
    faults = tuple(parsed(f"kill-broker:id=1,after={after}") for after in (1, 2))
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
    fault = parsed("kill-broker:id=1,after=1,restart=5")
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
    assert notes[2].startswith("a planned fault failed: 127.0.0.1:")


def topics_led_by(connection: Any, broker: int) -> list[str]:
    """Creates topics until `broker` leads one; returns a list with the name of this topic."""
    for number in range(8):
        create(connection, f"t{number}", replicas=2)
        if leader(connection, f"t{number}") == broker:
            return [f"t{number}"]
    raise AssertionError(f"broker {broker} leads none of eight topics")


def both_values(connection: Any, topic: str) -> list[bytes | None]:
    asked = [fetch(topic, offset, max_wait=5000, max_bytes=1) for offset in range(2)]
    return [value for one in asked for value in values(connection.call(Api.FETCH, 12, **one))]


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
        ({"faults": (parsed("kill-broker:id=9,after=1"),)}, "broker: 9 must be 1 to 3"),
        (
            {"brokers": 1, "faults": (parsed("kill-broker:id=1,after=1,restart=9"),)},
            "a restart needs at least two brokers",
        ),
    ],
)
def test_invalid_options_are_rejected(expected: dict[str, Any], complaint: str) -> None:
    with pytest.raises((CannotServe, BadFault), match=complaint):
        ServeOptions(**expected)


def test_a_cancelled_server_frees_its_ports() -> None:
    ready: list[ServedCluster] = []

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
        "import asyncio, reference_impl.wire.serving.serve as s\n"
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
