"""The TCP server: reads request frames and writes response frames.

As in Kafka, the requests of a connection are handled one after the other: the next frame is read
when the response has been sent. So if a fault drops a response and closes the connection, no later
request of this connection has been applied. An invalid frame closes its connection and is logged in
one line.

Source: Kafka documentation, "Protocol Guide": "Network" and "Common Request and Response
Structure".
"""

from __future__ import annotations

import asyncio
import struct
import traceback
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.messages import Produce, Produced
from reference_impl.protocol.requests import Request, Response
from reference_impl.wire import (
    consumer_groups,
    control_plane,
    data_plane,
    delete_records,
    groups,
    produce,
    topics,
    transactions,
)
from reference_impl.wire.adapter import Call, MalformedFrame, UnsupportedApiVersions, decode
from reference_impl.wire.apis import Api
from reference_impl.wire.applied_log import AppliedLog
from reference_impl.wire.faults import FaultPlan
from reference_impl.wire.host import Host
from reference_impl.wire.served_broker import ServedBroker

MAX_FRAME_BYTES: Final = 100 * 1024 * 1024  # socket.request.max.bytes
_LENGTH: Final = struct.Struct(">i")

ANSWERS: Final[Mapping[Api, Callable[[ServedBroker, Call], Awaitable[bytes]]]] = {
    Api.FETCH: data_plane.fetch,
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
    Api.INCREMENTAL_ALTER_CONFIGS: topics.incremental_alter_configs,
    Api.DESCRIBE_CONFIGS: topics.describe_configs,
    Api.DELETE_RECORDS: delete_records.delete_records,
    Api.INIT_PRODUCER_ID: control_plane.init_producer_id,
    Api.OFFSET_FOR_LEADER_EPOCH: data_plane.offset_for_leader_epoch,
}


class Dropped(Exception):
    """The exception if a response must not be sent, and the connection must be closed.

    A fault drops the response, or a produce request with acks=0 fails.
    """


@dataclass(slots=True)
class Listener:
    """The TCP listener of one broker; it keeps its port when the broker dies and starts again."""

    broker_id: BrokerId
    host: Host
    addresses: Mapping[BrokerId, tuple[str, int]]  # as clients learn them
    plan: FaultPlan
    applied: AppliedLog | None
    happen: Callable[[], None]  # carries out the faults that are due
    _server: asyncio.Server | None = None
    _open: set[asyncio.StreamWriter] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def open(self, address: str, port: int) -> tuple[str, int]:
        """Listens on the port and returns the address; the port 0 selects a free one.

        Raises OSError if the port is in use.
        """
        self._server = await asyncio.start_server(self._accept, address, port)
        bound = self._server.sockets[0].getsockname()
        return bound[0], bound[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
            await asyncio.sleep(0)  # a connection that was just accepted reaches `_accept`
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in [*self._open]:
            writer.transport.abort()
        await asyncio.sleep(0)  # an aborted connection closes its socket before the loop may end

    # ------------------------------------------------------------ the ServedBroker interface

    async def call(self, request: Request) -> Response:
        return await self.host.call(self.broker_id, request)

    def send(self, request: Produce) -> Produced | None:
        return self.host.send(self.broker_id, request)

    async def readable(self, topic_partitions: Collection[TopicPartition], timeout_ms: int) -> None:
        await self.host.readable(self.broker_id, topic_partitions, timeout_ms)

    # ------------------------------------------------------------ connections

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Starts the task of a connection.

        This function is not a coroutine, because a coroutine that is cancelled before its first
        step would leave the connection open. A connection may also arrive while the listener
        closes.
        """
        if self._server is None:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._converse(reader, writer))
        self._open.add(writer)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._end(done, writer))

    def _end(self, task: asyncio.Task[None], writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()
        self._open.discard(writer)
        self._tasks.discard(task)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (frame := await _frame(reader)) is not None:
                answer = await self._answer(frame)
                self.happen()
                if answer is not None:
                    writer.write(answer)
                    await writer.drain()
        except Dropped:
            pass
        except MalformedFrame as error:
            self.host.note(
                f"broker {self.broker_id} closes the connection of {_peer(writer)}: {error}"
            )
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client has disconnected, or the broker is down
        except Exception as error:
            self.host.failures.append(error)
            self.host.note(f"bug in the wire server:\n{traceback.format_exc()}")

    async def _answer(self, frame: bytes) -> bytes | None:
        try:
            call = decode(frame)
        except UnsupportedApiVersions as unsupported:
            return control_plane.unsupported_api_versions(unsupported.correlation_id)
        if call.api is not Api.PRODUCE:
            return await ANSWERS[call.api](self, call)
        result = await produce.produce(self, call)
        is_applied = any(one.is_applied for one in result.appended)
        answered = not is_applied or self.plan.answers_applied()
        if self.applied is not None:
            self.applied.write(self.broker_id, result.appended, answered=answered)
        if not answered or (result.frame is None and result.fails):
            raise Dropped
        return result.frame


async def _frame(reader: asyncio.StreamReader) -> bytes | None:
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if not 0 <= length <= MAX_FRAME_BYTES:
            raise MalformedFrame(f"a frame of {length} bytes; the limit is {MAX_FRAME_BYTES}")
        return await reader.readexactly(length)
    except asyncio.IncompleteReadError as end:
        if end.partial:
            raise MalformedFrame(
                f"the stream ends inside a frame, after {len(end.partial)} bytes"
            ) from None
        return None


def _peer(writer: asyncio.StreamWriter) -> str:
    address = writer.get_extra_info("peername")
    return f"{address[0]}:{address[1]}" if address else "a disconnected client"
