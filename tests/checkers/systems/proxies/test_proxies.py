"""The effects of proxies on requests and responses, observed at both ends of a connection."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final
from uuid import UUID

import pytest

from checkers.systems.proxies.frames import LENGTH, NotKafka
from checkers.systems.proxies.proxies import CannotListen, Proxies
from checkers.systems.proxies.rules import (
    Cut,
    DropRequest,
    DropResponse,
    Hold,
    Match,
    SwapRequests,
)
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.plain_messages import encode
from tests.checkers.systems.proxies.conftest import SILENT, Echo, Peer

Connect = Callable[..., Peer]
ORDERS_ID: Final = UUID("4ac2c2a5-4ac2-4ac2-8ac2-4ac2c2a54ac2")


def test_without_rules_everything_passes_in_order(connect: Connect, proxies: Proxies) -> None:
    client = connect()
    for number in range(3):
        client.request(number, b"%d" % number)

    assert [client.answer() for _ in range(3)] == [(0, b"0"), (1, b"1"), (2, b"2")]
    assert proxies.requests(1, 2, 0) == 3
    assert proxies.log == ()


def test_a_dropped_response_was_applied(connect: Connect, proxies: Proxies, echo: Echo) -> None:
    lost = proxies.add(DropResponse(of=Match(receiver=2, api=0, first=2, count=1)))
    client = connect()
    client.request(1, b"a")
    client.request(2, b"b")

    assert client.answer() == (1, b"a")
    assert client.answer() is None, "the connection is closed"
    assert echo.applied == [b"a", b"b"]
    assert proxies.await_acted(lost)
    assert [str(one) for one in proxies.log] == [
        "DropResponse 1 to 2: PRODUCE v9, correlation 2, client 'me'"
    ]


def test_after_a_silent_drop_no_response_of_the_connection_passes(
    connect: Connect, proxies: Proxies, echo: Echo
) -> None:
    proxies.add(DropResponse(of=Match(count=1), close=False))
    client = connect()
    client.request(1, b"a")
    client.request(2, b"b")

    assert echo.awaits(b"a", b"b")
    assert client.is_silent()
    other = connect()
    other.request(1, b"c")
    assert other.answer() == (1, b"c")


def test_a_dropped_request_was_not_applied(connect: Connect, proxies: Proxies, echo: Echo) -> None:
    lost = proxies.add(DropRequest(of=Match(count=1)))
    client = connect()
    client.request(1, b"a")

    assert client.answer() is None
    assert (echo.applied, lost.acted) == ([], 1)


def test_after_a_silently_dropped_request_the_server_receives_nothing(
    connect: Connect, proxies: Proxies, echo: Echo
) -> None:
    proxies.add(DropRequest(of=Match(count=1), close=False))
    client = connect()
    client.request(1, b"a")
    client.request(2, b"b")

    assert client.is_silent()
    assert echo.applied == []


def test_a_held_request_arrives_later(connect: Connect, proxies: Proxies) -> None:
    proxies.add(Hold(of=Match(count=1), for_ms=150))
    client, begin = connect(), time.monotonic()
    client.request(1, b"a")

    assert client.answer() == (1, b"a")
    assert time.monotonic() - begin >= 0.15


def test_a_hold_without_time_ends_when_it_is_lifted(
    connect: Connect, proxies: Proxies, echo: Echo
) -> None:
    held = proxies.add(Hold(of=Match(count=1)))
    first, second = connect(), connect()
    first.request(1, b"a")
    assert proxies.await_acted(held)
    second.request(1, b"b")
    assert second.answer() == (1, b"b")  # another connection is not held

    proxies.lift(held)
    assert first.answer() == (1, b"a")
    assert echo.applied == [b"b", b"a"], "the two requests were reordered"


def test_a_held_response_was_applied_at_once(
    connect: Connect, proxies: Proxies, echo: Echo
) -> None:
    held = proxies.add(Hold(of=Match(count=1), part="response"))
    client = connect()
    client.request(1, b"a")

    assert echo.awaits(b"a")
    assert client.is_silent()
    proxies.lift(held)
    assert client.answer() == (1, b"a")


def test_swapped_requests_arrive_in_the_other_order(
    connect: Connect, proxies: Proxies, echo: Echo
) -> None:
    swap = proxies.add(SwapRequests(of=Match(count=2)))
    client = connect()
    client.request(1, b"a")
    assert client.is_silent()
    client.request(2, b"b")
    client.request(3, b"c")

    assert echo.awaits(b"b", b"a", b"c")
    assert {client.answer() for _ in range(3)} == {(1, b"a"), (2, b"b"), (3, b"c")}
    assert swap.acted == 1


@pytest.mark.parametrize("cut", [Cut(sender=1, receiver=2), Cut(sender=2, receiver=1)])
def test_a_cut_holds_one_direction_and_loses_nothing(
    connect: Connect, proxies: Proxies, echo: Echo, cut: Cut
) -> None:
    client, other = connect(), connect(1, 3)
    client.request(1, b"a")
    assert client.answer() == (1, b"a")
    with proxies.during(cut):
        client.request(2, b"b")
        assert client.is_silent()
        assert echo.applied == ([b"a"] if cut.sender == 1 else [b"a", b"b"])
        other.request(1, b"c")
        assert other.answer() == (1, b"c")

    assert client.answer() == (2, b"b")
    assert [one.do for one in proxies.log] == ["Cut", "Lift"]


def test_a_connection_that_begins_during_a_cut_is_served_afterwards(
    connect: Connect, proxies: Proxies, echo: Echo
) -> None:
    with proxies.during(Cut(sender=1, receiver=2), Cut(sender=2, receiver=1)):
        client = connect()
        client.request(1, b"a")
        assert client.is_silent()
        assert echo.applied == []

    assert client.answer() == (1, b"a")


def test_a_request_without_response_confuses_no_match(connect: Connect, proxies: Proxies) -> None:
    lost = proxies.add(DropResponse(of=Match(first=2, count=1)))
    client = connect()
    client.request(1, SILENT)
    client.request(2, b"b")

    assert client.answer() is None
    assert lost.acted == 1


def test_a_target_that_does_not_listen_closes_the_connection(proxies: Proxies) -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        unused = once.getsockname()[1]
    port = proxies.open(1, 2, "127.0.0.1", 0, "127.0.0.1", unused)

    with socket.create_connection(("127.0.0.1", port), 5) as stream:
        assert Peer(stream).answer() is None


def test_a_rule_that_is_never_met_is_reported(proxies: Proxies) -> None:
    assert not proxies.await_acted(proxies.add(DropResponse(of=Match())), within_s=0.05)


def test_a_port_in_use_is_reported_with_pair_and_address(proxies: Proxies, echo: Echo) -> None:
    with pytest.raises(CannotListen, match=r"from 1 to 2 cannot listen at 127\.0\.0\.1:\d+"):
        proxies.open(1, 2, "127.0.0.1", echo.port, "127.0.0.1", 1)


def test_bytes_that_are_not_kafkas_are_raised_when_the_proxies_close(echo: Echo) -> None:
    proxies = Proxies()
    port = proxies.open(1, 2, "127.0.0.1", 0, "127.0.0.1", echo.port)
    with socket.create_connection(("127.0.0.1", port), 5) as stream:
        stream.sendall(b"GET / HTTP/1.1")
        assert Peer(stream).answer() is None

    with pytest.raises(NotKafka, match="a frame of 1195725856 bytes"):
        proxies.__exit__(None, None, None)


def fetch(epoch: int, *partitions: int) -> bytes:
    """Returns the frame of a Fetch that names these partitions of the topic by its id."""
    named = [{"topic_id": ORDERS_ID, "partitions": [{"partition": one} for one in partitions]}]
    body = {"session_id": 5, "session_epoch": epoch, "topics": named if partitions else []}
    return encode(Api.FETCH, 17, epoch, body)[LENGTH.size :]


def test_a_rule_finds_the_partition_of_a_session_in_a_fetch_that_does_not_name_it(
    connect: Connect, proxies: Proxies
) -> None:
    client = connect()
    client.send(fetch(0, 0, 1))
    assert client.answer() is not None
    fetches = Match(api=Api.FETCH, topic_id=ORDERS_ID)
    other = proxies.add(DropResponse(of=replace(fetches, partition=2)))
    lost = proxies.add(DropResponse(of=replace(fetches, partition=1, first=2)))
    client.send(fetch(1))
    assert client.answer() is not None
    client.send(fetch(2, 0))

    assert client.answer() is None
    assert (lost.seen, lost.acted, lost.undecided) == (2, 1, 0)
    assert (other.seen, other.acted, other.undecided) == (0, 0, 0)


def test_a_rule_never_acts_on_a_request_that_it_cannot_decide(
    connect: Connect, proxies: Proxies
) -> None:
    named = proxies.add(DropResponse(of=Match(api=Api.FETCH, topic="orders")))
    client = connect()
    client.send(fetch(0, 0))
    assert client.answer() is not None
    assert (named.seen, named.acted, named.undecided) == (0, 0, 1)
