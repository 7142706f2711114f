"""The TCP server: reads request frames and writes response frames.

As in Kafka, the requests of a connection are handled one after the other. The next frame is read
when the response has been sent. An invalid frame closes its connection and is logged in one line.

    frame -> few array elements:   decoded and handled here
          -> many array elements:  decoded and handled in the thread of large requests

Source: Processor.processCompletedReceives; Kafka documentation, "Protocol Guide": "Network" and
"Common Request and Response Structure".
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

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
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.frame_limits import INLINE, LIMITS
from reference_impl.wire.nodes.host import Host
from reference_impl.wire.requests.broker.fetch_sessions import FetchSessions
from reference_impl.wire.requests.broker.served_broker import ServedBroker
from reference_impl.wire.requests.cluster import (
    cluster,
    control_plane,
    inspection,
    sasl,
    share_and_streams,
    switched_off,
)
from reference_impl.wire.requests.configs import configs
from reference_impl.wire.requests.coordinators import (
    consumer_groups,
    group_administration,
    groups,
    transactions,
)
from reference_impl.wire.requests.handled import Handled
from reference_impl.wire.requests.records import data_plane, delete_records, fetches, produce
from reference_impl.wire.requests.topics import elections, reassignments, topics
from reference_impl.wire.security.credentials import Credentials
from reference_impl.wire.server.applied_log import AppliedLog
from reference_impl.wire.server.heavy_lane import BrokerFromLane, HeavyLane

R = TypeVar("R")

ANSWERS: Final[Mapping[Api, Callable[[ServedBroker, Call], Coroutine[Any, Any, bytes]]]] = {
    Api.FETCH: fetches.fetch,
    Api.LIST_OFFSETS: data_plane.list_offsets,
    Api.METADATA: control_plane.metadata,
    Api.OFFSET_COMMIT: groups.offset_commit,
    Api.OFFSET_FETCH: groups.offset_fetch,
    Api.JOIN_GROUP: groups.join_group,
    Api.HEARTBEAT: groups.heartbeat,
    Api.LEAVE_GROUP: groups.leave_group,
    Api.SYNC_GROUP: groups.sync_group,
    Api.ADD_PARTITIONS_TO_TXN: transactions.add_partitions_to_txn,
    Api.ADD_OFFSETS_TO_TXN: transactions.add_offsets_to_txn,
    Api.END_TXN: transactions.end_txn,
    Api.TXN_OFFSET_COMMIT: transactions.txn_offset_commit,
    Api.CONSUMER_GROUP_HEARTBEAT: consumer_groups.heartbeat,
    Api.CONSUMER_GROUP_DESCRIBE: consumer_groups.describe,
    Api.FIND_COORDINATOR: control_plane.find_coordinator,
    Api.API_VERSIONS: control_plane.api_versions,
    Api.CREATE_TOPICS: topics.create_topics,
    Api.CREATE_PARTITIONS: topics.create_partitions,
    Api.DELETE_TOPICS: topics.delete_topics,
    Api.INCREMENTAL_ALTER_CONFIGS: configs.incremental_alter_configs,
    Api.ALTER_CONFIGS: configs.alter_configs,
    Api.DESCRIBE_CONFIGS: configs.describe_configs,
    Api.LIST_CONFIG_RESOURCES: configs.list_config_resources,
    Api.DESCRIBE_CLUSTER: cluster.describe_cluster,
    Api.DESCRIBE_TOPIC_PARTITIONS: cluster.describe_topic_partitions,
    Api.DESCRIBE_GROUPS: group_administration.describe_groups,
    Api.LIST_GROUPS: group_administration.list_groups,
    Api.DELETE_GROUPS: group_administration.delete_groups,
    Api.DESCRIBE_PRODUCERS: inspection.describe_producers,
    Api.DESCRIBE_LOG_DIRS: inspection.describe_log_dirs,
    Api.DESCRIBE_TRANSACTIONS: inspection.describe_transactions,
    Api.LIST_TRANSACTIONS: inspection.list_transactions,
    Api.WRITE_TXN_MARKERS: inspection.write_txn_markers,
    Api.DESCRIBE_QUORUM: inspection.describe_quorum,
    Api.ELECT_LEADERS: elections.elect_leaders,
    Api.ALTER_PARTITION_REASSIGNMENTS: reassignments.alter_partition_reassignments,
    Api.LIST_PARTITION_REASSIGNMENTS: reassignments.list_partition_reassignments,
    Api.DESCRIBE_ACLS: switched_off.describe_acls,
    Api.CREATE_ACLS: switched_off.create_acls,
    Api.DELETE_ACLS: switched_off.delete_acls,
    Api.RENEW_DELEGATION_TOKEN: switched_off.renew_or_expire_token,
    Api.EXPIRE_DELEGATION_TOKEN: switched_off.renew_or_expire_token,
    Api.DESCRIBE_DELEGATION_TOKEN: switched_off.describe_tokens,
    Api.DESCRIBE_CLIENT_QUOTAS: switched_off.describe_client_quotas,
    Api.SASL_HANDSHAKE: sasl.sasl_handshake,
    Api.SASL_AUTHENTICATE: sasl.sasl_authenticate,
    Api.DESCRIBE_USER_SCRAM_CREDENTIALS: sasl.describe_scram,
    Api.ALTER_USER_SCRAM_CREDENTIALS: sasl.alter_scram,
    Api.SHARE_GROUP_HEARTBEAT: share_and_streams.heartbeat,
    Api.SHARE_GROUP_DESCRIBE: share_and_streams.describe,
    Api.SHARE_FETCH: share_and_streams.fetch_or_acknowledge,
    Api.SHARE_ACKNOWLEDGE: share_and_streams.fetch_or_acknowledge,
    Api.INITIALIZE_SHARE_GROUP_STATE: share_and_streams.state,
    Api.READ_SHARE_GROUP_STATE: share_and_streams.state,
    Api.WRITE_SHARE_GROUP_STATE: share_and_streams.state,
    Api.DELETE_SHARE_GROUP_STATE: share_and_streams.state,
    Api.READ_SHARE_GROUP_STATE_SUMMARY: share_and_streams.state,
    Api.DESCRIBE_SHARE_GROUP_OFFSETS: share_and_streams.describe_offsets,
    Api.ALTER_SHARE_GROUP_OFFSETS: share_and_streams.change_offsets,
    Api.DELETE_SHARE_GROUP_OFFSETS: share_and_streams.change_offsets,
    Api.STREAMS_GROUP_HEARTBEAT: share_and_streams.heartbeat,
    Api.STREAMS_GROUP_DESCRIBE: share_and_streams.describe,
    Api.OFFSET_DELETE: group_administration.offset_delete,
    Api.DELETE_RECORDS: delete_records.delete_records,
    Api.INIT_PRODUCER_ID: control_plane.init_producer_id,
    Api.OFFSET_FOR_LEADER_EPOCH: data_plane.offset_for_leader_epoch,
}


async def _of_api(broker: ServedBroker, call: Call) -> bytes | Handled:
    if call.api is not Api.PRODUCE:
        return await ANSWERS[call.api](broker, call)
    result = await produce.produce(broker, call)
    return Handled(result.frame, result.appended, result.frame is None and result.fails)


class Dropped(Exception):
    """The exception if the connection must be closed without a response: after a fault, or after a
    failed produce request with acks=0.
    """


@dataclass(slots=True)
class Listener:
    """The TCP listener of one broker; it keeps its port when the broker dies and starts again."""

    broker_id: BrokerId
    host: Host
    addresses: Mapping[BrokerId, Address]  # as clients learn them
    around: AroundRequests
    applied: AppliedLog | None
    in_flight: InFlight[Connection] = field(default_factory=InFlight[Connection])
    lane: HeavyLane = field(default_factory=HeavyLane)
    auto_creates_topics: bool = False
    gate: Gate = field(default_factory=open_gate)
    fetch_sessions: FetchSessions = field(default_factory=FetchSessions)
    _server: asyncio.Server | None = None
    _open: set[Connection] = field(default_factory=set)

    async def open(self, address: str, port: int) -> Address:
        """Takes the port and returns the address; the port 0 selects a free one.

        Connections are refused until `accept` is called. Raises OSError if the port is in use.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._connection, address, port, start_serving=False
        )
        return address_of(self._server)

    def accept(self) -> None:
        """Accepts connections from now on; does nothing if the listener is closed.

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
                pass  # noted, where the reason is known
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

    async def _answer(self, frame: bytes, handler: Handler = _of_api) -> bytes | None:
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
