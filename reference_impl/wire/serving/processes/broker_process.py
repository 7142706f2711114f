"""The process of one broker: `main` runs it, `BrokerProcess` starts it and holds its pipes.

    parent -> process   the settings
    process -> parent   where it listens, for clients and for other nodes
    parent -> process   where all nodes listen
    process -> parent   ready: it is registered and knows all brokers
    parent -> process   the end of the pipe: stop

The pipes are the process's standard input and output. The settings go down as pickles, which only
the parent can write, so the secret of the cluster is in no argument and no environment variable.
The answers are lines of JSON.

The process ends when its parent does: the pipe then ends. On Linux the kernel also kills the
process, even if SIGSTOP has stopped it. SIGTERM and SIGINT shut the broker down as in Kafka: the
controller first elects other leaders.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import pickle
import signal
import struct
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from model.faults import InputFault
from model.vocabulary import BrokerId
from reference_impl.disk.data_dir import DataDir
from reference_impl.protocol.controller import NO_METADATA, MetadataImage
from reference_impl.protocol.messages import NodeId
from reference_impl.protocol.topic_id import topic_id
from reference_impl.wire.authentication.gate import Gate
from reference_impl.wire.connections.in_flight import InFlight, allow_open_files
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.faults.around_requests import AroundRequests
from reference_impl.wire.faults.rules_in_force import RulesInForce
from reference_impl.wire.memory.freed_memory import keep_freed_memory
from reference_impl.wire.memory.frozen_imports import freeze_imports
from reference_impl.wire.nodes.host import Host
from reference_impl.wire.nodes.links import Links
from reference_impl.wire.requests.cluster.control_plane import CLUSTER_ID
from reference_impl.wire.server.heavy_lane import HeavyLane
from reference_impl.wire.server.server import Listener
from reference_impl.wire.serving.options import ServeOptions

SIZE: Final = struct.Struct(">I")
PR_SET_PDEATHSIG: Final = 1
SHUTS_DOWN_WITHIN_S: Final = 3.0
CALM_EVERY_S: Final = 0.01
FAILED: Final = 1  # exit codes: a bug of the broker; the process could not start
CANNOT_START: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """The settings of one start of a broker's process; the port 0 selects a free one."""

    options: ServeOptions
    broker_id: BrokerId
    port: int
    link_port: int
    incarnation: int
    secret: bytes = field(repr=False)
    image: MetadataImage = NO_METADATA  # for the logs on the disk


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the brokers listen for clients, and all nodes for other nodes."""

    clients: Mapping[BrokerId, Address]
    links: Mapping[NodeId, Address]


def main() -> None:
    """Runs the broker whose settings stand on standard input."""
    _die_with_parent()
    keep_freed_memory()
    sys.exit(asyncio.run(_run()))


def _die_with_parent() -> None:
    if sys.platform != "linux":
        return  # the end of the pipe must do
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(FAILED)  # the parent ended before the call


async def _run() -> int:
    loop = asyncio.get_running_loop()
    down = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(down), sys.stdin)
    settings = await _received(down)
    assert isinstance(settings, BrokerSettings)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    allow_open_files(settings.options.in_flight.connections)
    process = _Running(settings)
    try:
        await process.listen()
    except OSError as error:
        place = f"{settings.options.address}:{settings.port}"
        _say(cannot=f"{place}: {error.strerror}; port 0 selects free ports")
        return CANNOT_START
    try:
        places = await _received(down)
        assert isinstance(places, Places)
        process.start(places)
        ending = [asyncio.create_task(one) for one in (down.read(), stop.wait())]
        ready = asyncio.create_task(process.calm())
        await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if stop.is_set() and not ending[0].done():
            await process.shut_down()
    except InputFault as fault:  # of the data directory
        _say(cannot=str(fault))
        return CANNOT_START
    except Exception as error:
        _say(note="".join(traceback.format_exception(error)))
        process.host.failures.append(error)
    await process.stop()
    return FAILED if process.host.failures else 0


async def _received(down: asyncio.StreamReader) -> object:
    (size,) = SIZE.unpack(await down.readexactly(SIZE.size))
    return pickle.loads(await down.readexactly(size))


def sent(value: BrokerSettings | Places) -> bytes:
    """Returns the bytes that the parent writes for the process."""
    data = pickle.dumps(value)
    return SIZE.pack(len(data)) + data


def _say(**line: Any) -> None:
    os.write(1, json.dumps(line).encode() + b"\n")


class _Running:
    """The host of one broker, its listener for clients and its links to other nodes."""

    def __init__(self, settings: BrokerSettings) -> None:
        options = settings.options
        self._settings = settings
        self._node = NodeId(settings.broker_id)
        brokers = tuple(BrokerId(number) for number in range(1, options.brokers + 1))
        self.host = Host(brokers, _note, options.bugs, options.timeouts)
        self._links = Links(
            self._node,
            settings.secret,
            lambda message: self.host.receive(self._node, message),
            _note,
        )
        self.host.elsewhere = self._links
        self.host.on_unfenced = self._accept
        self._addresses: dict[BrokerId, Address] = {}
        self._lane = HeavyLane()
        self._gate = Gate.of(options.security)
        self._gate.credentials.can_change = False  # a change would not reach the other brokers
        self._listener = Listener(
            settings.broker_id,
            self.host,
            self._addresses,
            AroundRequests(RulesInForce(options.seed), lambda _fault: None),
            None,
            InFlight(options.in_flight),
            self._lane,
            options.auto_creates_topics,
            self._gate,
        )

    async def listen(self) -> None:
        settings = self._settings
        bound = await self._listener.open(settings.options.address, settings.port)
        linked = await self._links.open(settings.link_port)
        _say(listens=bound, link=linked)

    def start(self, places: Places) -> None:
        settings = self._settings
        self._addresses.update(places.clients)
        self._links.places.update(places.links)
        assert settings.options.data_dir is not None, "a cluster of processes has a folder"
        self._gate.credentials.keep_in(settings.options.data_dir)
        self.host.data_dir = DataDir.of_broker(
            settings.options.data_dir,
            settings.broker_id,
            settings.image,
            cluster_id=CLUSTER_ID,
            topic_id=topic_id,
            note=_note,
        )
        self.host.start_timers()
        self.host.start_broker(settings.broker_id, settings.incarnation)

    def _accept(self, _broker: BrokerId) -> None:
        try:
            self._listener.accept()
        except OSError as error:  # another process has begun to listen on the port
            self.host.failures.append(error)
            _say(note=f"the port for clients: {error.strerror}")

    async def calm(self) -> None:
        while not self.host.is_calm:
            await asyncio.sleep(CALM_EVERY_S)
        freeze_imports()
        _say(ready=True)

    async def shut_down(self) -> None:
        """Shuts the broker down with the controller's consent, or without it after 3 s."""
        self.host.shut_down(self._settings.broker_id)
        try:
            async with asyncio.timeout(SHUTS_DOWN_WITHIN_S):
                while self.host.is_up(self._settings.broker_id):
                    await asyncio.sleep(CALM_EVERY_S)
        except TimeoutError:
            _note("the controller does not answer; the broker stops without it")

    async def stop(self) -> None:
        await self._listener.close()
        await self._lane.close()
        self.host.stop()
        await self._links.close()


def _note(line: str) -> None:
    _say(note=line)
