"""The TCP connections of one client. The client has one connection to each broker, which is opened
for the first request.

When a connection breaks, the requests that wait on it get no response, and time out. If a client
gives up a request, its next request uses a new connection, while the old connection still waits for
the response.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from model.faults import InputFault
from model.vocabulary import BrokerId
from reference_impl.protocol.controller import CreatedTopic, CreateTopic, Metadata
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.requests import Request, Response
from reference_impl.wire.clients.adapter import Sent, brokers_in, request_frame, response_in
from reference_impl.wire.clients.dialogue import Names
from reference_impl.wire.clients.frames import (
    NoCommonVersion,
    Offered,
    api_versions_request,
    correlation_of,
    offered_versions,
)

CONNECT_S: Final = 5.0
_LENGTH: Final = struct.Struct(">i")

Addresses = dict[BrokerId, tuple[str, int]]
Deliver = Callable[[Response], None]


@dataclass(slots=True)
class Connection:
    address: tuple[str, int]
    names: Names
    addresses: Addresses  # grows with each Metadata response
    fail: Callable[[Exception], None]  # is called with a fault of ours, never of the network
    _waiting: dict[int, tuple[Sent, Deliver]] = field(default_factory=dict)
    _outgoing: asyncio.Queue[tuple[Request, Deliver]] = field(default_factory=asyncio.Queue)
    _task: asyncio.Task[None] | None = None
    _correlation: int = 0
    is_closed: bool = False

    @property
    def is_idle(self) -> bool:
        return not self._waiting and self._outgoing.empty()

    def send(self, request: Request, deliver: Deliver) -> None:
        """Sends the request. When the response arrives, calls `deliver` with it."""
        self._outgoing.put_nowait((request, deliver))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        self.is_closed = True
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        writer: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(CONNECT_S):
                reader, writer = await asyncio.open_connection(*self.address)
                writer.write(api_versions_request(0))
                offered = offered_versions(await _frame(reader))
            async with asyncio.TaskGroup() as both:
                both.create_task(self._write(writer, offered))
                both.create_task(self._read(reader))
        except* (OSError, EOFError, TimeoutError):
            pass  # the broker is down, or has closed the connection
        except* Exception as faults:
            self.fail(faults.exceptions[0])
        finally:
            self.is_closed = True
            if writer is not None:
                writer.transport.abort()

    async def _write(self, writer: asyncio.StreamWriter, offered: Offered) -> None:
        while True:
            request, deliver = await self._outgoing.get()
            self._correlation += 1
            try:
                frame, sent = request_frame(request, self._correlation, offered, self.names)
            except NoCommonVersion:
                if not isinstance(request, CreateTopic):
                    raise
                deliver(CreatedTopic(error=ErrorCode.UNSUPPORTED_VERSION))
                continue
            if sent.has_response:
                self._waiting[self._correlation] = sent, deliver
            writer.write(frame)
            await writer.drain()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while True:
            frame = await _frame(reader)
            sent, deliver = self._waiting.pop(correlation_of(frame))
            if isinstance(sent.request, Metadata):
                self.addresses.update(brokers_in(sent, frame))
            deliver(response_in(sent, frame, self.names))


def discovered(bootstrap_servers: str) -> Addresses:
    """Returns the addresses of all live brokers. Raises InputFault if no broker answers."""
    return asyncio.run(_discovered(bootstrap_servers))


async def _discovered(bootstrap_servers: str) -> Addresses:
    for address in bootstrap_servers.split(","):
        host, _, port = address.rpartition(":")
        found: Addresses = {}
        answered = asyncio.Event()
        faults: list[Exception] = []
        connection = Connection((host.strip("[]"), int(port)), Names(), found, faults.append)
        connection.send(Metadata(), lambda _: answered.set())  # noqa: B023 - it is awaited below
        try:
            async with asyncio.timeout(CONNECT_S):
                await answered.wait()
        except TimeoutError:
            continue
        finally:
            await connection.close()
        if found:
            return found
    raise InputFault(f"{bootstrap_servers}: no broker answers; start the cluster, or correct --on")


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return await reader.readexactly(length)
