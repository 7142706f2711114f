"""The TCP server of a broker: reads request frames and writes response frames.

As in Kafka, a connection's next frame is handled only when the response to the previous frame has
been sent. An invalid frame closes its connection, and one line of the log reports it.

The number of a frame's array elements decides which thread handles it:

    frame -> few array elements:   decoded and handled here
          -> many array elements:  decoded and handled in the thread of large requests

Source: Processor.processCompletedReceives; Kafka documentation, "Protocol Guide": "Network" and
"Common Request and Response Structure".
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.messages import NodeId, Produce, Produced
from reference_impl.protocol.requests import Request, Response
from reference_impl.wire.authentication.authentication import Refused
from reference_impl.wire.authentication.gate import Gate, Handler, open_gate
from reference_impl.wire.authentication.tls import NotEncrypted
from reference_impl.wire.connections.connection import Connection, LastResponse
from reference_impl.wire.connections.in_flight import InFlight
from reference_impl.wire.connections.listening import Address, accept, address_of, close_listener
from reference_impl.wire.faults.around_requests import AroundRequests
from reference_impl.wire.messages.adapter import (
    Call,
    LargeFrame,
    MalformedFrame,
    UnsupportedApiVersions,
    decode,
)
from reference_impl.wire.messages.frame_limits import INLINE, LIMITS
from reference_impl.wire.nodes.host import Host
from reference_impl.wire.requests import answers
from reference_impl.wire.requests.broker.fetch_sessions import FetchSessions
from reference_impl.wire.requests.cluster import control_plane
from reference_impl.wire.requests.handled import Handled
from reference_impl.wire.security.credentials import Changes, Credentials
from reference_impl.wire.server.applied_log import AppliedLog
from reference_impl.wire.server.heavy_lane import BrokerFromLane, HeavyLane

R = TypeVar("R")


class Dropped(Exception):
    """Raised if the connection must be closed without a response. The reason is a fault, or an
    error of a Produce request with acks=0.
    """


@dataclass(slots=True)
class Listener:
    """The listener of one broker. It retains its port when the broker is killed and started
    again.
    """

    broker_id: BrokerId
    host: Host
    addresses: Mapping[BrokerId, Address]  # as in Metadata responses
    around: AroundRequests
    applied: AppliedLog | None
    in_flight: InFlight[Connection] = field(default_factory=InFlight[Connection])
    lane: HeavyLane = field(default_factory=HeavyLane)
    auto_creates_topics: bool = False
    gate: Gate = field(default_factory=open_gate)
    # Changes the credentials in all processes. None: there is only this process.
    change_all: Callable[[Changes], Awaitable[None]] | None = None
    fetch_sessions: FetchSessions = field(default_factory=FetchSessions)
    _server: asyncio.Server | None = None
    _open: set[Connection] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.fetch_sessions.slots = self.host.broker_settings.fetch_session_slots

    async def open(self, address: str, port: int) -> Address:
        """Binds the port, or a free port if `port` is 0, and returns the address. Connections are
        refused until `accept` is called.

        Raises OSError if the port is in use.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._connection, address, port, start_serving=False
        )
        return address_of(self._server)

    def accept(self) -> None:
        """Accepts connections from now on, if the listener is open.

        Raises OSError if another process listens on the port.
        """
        if self._server is not None:
            accept(self._server)

    async def close(self) -> None:
        if self._server is not None:
            closing, self._server = self._server, None
            await close_listener(closing)
        await asyncio.gather(*(connection.close() for connection in [*self._open]))
        self.fetch_sessions.clear()
        await asyncio.sleep(0)  # an aborted connection closes its socket before the loop may end

    # ------------------------------------------------------------ the ServedBroker interface

    @property
    def default_partitions(self) -> int:
        return self.host.broker_settings.default_partitions

    async def call(self, request: Request) -> Response:
        return await self.host.requests.call(self.broker_id, request)

    async def call_all(self, requests: Sequence[Request]) -> list[Response]:
        return await self.host.requests.call_all(self.broker_id, requests)

    def send(self, request: Produce) -> Produced | None:
        return self.host.requests.send(self.broker_id, request)

    def replica(self, topic_partition: TopicPartition) -> object:
        return self.host.replica(self.broker_id, topic_partition)

    async def readable(
        self,
        topic_partitions: Collection[TopicPartition],
        timeout_ms: int,
        is_unchanged: Callable[[], bool],
    ) -> None:
        await self.host.readable(self.broker_id, topic_partitions, timeout_ms, is_unchanged)

    async def apart(self, work: Callable[[], R]) -> R:
        async def worked() -> R:
            return work()

        return await self.lane.run(worked)

    @property
    def credentials(self) -> Credentials:
        return self.gate.credentials

    async def change_credentials(self, changes: Changes) -> None:
        if self.change_all is not None:
            await self.change_all(changes)
        else:
            self.gate.credentials.change(changes)

    # ------------------------------------------------------------ connections

    def _connection(self) -> asyncio.Protocol:
        connection = Connection(
            self._answer,
            begin=self._begin,
            end=self._end,
            use=self.in_flight.use,
            hold=self._hold,
            max_frame_bytes=LIMITS.frame_bytes,
        )
        return self.gate.guard(
            connection, self._answer, now_ms=lambda: self.host.now_ms, note=self._note_refusal
        )

    def _begin(self, connection: Connection) -> None:
        if self._server is None and connection.transport is not None:
            connection.transport.abort()  # it arrived while the listener closed
        else:
            self._open.add(connection)
            self._close(self.in_flight.open(connection), "there are too many connections")

    def _hold(self, connection: Connection, count: int) -> None:
        oldest = self.in_flight.hold(connection, count)
        self._close(oldest, "all requests and responses in flight have too many bytes")

    def _close(self, connection: Connection | None, why: str) -> None:
        # The limits hold for all brokers together, so another broker may have the connection.
        if connection is not None:
            self.host.note(f"the connection of {connection.peer} is closed, because {why}")
            connection.abort()

    def _end(self, connection: Connection, error: BaseException | None) -> None:
        self._open.discard(connection)
        self.in_flight.close(connection)
        match error:
            case None | Dropped() | ConnectionError() | asyncio.CancelledError():
                pass  # the client has disconnected, or the broker is down
            case LastResponse() | Refused():
                pass  # the reason is in the log already
            case MalformedFrame() | NotEncrypted():
                self._note_refusal(connection, str(error))
            case Exception():
                self.host.failures.append(error)
                text = "".join(traceback.format_exception(error))
                self.host.note(f"bug in the wire server:\n{text}")
            case _:
                raise error

    def _note_refusal(self, connection: Connection, why: str) -> None:
        peer = connection.peer
        self.host.note(f"broker {self.broker_id} closes the connection of {peer}: {why}")

    async def _answer(self, frame: bytes, handler: Handler = answers.answer) -> bytes | None:
        node_id = NodeId(self.broker_id)
        interruptions = self.host.interruptions
        if interruptions.is_paused(node_id):
            await interruptions.running(node_id)
        answer = await self._handle(frame, handler)
        if interruptions.is_paused(node_id):
            await interruptions.running(node_id)
        return answer

    async def _handle(self, frame: bytes, handler: Handler) -> bytes | None:
        try:
            handle = self._with_faults if self.around.is_needed else self._handled
            handled = await handle(frame, handler)
        except UnsupportedApiVersions as unsupported:
            return control_plane.unsupported_api_versions(unsupported.correlation_id)
        if isinstance(handled, bytes):
            return handled
        if self.applied is not None:
            answered = handled.is_answered
            self.applied.write(self.broker_id, handled.appended, answered=answered)
        if handled.silence is not None:
            await handled.silence()
        if handled.closes:
            raise Dropped if handled.frame is None else LastResponse(handled.frame)
        return handled.frame

    async def _handled(self, frame: bytes, handler: Handler) -> bytes | Handled:
        try:
            call = decode(frame, INLINE)
        except LargeFrame:
            outside = BrokerFromLane(self, asyncio.get_running_loop())

            async def in_lane() -> bytes | Handled:
                return await handler(outside, decode(frame))

            return await self.lane.run(in_lane)
        return await handler(self, call)

    async def _with_faults(self, frame: bytes, handler: Handler) -> Handled:
        async def decoded() -> Call:
            return decode(frame)

        async def handle(call: Call) -> Handled:
            if not is_large:
                return _as_handled(await handler(self, call))
            outside = BrokerFromLane(self, asyncio.get_running_loop())
            return _as_handled(await self.lane.run(lambda: handler(outside, call)))

        is_large = False
        try:
            call = decode(frame, INLINE)
        except LargeFrame:
            is_large = True
            call = await self.lane.run(decoded)
        return await self.around.carry_out(self, call, handle)


def _as_handled(answer: bytes | Handled) -> Handled:
    return Handled(answer) if isinstance(answer, bytes) else answer
