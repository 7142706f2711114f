"""A node in a process of its own: the controller, or a broker with its port for clients.

Each line names a part of the process and its task:

    the host         runs the node
    the links        carry messages to and from all other nodes
    the channel      carries calls from and to the parent process

The parent process may call each function in `calls`.
"""

from __future__ import annotations

import asyncio
import ctypes
from functools import partial
from pathlib import Path
from typing import Final

from model.vocabulary import BrokerId
from reference_impl.disk.data_dir import DataDir
from reference_impl.log import compiled_scan
from reference_impl.node.step import RequestReceived, ResponseReceived
from reference_impl.protocol.controller import BrokerHeartbeat, BrokerHeartbeated, MetadataImage
from reference_impl.protocol.messages import CONTROLLER, NodeId
from reference_impl.protocol.requests import Request, Response
from reference_impl.protocol.topic_id import topic_id
from reference_impl.wire.authentication.gate import Gate
from reference_impl.wire.connections.in_flight import InFlight
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.faults.around_requests import AroundRequests
from reference_impl.wire.memory.frozen_imports import freeze_imports
from reference_impl.wire.nodes.encoding import Message
from reference_impl.wire.nodes.host import Host
from reference_impl.wire.nodes.links import LOOPBACK, Links
from reference_impl.wire.requests.cluster.control_plane import CLUSTER_ID
from reference_impl.wire.security.credentials import Changes
from reference_impl.wire.server.applied_log import AppliedLog
from reference_impl.wire.server.heavy_lane import HeavyLane
from reference_impl.wire.server.server import Listener
from reference_impl.wire.serving.options import port_in_use
from reference_impl.wire.serving.processes.channel import Calls, Channel
from reference_impl.wire.serving.processes.remote_faults import RemoteFaults
from reference_impl.wire.serving.processes.settings import NodeSettings, Places

SHUTS_DOWN_WITHIN_S: Final = 3.0
LOOKS_EVERY_S: Final = 0.01


class Node:
    def __init__(self, settings: NodeSettings, parent: Channel) -> None:
        options = settings.options
        self.settings = settings
        self._parent = parent
        self.host = Host(
            options.broker_ids, self.note, options.bugs, options.broker_settings, options.link_ms
        )
        self._links = Links(
            settings.node, settings.secret, self.receive, self.note, link_ms=options.link_ms
        )
        self.host.elsewhere = self._links

    @property
    def calls(self) -> Calls:
        return {
            "begin": self.begin,
            "places": self.places,
            "separate": self.separate,
            "advance": self.advance,
            "settle": self.settle,
        }

    def note(self, line: str) -> None:
        self._parent.notify("note", line)

    def receive(self, message: Message) -> None:
        self.host.receive(self.settings.node, message)

    async def listen(self) -> tuple[Address | None, Address]:
        """Returns the addresses for clients and for other nodes, after the node listens at them.
        The controller has no address for clients (None).

        Raises CannotServe if a port is in use.
        """
        port = self.settings.link_port
        try:
            return None, await self._links.open(port)
        except OSError as error:
            raise port_in_use(LOOPBACK, port, error) from error

    async def begin(self, places: Places) -> None:
        """Starts the node. Raises BadDataDir if its folder in the data directory cannot be used."""
        await self.places(places)

    async def places(self, places: Places) -> None:
        self._links.places.update(places.links)
        self._links.separated = places.separated

    async def separate(self, others: frozenset[NodeId]) -> None:
        """Loses all messages from and to the nodes in `others` from now on, and no other
        messages.
        """
        self._links.separated = others

    async def advance(self, ms: int) -> None:
        """Advances the clock of this node, and sends the messages of its due timers."""
        await self.host.timers.advance(ms)

    async def settle(self) -> None:
        """Handles the messages that have arrived before this call."""
        await asyncio.sleep(0)

    async def shut_down(self) -> None:
        """Prepares the node for `stop`. A broker hands over its partitions."""

    async def stop(self) -> None:
        self.host.stop()
        await self._links.close()


class ControllerNode(Node):
    """The controller, which stores the metadata of the cluster in the data directory."""

    def __init__(self, settings: NodeSettings, parent: Channel) -> None:
        super().__init__(settings, parent)
        self._applied: dict[BrokerId, int] = {}  # metadata version by heartbeat

    @property
    def calls(self) -> Calls:
        return {
            **super().calls,
            "request": self.request,
            "image": self.image,
            "next_start": self.next_start,
            "calm": self.calm,
            "spread": self.spread,
        }

    def receive(self, message: Message) -> None:
        if isinstance(message, RequestReceived) and isinstance(message.request, BrokerHeartbeat):
            heartbeat = message.request
            self._applied[heartbeat.broker_id] = heartbeat.metadata_version
        super().receive(message)

    async def begin(self, places: Places) -> None:
        folder = self.settings.options.data_dir
        assert folder is not None, "a cluster of processes has a folder"
        self.host.data_dir = DataDir.open(
            folder, cluster_id=CLUSTER_ID, topic_id=topic_id, note=self.note
        )
        await super().begin(places)
        self.host.start_controller(self.settings.ahead_s)

    async def request(self, request: Request) -> Response:
        return await self.host.requests.call(BrokerId(CONTROLLER), request)

    async def image(self) -> MetadataImage:
        return self.host.image

    async def next_start(self, after: int) -> tuple[int, MetadataImage]:
        """Returns two results: the number of a broker's next start, which is larger than `after`;
        and the cluster metadata.
        """
        return self.host.next_start(after), self.host.image

    async def calm(self) -> None:
        """Waits until all brokers are registered and unfenced."""
        brokers = set(self.host.brokers)
        while brokers - {one.broker_id for one in self.host.image.brokers if not one.fenced}:
            await asyncio.sleep(LOOKS_EVERY_S)

    async def spread(self, brokers: tuple[BrokerId, ...]) -> None:
        """Waits until each of the brokers has reported the current metadata."""
        version = self.host.image.version
        while any(self._applied.get(one, -1) < version for one in brokers):
            await asyncio.sleep(LOOKS_EVERY_S)


class BrokerNode(Node):
    """A broker, its listener for clients, and its logs in a folder of the data directory."""

    def __init__(self, settings: NodeSettings, parent: Channel) -> None:
        super().__init__(settings, parent)
        options = settings.options
        self.host.on_unfenced = self._accept
        self._addresses: dict[BrokerId, Address] = {}
        self._heartbeats_answered = 0
        self._around = AroundRequests(RemoteFaults(parent, options))
        log = options.applied_log
        self._applied = None if log is None else AppliedLog.append_to(log)
        self._lane = HeavyLane()
        self._gate = Gate.of(options.security)
        self._listener = Listener(
            settings.broker_id,
            self.host,
            self._addresses,
            self._around,
            self._applied,
            InFlight(options.in_flight),
            self._lane,
            options.auto_creates_topics,
            self._gate,
            change_all=partial(parent.call, "change_credentials"),
        )

    @property
    def calls(self) -> Calls:
        return {
            **super().calls,
            "ready": self.ready,
            "heartbeat_answered": self.heartbeat_answered,
            "apply_credentials": self.apply_credentials,
            "read_records_with": self.read_records_with,
        }

    def receive(self, message: Message) -> None:
        if isinstance(message, ResponseReceived) and isinstance(
            message.response, BrokerHeartbeated
        ):
            self._heartbeats_answered += 1
        super().receive(message)

    async def listen(self) -> tuple[Address | None, Address]:
        address, port = self.settings.options.address, self.settings.port
        try:
            bound = await self._listener.open(address, port)
        except OSError as error:
            raise port_in_use(address, port, error) from error
        _, link = await super().listen()
        return bound, link

    async def begin(self, places: Places) -> None:
        settings, folder = self.settings, self.settings.options.data_dir
        assert folder is not None, "a cluster of processes has a folder"
        self._gate.credentials.keep_in(folder)
        self.host.data_dir = DataDir.of_broker(
            folder,
            settings.broker_id,
            settings.image,
            cluster_id=CLUSTER_ID,
            topic_id=topic_id,
            note=self.note,
        )
        await super().begin(places)
        self.host.start_timers(settings.ahead_s)
        self.host.start_broker(settings.broker_id, settings.incarnation)

    async def places(self, places: Places) -> None:
        await super().places(places)
        self._addresses.update(places.clients)

    async def apply_credentials(self, changes: Changes) -> None:
        self._gate.credentials.apply(changes)

    async def read_records_with(self, library: Path) -> None:
        """Reads record batches with this compiled library from now on."""
        compiled_scan.use(ctypes.CDLL(str(library)))

    def _accept(self, _broker: BrokerId) -> None:
        try:
            self._listener.accept()
        except OSError as error:  # another process has begun to listen on the port
            self.host.failures.append(error)
            self.note(f"the port for clients: {error.strerror}")

    async def ready(self) -> None:
        """Waits until the broker is registered and knows all brokers."""
        while not self.host.is_calm:
            await asyncio.sleep(LOOKS_EVERY_S)
        freeze_imports()

    async def heartbeat_answered(self) -> None:
        """Waits until the controller has answered a heartbeat that was sent after this call."""
        enough = self._heartbeats_answered + 2  # the first may be the answer to an earlier one
        while self._heartbeats_answered < enough:
            await asyncio.sleep(LOOKS_EVERY_S)

    async def shut_down(self) -> None:
        """Begins a clean shutdown, and waits for the controller's consent, at most 3 seconds."""
        self.host.shut_down(self.settings.broker_id)
        try:
            async with asyncio.timeout(SHUTS_DOWN_WITHIN_S):
                while self.host.is_up(self.settings.broker_id):
                    await asyncio.sleep(LOOKS_EVERY_S)
        except TimeoutError:
            self.note("the controller does not answer; the broker stops without it")

    async def stop(self) -> None:
        self._around.stop()
        await self._listener.close()
        await self._lane.close()
        await super().stop()
        if self._applied is not None:
            self._applied.close()
