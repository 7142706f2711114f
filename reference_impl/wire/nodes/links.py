"""The TCP connections between the processes of a cluster's brokers and controller.

Each direction between two nodes has its own connection, which the sender opens. The two nodes send
the following data, from top to bottom:

    the receiver      a random challenge
    the sender        its node id, its own challenge, and a proof that it knows the cluster's secret
    the receiver      a proof that it knows the secret, too
    the sender        messages, each with its length

A proof is an HMAC of both challenges under the secret. The messages are neither encrypted nor
signed.

The contract of `node/step` permits lost messages. A message is lost if the receiver cannot be
reached, if the connection breaks, or if 16 MiB already wait to be sent. Until a connection is open,
at most 1,000 messages wait for it. No message is repeated or reordered: a new connection of a
sender closes its older connection, whose unread messages are lost.

Simplified: In Kafka, a response comes back over the connection of its request.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, cast

from reference_impl.protocol.messages import NodeId
from reference_impl.wire.connections.listening import Address, address_of, close_listener
from reference_impl.wire.messages.frame_limits import LIMITS
from reference_impl.wire.nodes.encoding import Decoder, Encoder, MalformedMessage, Message

LOOPBACK: Final = "127.0.0.1"
SECRET_BYTES: Final = 32
CHALLENGE_BYTES: Final = 16
PROOF_BYTES: Final = hashlib.sha256().digest_size
INTRODUCTION: Final = struct.Struct(f">i{CHALLENGE_BYTES}s{PROOF_BYTES}s")
LENGTH: Final = struct.Struct(">I")
MOST_BYTES: Final = LIMITS.frame_bytes + (1 << 20)  # of a message
MOST_WAITING_BYTES: Final = 16 << 20  # for a node that does not read
MOST_WAITING: Final = 1_000  # messages, until the connection is open
ADMITTED_WITHIN_S: Final = 3.0
AGAIN_AFTER_S: Final = 0.05  # a failed connection


def _proof(secret: bytes, by: bytes, node: NodeId, of_dialed: bytes, of_dialing: bytes) -> bytes:
    signed = by + struct.pack(">i", node) + of_dialed + of_dialing
    return hmac.digest(secret, signed, "sha256")


@dataclass(slots=True)
class Links:
    """The links of one node to the other nodes.

    `receive` is called with each message, `link_ms` after the message arrives. A node without an
    address in `places` cannot be reached.
    """

    node: NodeId
    secret: bytes = field(repr=False)
    receive: Callable[[Message], None]
    note: Callable[[str], None]
    places: dict[NodeId, Address] = field(default_factory=dict)
    separated: frozenset[NodeId] = frozenset()
    link_ms: int = 0
    _late: deque[tuple[NodeId, Message]] = field(default_factory=deque)
    _server: asyncio.Server | None = None
    _outgoing: dict[NodeId, _Outgoing] = field(default_factory=dict)
    _incoming: dict[NodeId, _Incoming] = field(default_factory=dict)
    _arrived: set[_Incoming] = field(default_factory=set)

    async def open(self, port: int = 0) -> Address:
        """Listens on the loopback address, and returns the host and the port. If `port` is 0,
        listens on a free port.

        Raises OSError if the port is in use.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Incoming(self), LOOPBACK, port)
        return address_of(self._server)

    def send(self, to: NodeId, message: Message) -> None:
        """Sends a message, or loses it if the node cannot be reached."""
        if self._server is None or to in self.separated:
            return
        if to not in self._outgoing:
            self._outgoing[to] = _Outgoing(self, to)
        self._outgoing[to].send(message)

    async def close(self) -> None:
        closing, self._server = self._server, None
        if closing is not None:
            await close_listener(closing)
        for outgoing in self._outgoing.values():
            outgoing.close()
        for incoming in [*self._arrived]:
            incoming.close()
        await asyncio.sleep(0)

    # ------------------------------------------------------------ of the incoming connections

    def arrived(self, connection: _Incoming) -> None:
        self._arrived.add(connection)
        if self._server is None:
            connection.close()

    def admitted(self, connection: _Incoming, node: NodeId) -> None:
        earlier = self._incoming.get(node)
        if earlier is not None:
            earlier.close()
        self._incoming[node] = connection

    def left(self, connection: _Incoming) -> None:
        self._arrived.discard(connection)

    def deliver(self, sender: NodeId, message: Message) -> None:
        if not self.link_ms:
            self._receive(sender, message)
            return
        self._late.append((sender, message))  # in order, even if two are due at the same time
        loop = asyncio.get_running_loop()
        loop.call_later(self.link_ms / 1000, lambda: self._receive(*self._late.popleft()))

    def _receive(self, sender: NodeId, message: Message) -> None:
        if sender not in self.separated:
            self.receive(message)


class _Outgoing(asyncio.Protocol):
    """Sends messages to another node. After a lost connection, it opens a new connection."""

    def __init__(self, links: Links, to: NodeId) -> None:
        self._links = links
        self._to = to
        self._transport: asyncio.Transport | None = None
        self._encoder: Encoder | None = None  # from the admission on
        self._waiting: list[Message] = []
        self._received = b""
        self._expected = b""  # the other node's proof
        self._dialing: asyncio.Task[None] | None = None
        # For the connection that is being opened: True if the other node admits this node.
        self._admission: asyncio.Future[bool] | None = None

    def send(self, message: Message) -> None:
        if self._encoder is None:
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append(message)
            if self._dialing is None:
                self._dialing = asyncio.create_task(self._dial())
        elif self._transport is not None:
            self._write(self._transport, self._encoder, message)

    def close(self) -> None:
        if self._dialing is not None:
            self._dialing.cancel()
        if self._transport is not None:
            self._transport.abort()

    async def _dial(self) -> None:
        """Connects to the other process.

        A failed attempt loses all waiting messages. Messages that are sent later cause another
        attempt.
        """
        while self._waiting:
            if not await self._connect():
                self._waiting.clear()
                if self._transport is not None:
                    self._transport.abort()
                await asyncio.sleep(AGAIN_AFTER_S)
        self._dialing = None

    async def _connect(self) -> bool:
        """Opens a connection, and returns True if the other node accepts it, even if the connection
        breaks later.
        """
        place = self._links.places.get(self._to)
        if place is None:
            return False
        loop = asyncio.get_running_loop()
        self._admission = loop.create_future()
        try:
            async with asyncio.timeout(ADMITTED_WITHIN_S):
                await loop.create_connection(lambda: self, *place)
                return await self._admission
        except OSError:  # TimeoutError too
            return False

    def _decide(self, *, admitted: bool) -> None:
        if self._admission is not None and not self._admission.done():
            self._admission.set_result(admitted)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._received = b""
        self._expected = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        transport = self._transport
        if transport is None or self._encoder is not None:
            return
        if not self._expected and len(self._received) >= CHALLENGE_BYTES:
            theirs = self._received[:CHALLENGE_BYTES]
            self._received = self._received[CHALLENGE_BYTES:]
            ours = secrets.token_bytes(CHALLENGE_BYTES)
            secret, node = self._links.secret, self._links.node
            self._expected = _proof(secret, b"dialed", node, theirs, ours)
            proof = _proof(secret, b"dialing", node, theirs, ours)
            transport.write(INTRODUCTION.pack(node, ours, proof))
        if self._expected and len(self._received) >= PROOF_BYTES:
            if hmac.compare_digest(self._received, self._expected):
                self._admitted(transport)
            else:
                transport.abort()

    def _admitted(self, transport: asyncio.Transport) -> None:
        self._encoder = Encoder()
        self._decide(admitted=True)
        waiting, self._waiting = self._waiting, []
        for message in waiting:
            self._write(transport, self._encoder, message)

    @staticmethod
    def _write(transport: asyncio.Transport, encoder: Encoder, message: Message) -> None:
        if transport.get_write_buffer_size() > MOST_WAITING_BYTES:
            return  # lost
        data = encoder.encode(message)
        transport.write(LENGTH.pack(len(data)) + data)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._transport = None
        self._encoder = None
        self._decide(admitted=False)


class _Incoming(asyncio.Protocol):
    """A connection from another node, which must first prove that it knows the cluster's secret."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._transport: asyncio.Transport | None = None
        self._challenge = secrets.token_bytes(CHALLENGE_BYTES)
        self._sender = links.node  # until the admission
        self._decoder: Decoder | None = None  # from the admission on
        self._received = bytearray()
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._links.arrived(self)
        self._transport.write(self._challenge)
        loop = asyncio.get_running_loop()
        self._limit = loop.call_later(ADMITTED_WITHIN_S, self._take_too_long)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
            self._transport = None

    def data_received(self, data: bytes) -> None:
        self._received += data
        try:
            if self._decoder is None and len(self._received) >= INTRODUCTION.size:
                self._admit()
            while self._decoder is not None and self._transport is not None:
                message = self._next()
                if message is None:
                    return
                self._links.deliver(self._sender, self._decoder.decode(message))
        except MalformedMessage as malformed:
            self._links.note(f"node {self._links.node} closes a link: {malformed}")
            self.close()

    def _admit(self) -> None:
        node, theirs, proof = INTRODUCTION.unpack_from(self._received)
        del self._received[: INTRODUCTION.size]
        secret = self._links.secret
        expected = _proof(secret, b"dialing", node, self._challenge, theirs)
        if not hmac.compare_digest(proof, expected):
            raise MalformedMessage("the sender does not know the secret of the cluster")
        if self._limit is not None:
            self._limit.cancel()
        if self._transport is not None:
            self._transport.write(_proof(secret, b"dialed", node, self._challenge, theirs))
        self._sender = NodeId(node)
        self._decoder = Decoder(self._sender)
        self._links.admitted(self, self._sender)

    def _next(self) -> bytes | None:
        if len(self._received) < LENGTH.size:
            return None
        (size,) = LENGTH.unpack_from(self._received)
        if size > MOST_BYTES:
            raise MalformedMessage(f"a message of {size} bytes")
        end = LENGTH.size + size
        if len(self._received) < end:
            return None
        message = bytes(memoryview(self._received)[LENGTH.size : end])
        del self._received[:end]
        return message

    def _take_too_long(self) -> None:
        if self._decoder is None:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._transport = None
        if self._limit is not None:
            self._limit.cancel()
        self._links.left(self)
