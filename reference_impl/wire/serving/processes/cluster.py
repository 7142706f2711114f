"""A served cluster: this process has the controller, and each broker has a child process.

    this process    the controller
    child 1, 2, ..  a broker each: its port for clients, its logs, its links to all other nodes

A broker that is killed, or stopped by SIGSTOP, sends no heartbeats. The controller fences it when
its session ends, and elects other leaders, as in Kafka. A stopped broker that continues is unfenced
by its next heartbeat. Nothing starts a killed broker again by itself.

Each broker has a folder in the data directory, so a killed broker that starts again continues with
its logs. Without a data directory, a temporary one lasts as long as the cluster.

When this process ends, however it ends, all brokers end.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from model.vocabulary import BrokerId
from reference_impl.disk.data_dir import DataDir
from reference_impl.node.step import RequestReceived
from reference_impl.protocol.controller import BrokerHeartbeat
from reference_impl.protocol.messages import CONTROLLER, NodeId
from reference_impl.protocol.topic_id import topic_id
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.faults.rule import BadFault
from reference_impl.wire.nodes.encoding import Message
from reference_impl.wire.nodes.host import Host
from reference_impl.wire.nodes.links import SECRET_BYTES, Links
from reference_impl.wire.requests.cluster.control_plane import CLUSTER_ID
from reference_impl.wire.serving.options import CALM_WITHIN_S, CannotServe, ServeOptions
from reference_impl.wire.serving.processes.broker_process import (
    CALM_EVERY_S,
    CANNOT_START,
    BrokerSettings,
    Places,
)
from reference_impl.wire.serving.processes.child import BrokerProcess, NotStarted

if TYPE_CHECKING:
    from reference_impl.wire.control.port import ControlPort


class BrokerFailed(RuntimeError):
    """The error if a broker's process ended because of a bug, which its notes describe."""


@dataclass(slots=True)
class ProcessCluster:
    """The controller, its links, and the brokers' processes."""

    options: ServeOptions
    note: Callable[[str], None]
    host: Host = field(init=False)
    _links: Links = field(init=False)
    control: ControlPort | None = None
    _applied: dict[BrokerId, int] = field(default_factory=dict)  # metadata version by heartbeat
    _paused: set[BrokerId] = field(default_factory=set)
    _temporary: TemporaryDirectory[str] | None = None
    _brokers: dict[BrokerId, BrokerProcess] = field(default_factory=dict)
    _clients: dict[BrokerId, Address] = field(default_factory=dict)  # where brokers listen
    _addresses: dict[BrokerId, Address] = field(default_factory=dict)  # advertised

    def __post_init__(self) -> None:
        options = self.options
        ids = tuple(BrokerId(number) for number in range(1, options.brokers + 1))
        self.host = Host(ids, self.note, options.bugs, options.timeouts)
        self._links = Links(
            CONTROLLER,
            secrets.token_bytes(SECRET_BYTES),
            self._receive,
            self.note,
        )
        self.host.elsewhere = self._links

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self._addresses.values())

    @property
    def addresses(self) -> Mapping[BrokerId, Address]:
        return self._addresses

    @property
    def around(self) -> None:
        """There are no faults and no log of requests: clients' requests go to other processes."""

    @property
    def pids(self) -> Mapping[BrokerId, int]:
        """The process id of each broker that runs."""
        return {one: child.pid for one, child in self._brokers.items() if not child.has_ended}

    async def start(self) -> None:
        """Starts all processes, and waits until every broker is registered and knows the others.

        Raises CannotServe if a port is in use.
        """
        self.host.data_dir = DataDir.open(
            self._folder(), cluster_id=CLUSTER_ID, topic_id=topic_id, note=self.note
        )
        self._links.places[CONTROLLER] = await self._links.open()
        self.host.start_controller()
        async with asyncio.timeout(CALM_WITHIN_S):
            try:
                await asyncio.gather(*map(self._spawn, self.host.brokers))
                for child in self._brokers.values():
                    child.go(self._places)
                for child in self._brokers.values():
                    await child.ready()
            except NotStarted as error:
                raise CannotServe(str(error)) from error
        if self.options.control is not None:
            from reference_impl.wire.control.port import ControlPort

            self.control = ControlPort.open(self, self.options.control)

    def _receive(self, message: Message) -> None:
        if isinstance(message, RequestReceived) and isinstance(message.request, BrokerHeartbeat):
            heartbeat = message.request
            self._applied[heartbeat.broker_id] = heartbeat.metadata_version
        self.host.receive(CONTROLLER, message)

    def _folder(self) -> Path:
        if self.options.data_dir is not None:
            return self.options.data_dir
        self._temporary = TemporaryDirectory(prefix="urteil-broker-")
        return Path(self._temporary.name)

    async def _spawn(self, broker_id: BrokerId) -> None:
        options, data_dir = self.options, self.host.data_dir
        assert data_dir is not None, "the cluster has started"
        first = options.port + broker_id - 1 if options.port else 0
        _, port = self._clients.get(broker_id, ("", first))
        _, link_port = self._links.places.get(NodeId(broker_id), ("", 0))
        settings = BrokerSettings(
            options=replace(options, data_dir=data_dir.folder),
            broker_id=broker_id,
            port=port,
            link_port=link_port,
            incarnation=self.host.next_start(),
            secret=self._links.secret,
            image=data_dir.metadata.image,
        )
        child = await BrokerProcess.start(settings, self.note, self._ended)
        self._brokers[broker_id] = child
        self._clients[broker_id], self._links.places[NodeId(broker_id)] = await child.listens()

    @property
    def _places(self) -> Places:
        options, ids = self.options, self.host.brokers
        self._addresses = {
            one: options.advertised[one - 1] if options.advertised else self._clients[one]
            for one in ids
        }
        return Places(clients=self._addresses, links=self._links.places)

    def _ended(self, child: BrokerProcess) -> None:
        code = child.exit_code
        if code == CANNOT_START:
            return  # whoever starts the broker gets the reason
        if code and code > 0:
            why = f"broker {child.broker_id} (process {child.pid}) failed with exit code {code}"
            self.host.failures.append(BrokerFailed(f"{why}; its notes say why"))
        elif not child.is_stopping:
            how = f"killed by signal {-code}" if code else "it has shut down"
            self.note(f"broker {child.broker_id} (process {child.pid}) has ended: {how}")

    async def calm(self) -> None:
        """Waits until every broker is ready and unfenced; raises TimeoutError after 20 s."""
        async with asyncio.timeout(CALM_WITHIN_S):
            for child in self._brokers.values():
                await child.ready()
            while any(broker.fenced for broker in self.host.image.brokers):
                await asyncio.sleep(CALM_EVERY_S)

    # ------------------------------------------------------------ faults

    def is_up(self, broker_id: BrokerId) -> bool:
        return not self._brokers[broker_id].has_ended

    def is_paused(self, broker_id: BrokerId) -> bool:
        """True if `pause` has stopped the process; signals of others are not seen."""
        return broker_id in self._paused

    def pause(self, broker_id: BrokerId) -> None:
        """Stops the broker's process by SIGSTOP."""
        self._brokers[broker_id].signal(signal.SIGSTOP)
        self._paused.add(broker_id)

    def resume(self, broker_id: BrokerId) -> None:
        """Lets the broker's process continue by SIGCONT, whoever has stopped it."""
        self._brokers[broker_id].signal(signal.SIGCONT)
        self._paused.discard(broker_id)

    def split(self, one_side: Iterable[NodeId], other_side: Iterable[NodeId]) -> None:
        del one_side, other_side
        raise self._no_fault("messages between processes cannot be dropped; pause a broker instead")

    def heal(self) -> None:
        raise self._no_fault("without a split there is nothing to heal; leave it out")

    async def advance_clock(self, ms: int) -> None:
        del ms
        raise self._no_fault("the clock of processes is the machine's; leave out --processes")

    @staticmethod
    def _no_fault(why: str) -> BadFault:
        return BadFault("do", why)

    async def spread(self, within_s: float) -> None:
        """Waits until each running broker has reported the current metadata in a heartbeat.

        Gives up after `within_s` seconds.
        """
        version = self.host.image.version
        try:
            async with asyncio.timeout(within_s):
                while any(self._applied.get(one, -1) < version for one in self._active):
                    await asyncio.sleep(CALM_EVERY_S)
        except TimeoutError:
            pass  # a broker does not answer

    @property
    def _active(self) -> list[BrokerId]:
        return [one for one in self._brokers if self.is_up(one) and not self.is_paused(one)]

    async def kill(self, broker_id: BrokerId) -> None:
        """Kills the broker's process by SIGKILL, and waits until it is gone."""
        await self._brokers[broker_id].kill()
        self._paused.discard(broker_id)

    async def lose_power(self, broker_id: BrokerId) -> None:
        """Cannot happen to one process of a machine: raises BadFault."""
        raise self._no_fault(
            f"broker {broker_id} is a process, which has no power to lose; crash it"
        )

    async def restart(self, broker_id: BrokerId) -> None:
        """Starts a broker whose process has ended, and returns when it listens at its old ports.

        The controller accepts the broker when its earlier session has ended. Raises CannotServe if
        the broker does not start.
        """
        try:
            await self._spawn(broker_id)
        except NotStarted as error:
            raise CannotServe(str(error)) from error
        self._brokers[broker_id].go(self._places)

    async def stop(self) -> None:
        """Stops all brokers at once, then the controller."""
        if self.control is not None:
            self.control.close()
        await asyncio.gather(*(child.stop() for child in self._brokers.values()))
        self.host.stop()
        await self._links.close()
        if self._temporary is not None:
            self._temporary.cleanup()
