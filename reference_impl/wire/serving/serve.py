"""Serves a cluster over TCP: each broker on a port of its own.

    asyncio.run(serve(ServeOptions(brokers=3), on_ready=ready))  # ready(cluster) is called at start

Without a data directory, the data are lost when the cluster stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from model.vocabulary import BrokerId
from reference_impl.disk.data_dir import DataDir
from reference_impl.log import compiled_scan
from reference_impl.protocol.controller import MetadataImage
from reference_impl.protocol.messages import CONTROLLER, NodeId
from reference_impl.protocol.requests import Request, Response
from reference_impl.protocol.topic_id import topic_id
from reference_impl.wire.authentication.gate import Gate
from reference_impl.wire.connections.connection import Connection
from reference_impl.wire.connections.in_flight import (
    InFlight,
    allow_open_files,
)
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.faults.around_requests import AroundRequests
from reference_impl.wire.faults.faults_in_force import FaultsInForce
from reference_impl.wire.faults.request_log import RequestLog
from reference_impl.wire.faults.rules_in_force import RulesInForce
from reference_impl.wire.nodes.host import Host
from reference_impl.wire.requests.cluster.control_plane import CLUSTER_ID
from reference_impl.wire.server.applied_log import AppliedLog
from reference_impl.wire.server.heavy_lane import HeavyLane
from reference_impl.wire.server.server import Listener
from reference_impl.wire.serving.fault_log import FaultLog
from reference_impl.wire.serving.options import CALM_WITHIN_S, ServeOptions, port_in_use
from reference_impl.wire.serving.served_cluster import ServedCluster

if TYPE_CHECKING:
    from reference_impl.wire.control.port import ControlPort


async def serve(
    options: ServeOptions,
    *,
    on_ready: Callable[[ServedCluster], None] = lambda _cluster: None,
    note: Callable[[str], None] = lambda line: print(line, file=sys.stderr),  # noqa: T201 - the log
    stop: asyncio.Event | None = None,
) -> None:
    """Serves the cluster until the call is cancelled, `stop` is set, or SIGINT or SIGTERM arrives.

    `on_ready` is called with the cluster, after every broker is registered and listens. Raises
    CannotServe if a port is in use. At the end, raises the first exception of a node or of a fault,
    if there is one.
    """
    stopped = stop or asyncio.Event()
    allow_open_files(options.in_flight.connections)
    cluster = _cluster(options, note)
    with _signals_stop(stopped):
        try:
            await cluster.start()
            on_ready(cluster)
            await stopped.wait()
        finally:
            await cluster.stop()
    if cluster.failures:
        raise cluster.failures[0]


def _cluster(options: ServeOptions, note: Callable[[str], None]) -> ServedCluster:
    if options.processes:
        from reference_impl.wire.serving.processes.cluster import ProcessCluster

        return ProcessCluster(options, note)
    return Cluster(options, note)


@dataclass(slots=True)
class Cluster:
    """A cluster whose nodes run in this process. `host` runs the nodes, and each broker has a
    listener.
    """

    options: ServeOptions
    note: Callable[[str], None]
    host: Host = field(init=False)
    _addresses: dict[BrokerId, Address] = field(default_factory=dict)  # advertised
    _ports: dict[BrokerId, int] = field(default_factory=dict)  # listened on
    _listeners: dict[BrokerId, Listener] = field(default_factory=dict)
    _applied: AppliedLog | None = None
    faults: FaultsInForce = field(init=False)
    _around: AroundRequests = field(init=False)
    control: ControlPort | None = None
    _in_flight: InFlight[Connection] = field(init=False)  # of the connections to all brokers
    _lane: HeavyLane = field(default_factory=HeavyLane)
    _gate: Gate = field(init=False)
    _fault_log: FaultLog = field(init=False)

    def __post_init__(self) -> None:
        options = self.options
        self.host = Host(
            options.broker_ids, self.note, options.bugs, options.broker_settings, options.link_ms
        )
        self.host.on_unfenced = self._accept
        self._in_flight = InFlight(options.in_flight)
        self._gate = Gate.of(options.security)
        self._fault_log = FaultLog(options.fault_log)
        self.faults = FaultsInForce(
            self,
            RulesInForce(options.seed),
            None if options.control is None else RequestLog(),
            self.note,
            self.failures,
        )
        self.faults.add(options.faults)
        self._around = AroundRequests(self.faults)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self._addresses.values())

    @property
    def pids(self) -> Mapping[BrokerId, int]:
        """An empty mapping, because no broker has a process of its own."""
        return {}

    @property
    def controller_pid(self) -> None:
        """None, because the controller has no process of its own."""

    @property
    def brokers(self) -> tuple[BrokerId, ...]:
        return self.host.brokers

    @property
    def processes(self) -> bool:
        return False

    @property
    def failures(self) -> list[Exception]:
        return self.host.failures

    @property
    def now_ms(self) -> int:
        return self.host.now_ms

    @property
    def addresses(self) -> Mapping[BrokerId, Address]:
        return self._addresses

    async def start(self) -> None:
        """Starts all nodes, and waits until every broker is registered and knows all other
        brokers.
        """
        if self.options.data_dir is not None:
            self._gate.credentials.keep_in(self.options.data_dir)
        if self.options.applied_log is not None:
            self._applied = AppliedLog.open(self.options.applied_log)
        for number, broker_id in enumerate(self.host.brokers):
            listener = Listener(
                broker_id,
                self.host,
                self._addresses,
                self._around,
                self._applied,
                self._in_flight,
                self._lane,
                self.options.auto_creates_topics,
                self._gate,
            )
            self._listeners[broker_id] = listener
            port = self.options.port + number if self.options.port else 0
            await self._open(listener, port)
        self.host.data_dir = self._opened_data_dir()
        self.host.start()
        await self.calm()
        if self.host.failures:
            raise self.host.failures[0]
        await self.faults.begin_at_start(self.options.faults)
        if self.options.control is not None:
            from reference_impl.wire.control.port import ControlPort

            self.control = ControlPort.open(self, self.options.control)

    def _opened_data_dir(self) -> DataDir | None:
        if self.options.data_dir is None:
            return None
        return DataDir.open(
            self.options.data_dir, cluster_id=CLUSTER_ID, topic_id=topic_id, note=self.note
        )

    async def calm(self) -> None:
        """Waits until every broker knows all brokers; raises TimeoutError after 20 s."""
        async with asyncio.timeout(CALM_WITHIN_S):
            while not self.host.is_calm:
                await asyncio.sleep(0.01)

    async def _open(self, listener: Listener, port: int) -> None:
        broker_id = listener.broker_id
        try:
            bound = await listener.open(self.options.address, port)
        except OSError as error:
            raise port_in_use(self.options.address, port, error) from error
        self._ports[broker_id] = bound[1]
        advertised = self.options.advertised
        self._addresses[broker_id] = advertised[broker_id - 1] if advertised else bound

    def _accept(self, broker_id: BrokerId) -> None:
        # Not before: the metadata of a broker that has just started may name no broker at all, and
        # some clients then forget every broker. Kafka: BrokerServer.startup.
        try:
            self._listeners[broker_id].accept()
        except OSError as error:
            in_use = port_in_use(self.options.address, self._ports[broker_id], error)
            self.host.failures.append(in_use)

    async def stop(self) -> None:
        if self.control is not None:
            self.control.close()
        self._around.stop()
        self.faults.stop()
        await asyncio.gather(*(listener.close() for listener in self._listeners.values()))
        await self._lane.close()
        self.host.stop()
        if self._applied is not None:
            self._applied.close()

    def is_up(self, node: NodeId) -> bool:
        return self.host.is_up(BrokerId(node))

    def is_paused(self, node: NodeId) -> bool:
        return self.host.interruptions.is_paused(node)

    def pause(self, node: NodeId) -> None:
        self.host.pause(BrokerId(node))

    def resume(self, node: NodeId) -> None:
        self.host.resume(BrokerId(node))

    async def split(self, one_side: Iterable[NodeId], other_side: Iterable[NodeId]) -> None:
        self.host.interruptions.split(one_side, other_side)

    async def heal(self) -> None:
        self.host.interruptions.heal()

    async def read_records_with(self, library: Path) -> None:
        compiled_scan.use(ctypes.CDLL(str(library)))

    async def call_controller(self, request: Request) -> Response:
        return await self.host.requests.call(BrokerId(CONTROLLER), request)

    async def image(self) -> MetadataImage:
        return self.host.image

    async def advance_clock(self, ms: int) -> None:
        await self.host.timers.advance(ms)

    async def spread(self, within_s: float) -> None:
        await self.host.spread(within_s)

    async def kill(self, node: NodeId) -> None:
        broker_id = BrokerId(node)
        self._fault_log.write("kill", broker_id)
        self.host.kill_broker(broker_id)
        await self._listeners[broker_id].close()

    async def lose_power(self, broker_id: BrokerId) -> None:
        """Kills the broker if it is up. Its records that were not flushed are lost."""
        self._fault_log.write("power-loss", broker_id)
        self.host.lose_power(broker_id)
        await self._listeners[broker_id].close()

    async def restart(self, node: NodeId) -> None:
        broker_id = BrokerId(node)
        await self._open(self._listeners[broker_id], self._ports[broker_id])
        self.host.start_broker(broker_id)
        self._fault_log.write("restart", broker_id)


@contextlib.contextmanager
def _signals_stop(stopped: asyncio.Event) -> Generator[None]:
    # only in the main thread can Python handle signals
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, stopped.set)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
