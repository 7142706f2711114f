"""Messages between nodes arrive in order or are lost; only nodes with the secret may send them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from model.vocabulary import Offset, TopicPartition
from reference_impl.node.step import RequestReceived, ResponseReceived
from reference_impl.protocol.messages import Fetch, Fetched, NodeId
from reference_impl.wire.nodes import links
from reference_impl.wire.nodes.encoding import Message
from reference_impl.wire.nodes.links import CHALLENGE_BYTES, LENGTH, LOOPBACK, Links

ONE, TWO = NodeId(1), NodeId(2)
ORDERS = TopicPartition("orders", 0)
SECRET = bytes(32)


@dataclass
class End:
    """A node's links, the messages that they received, and the lines that they logged."""

    node: NodeId
    secret: bytes = SECRET
    received: list[Message] = field(default_factory=list[Message])
    notes: list[str] = field(default_factory=list[str])
    links: Links = field(init=False)

    def __post_init__(self) -> None:
        self.links = Links(self.node, self.secret, self.received.append, self.notes.append)

    async def open(self, port: int = 0) -> int:
        at = await self.links.open(port)
        self.links.places[self.node] = at
        return at[1]

    def numbers(self) -> list[int]:
        return [message.correlation for message in self.received]


def fetch(number: int) -> RequestReceived:
    return RequestReceived(TWO, number, Fetch(topic_partition=ORDERS, fetch_offset=Offset(number)))


async def until(is_true: Callable[[], Any]) -> None:
    async with asyncio.timeout(20):
        while not is_true():
            await asyncio.sleep(0.005)


async def pair(secret: bytes = SECRET) -> tuple[End, End]:
    """Returns two nodes; the second has the given secret and knows the address of the first."""
    one, two = End(ONE), End(TWO, secret)
    for end in (one, two):
        await end.open()
    two.links.places[ONE] = one.links.places[ONE]
    return one, two


async def close(*ends: End) -> None:
    for end in ends:
        await end.links.close()


def test_messages_arrive_once_and_in_order_with_their_sender() -> None:
    async def run() -> None:
        one, two = await pair()
        for number in range(500):
            two.links.send(ONE, fetch(number))
        await until(lambda: len(one.received) == 500)
        assert one.received == [fetch(number) for number in range(500)]
        await close(one, two)

    asyncio.run(run())


def test_a_large_message_arrives_whole() -> None:
    async def run() -> None:
        one, two = await pair()
        fetched = Fetched(topic_partition=ORDERS, batches=bytes(range(256)) * 20_000)
        two.links.send(ONE, ResponseReceived(TWO, 1, fetched))
        two.links.send(ONE, fetch(2))
        await until(lambda: len(one.received) == 2)
        assert one.received == [ResponseReceived(TWO, 1, fetched), fetch(2)]
        await close(one, two)

    asyncio.run(run())


def test_messages_to_a_node_that_is_down_are_lost_and_later_ones_arrive() -> None:
    async def run() -> None:
        one, two = await pair()
        two.links.send(ONE, fetch(1))
        await until(lambda: one.numbers() == [1])
        port = one.links.places[ONE][1]
        await one.links.close()
        again = End(ONE)

        async def send_until_received() -> None:
            number = 1
            while not again.received:
                number += 1
                two.links.send(ONE, fetch(number))
                if number == 20:
                    await again.open(port)
                await asyncio.sleep(0.01)

        async with asyncio.timeout(20):
            await send_until_received()
        await asyncio.sleep(0.05)
        numbers = again.numbers()
        assert numbers[0] > 2
        assert numbers == [*range(numbers[0], numbers[-1] + 1)]
        await close(again, two)

    asyncio.run(run())


def test_a_node_without_an_address_is_reached_once_it_has_one() -> None:
    async def run() -> None:
        one, two = await pair()
        place = two.links.places.pop(ONE)
        two.links.send(ONE, fetch(1))  # lost
        await asyncio.sleep(0.01)
        two.links.places[ONE] = place
        two.links.send(ONE, fetch(2))
        await until(lambda: 2 in one.numbers() or two.links._outgoing[ONE]._dialing is None)
        two.links.send(ONE, fetch(3))
        await until(lambda: 3 in one.numbers())
        await close(one, two)

    asyncio.run(run())


def test_messages_between_separated_nodes_are_lost_in_both_directions() -> None:
    async def run() -> None:
        one, two = await pair()
        one.links.places[TWO] = two.links.places[TWO]
        for separated in (one, two):
            separated.links.separated = frozenset({ONE, TWO}) - {separated.node}
            two.links.send(ONE, fetch(1))
            one.links.send(TWO, fetch(1))
            await asyncio.sleep(0.1)
            separated.links.separated = frozenset()
        two.links.send(ONE, fetch(2))
        one.links.send(TWO, fetch(3))
        await until(lambda: one.received and two.received)
        assert (one.numbers(), two.numbers()) == ([2], [3])
        await close(one, two)

    asyncio.run(run())


def test_a_slow_link_delivers_each_message_late_and_in_order() -> None:
    async def run() -> None:
        one, two = await pair()
        one.links.link_ms = 100
        loop = asyncio.get_running_loop()
        begun_s = loop.time()
        for number in range(50):
            two.links.send(ONE, fetch(number))
        await until(lambda: len(one.received) == 50)
        assert loop.time() - begun_s >= 0.1
        assert one.numbers() == [*range(50)]
        await close(one, two)

    asyncio.run(run())


def test_a_node_with_another_secret_sends_nothing() -> None:
    async def run() -> None:
        one, two = await pair(secret=b"x" * 32)
        two.links.send(ONE, fetch(1))
        await until(lambda: one.notes)
        assert one.notes[0] == (
            "node 1 closes a link: the sender does not know the secret of the cluster"
        )
        assert one.received == []
        await close(one, two)

    asyncio.run(run())


def test_a_listener_that_does_not_know_the_secret_gets_no_message() -> None:
    async def run() -> None:
        heard: list[bytes] = []

        async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(bytes(CHALLENGE_BYTES))
            heard.append(await reader.readexactly(links.INTRODUCTION.size))
            writer.write(bytes(links.PROOF_BYTES))
            heard.append(await reader.read())
            writer.close()

        server = await asyncio.start_server(pretend, LOOPBACK, 0)
        two = End(TWO)
        await two.open()
        two.links.places[ONE] = server.sockets[0].getsockname()[:2]
        two.links.send(ONE, fetch(1))
        await until(lambda: len(heard) == 2)
        assert heard[1] == b"", "the connection is closed after the false proof"
        await two.links.close()
        server.close()

    asyncio.run(run())


def test_a_proof_of_one_connection_is_none_for_another() -> None:
    async def run() -> None:
        one, two = await pair()
        seen: list[bytes] = []

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            to, back = await asyncio.open_connection(*one.links.places[ONE])
            writer.write(await to.readexactly(CHALLENGE_BYTES))
            seen.append(await reader.readexactly(links.INTRODUCTION.size))
            for stream in (back, writer):
                stream.close()

        server = await asyncio.start_server(relay, LOOPBACK, 0)
        two.links.places[ONE] = server.sockets[0].getsockname()[:2]
        two.links.send(ONE, fetch(1))
        await until(lambda: seen)
        reader, writer = await asyncio.open_connection(*one.links.places[ONE])
        await reader.readexactly(CHALLENGE_BYTES)
        writer.write(seen[0])
        assert await reader.read() == b"", "the recorded proof is refused"
        assert one.received == []
        writer.close()
        server.close()
        await close(one, two)

    asyncio.run(run())


@pytest.mark.parametrize(
    "frame", [LENGTH.pack(1 << 31), LENGTH.pack(3) + b"abc"], ids=["too large", "malformed"]
)
def test_a_bad_frame_closes_the_connection(frame: bytes) -> None:
    async def run() -> None:
        one, two = await pair()
        two.links.send(ONE, fetch(1))
        await until(lambda: one.received)
        (connection,) = one.links._incoming.values()
        connection.data_received(frame)
        assert len(one.notes) == 1
        await until(lambda: not one.links._arrived)
        (outgoing,) = two.links._outgoing.values()
        await until(lambda: outgoing._transport is None)
        two.links.send(ONE, fetch(2))
        await until(lambda: len(one.received) == 2)
        await close(one, two)

    asyncio.run(run())


def test_a_message_after_a_lost_connection_arrives_over_the_next_one() -> None:
    """Each of five messages arrives, although the receiver closes the connection after each
    message. A connection is lost just after the receiver has admitted the sender.
    """

    async def run() -> None:
        one, two = await pair()
        async with asyncio.timeout(20):
            for number in range(1, 6):
                two.links.send(ONE, fetch(number))
                while len(one.received) < number:
                    await asyncio.sleep(0)
                one.links._incoming[TWO].close()
                while two.links._outgoing[ONE]._transport is not None:
                    await asyncio.sleep(0)
        assert one.numbers() == [1, 2, 3, 4, 5]
        await close(one, two)

    asyncio.run(run())


def test_a_second_connection_of_a_node_closes_the_first() -> None:
    async def run() -> None:
        one, two = await pair()
        two.links.send(ONE, fetch(1))
        await until(lambda: one.received)
        later = End(TWO)
        await later.open()
        later.links.places[ONE] = one.links.places[ONE]
        later.links.send(ONE, fetch(2))
        await until(lambda: len(one.received) == 2)
        assert len(one.links._arrived) == 1
        await close(one, two, later)

    asyncio.run(run())


def test_a_node_that_does_not_read_loses_messages_instead_of_filling_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        one, two = await pair()
        two.links.send(ONE, fetch(0))
        await until(lambda: one.received)
        for connection in one.links._incoming.values():
            assert connection._transport is not None
            connection._transport.pause_reading()
        fetched = Fetched(topic_partition=ORDERS, batches=bytes(1 << 20))
        for number in range(100):
            two.links.send(ONE, ResponseReceived(TWO, number, fetched))
            await asyncio.sleep(0)
        (outgoing,) = two.links._outgoing.values()
        assert outgoing._transport is not None
        assert outgoing._transport.get_write_buffer_size() < 3 << 20
        for connection in one.links._incoming.values():
            assert connection._transport is not None
            connection._transport.resume_reading()
        two.links.send(ONE, fetch(100))
        await until(lambda: len(one.received) > 1)
        assert one.numbers() == sorted(one.numbers())
        await close(one, two)

    monkeypatch.setattr(links, "MOST_WAITING_BYTES", 1 << 20)
    asyncio.run(run())
