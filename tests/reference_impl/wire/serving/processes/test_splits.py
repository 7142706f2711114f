"""A follower that cannot reach its leader leaves the ISR, and returns when the link works again."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from typing import Any

import pytest

from model.faults import InputFault
from model.vocabulary import BrokerId
from reference_impl.protocol.messages import CONTROLLER, ErrorCode, NodeId
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.serving.links_in_text import read_link
from reference_impl.wire.serving.options import CannotServe, ServeOptions
from reference_impl.wire.serving.serving import Served, serving
from tests.reference_impl.wire.one_topic import fetch, leader, produce, values
from tests.reference_impl.wire.serving.processes.relay import Relay
from tests.reference_impl.wire.waiting import until

SHORT = replace(
    SERVED,
    session_timeout_ms=1_500,
    replica_lag_ms=1_000,
    replica_fetch_wait_ms=300,
    replica_fetch_timeout_ms=600,
)
ONE, TWO = NodeId(1), NodeId(2)


def free_ports(count: int) -> int:
    """Searches for `count` consecutive ports that are all free now, and returns the first of
    them.
    """
    while True:
        with ExitStack() as taken:
            first = taken.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            try:
                for port in range(first + 1, first + count):
                    taken.enter_context(socket.create_server(("127.0.0.1", port)))
            except (OSError, OverflowError):
                continue
            return int(first)


@dataclass(frozen=True)
class Two:
    """A cluster of two brokers; broker 2 reaches broker 1 through a relay."""

    served: Served
    relay: Relay

    def happen(self, do: str, **fields: Any) -> None:
        connection = HTTPConnection("127.0.0.1", self.served.control_port, timeout=60)
        connection.request("POST", "/faults", json.dumps({"do": do, **fields}))
        assert connection.getresponse().status == 200
        connection.close()


@pytest.fixture(scope="module")
def two() -> Iterator[Two]:
    port = free_ports(3)
    with Relay(("127.0.0.1", port + 1)) as relay:
        options = ServeOptions(
            brokers=2,
            processes=True,
            control=0,
            broker_settings=SHORT,
            link_port=port,
            links={(TWO, ONE): relay.address},
        )
        with serving(options) as served:
            yield Two(served, relay)


@pytest.mark.parametrize("by", ["a proxy in the link", "the control port"])
def test_a_follower_without_its_leader_leaves_the_isr_and_returns(
    two: Two, connect: Any, by: str
) -> None:
    topic = by.replace(" ", "-")
    first = connect(two.served.bootstrap_servers)
    new = {
        "name": topic,
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": [{"partition_index": 0, "broker_ids": [1, 2]}],
    }
    first.call(Api.CREATE_TOPICS, 7, topics=[new], timeout=5_000)
    until(lambda: isr(first, topic) == [1, 2])
    assert send(first, topic, 0) is ErrorCode.NONE
    assert two.relay.forwarded > 0, "the follower fetches through the relay"
    with ExitStack() as while_it_lasts:
        if by == "the control port":
            two.happen("split", brokers=[2], others=[1])
            while_it_lasts.callback(two.happen, "heal")
        else:
            while_it_lasts.enter_context(two.relay.cut())
        assert send(first, topic, 1) is ErrorCode.NONE  # without the follower, once it has left
        until(lambda: isr(first, topic) == [1])
        if by == "the control port":
            sent = two.relay.forwarded
            restart(two.served, BrokerId(2))
            assert two.relay.forwarded == sent, "a node that starts keeps to the split"
    until(lambda: isr(first, topic) == [1, 2])
    assert send(first, topic, 2) is ErrorCode.NONE
    second = connect(two.served.bootstrap_servers, 1)
    two.served.kill(BrokerId(1))
    until(lambda: leader(second, topic) == 2)
    found = values(second.call(Api.FETCH, 12, **fetch(topic, 0, max_wait=500)))
    assert found == [b"0", b"1", b"2"]
    two.served.start(BrokerId(1))
    two.served.await_calm()


def restart(served: Served, broker_id: BrokerId) -> None:
    served.kill(broker_id)
    served.start(broker_id)
    served.await_calm()


def isr(connection: Any, topic: str) -> list[int]:
    (found,) = connection.call(Api.METADATA, 9, topics=[{"name": topic}]).topics
    return sorted(found.partitions[0].isr_nodes) if found.partitions else []


def send(connection: Any, topic: str, number: int) -> ErrorCode:
    answer = connection.call(Api.PRODUCE, 9, **produce(topic, b"%d" % number, sequence=number))
    (found,) = answer.responses[0].partition_responses
    return ErrorCode(found.error_code)


def test_a_link_is_read_from_a_text() -> None:
    assert read_link("1-2=127.0.0.1:7012") == ((ONE, TWO), ("127.0.0.1", 7012))
    assert read_link("controller-2=localhost:9") == ((CONTROLLER, TWO), ("localhost", 9))


@pytest.mark.parametrize(
    "text", ["", "1-2", "1=a:1", "a-2=h:1", "1-2=:1", "1-2=h:0", "1-2=h:65536"]
)
def test_any_other_text_is_no_link(text: str) -> None:
    with pytest.raises(InputFault, match="write two nodes and an address, such as 1-2="):
        read_link(text)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"links": {(ONE, TWO): ("h", 1)}, "processes": False}, "need --processes: add it"),
        ({"link_port": 9, "processes": False}, "need --processes: add it"),
        ({"links": {(ONE, ONE): ("h", 1)}}, "from node 1 to node 1: name two nodes"),
        ({"links": {(ONE, NodeId(4)): ("h", 1)}}, "controller and 1 to 3"),
        ({"link_port": 65_533}, "the first of 4: the last port is 65535"),
    ],
)
def test_wrong_links_are_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(CannotServe, match=error):
        ServeOptions(**{"processes": True, **options})
