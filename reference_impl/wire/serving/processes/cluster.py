"""A cluster with a process for each node, which this process starts and watches.

Each line names a process and its content:

    this process    the control port, the fault rules, the log of requests; it has no node
    controller      the metadata of the cluster
    broker 1, ...   a broker each: its port for clients, its logs

Each node has links to all other nodes, and a channel to this process.

As in Kafka, a killed or suspended broker is fenced when its session ends. A killed node is not
restarted automatically.

The nodes store their files in the data directory, which is temporary by default. So a killed node
can continue from its files after a restart.

When this process ends for any reason, all nodes end.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from model.vocabulary import BrokerId
from reference_impl.protocol.controller import MetadataImage
from reference_impl.protocol.messages import CONTROLLER, NodeId
from reference_impl.protocol.requests import Request, Response
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.faults.faults_in_force import FaultsInForce
from reference_impl.wire.faults.request_log import RequestLog
from reference_impl.wire.faults.rule import BadFault, name_of
from reference_impl.wire.faults.rules_in_force import RulesInForce
from reference_impl.wire.nodes.links import SECRET_BYTES
from reference_impl.wire.nodes.timers import CLOCK_STEP_MS
from reference_impl.wire.security.credentials import Changes, Credentials
from reference_impl.wire.server.applied_log import AppliedLog
from reference_impl.wire.serving.fault_log import FaultLog
from reference_impl.wire.serving.options import CALM_WITHIN_S, CannotServe, ServeOptions
from reference_impl.wire.serving.processes.child import NodeEnded, NodeProcess
from reference_impl.wire.serving.processes.node_process import CANNOT_START
from reference_impl.wire.serving.processes.places import ClusterPlaces
from reference_impl.wire.serving.processes.remote_faults import calls_to, notices_to
from reference_impl.wire.serving.processes.settings import NodeSettings

if TYPE_CHECKING:
    from reference_impl.wire.control.port import ControlPort

ANSWERS_WITHIN_S: Final = 5.0  # a node that is not stopped by a signal
MESSAGES_IN_STEP: Final = 3  # of the clock: a message, its answer, and the next message


class NodeFailed(RuntimeError):
    """The error of a node's process that ended because of a bug. The final lines of the node's
    log describe the bug.
    """


@dataclass(slots=True)
class ProcessCluster:
    options: ServeOptions
    note: Callable[[str], None]
    control: ControlPort | None = None
    failures: list[Exception] = field(default_factory=list)
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(SECRET_BYTES), repr=False)
    _processes: dict[NodeId, NodeProcess] = field(default_factory=dict)
    _started: int = 0  # the newest number of a broker's start
    _starting: set[NodeId] = field(default_factory=set)
    _paused: set[NodeId] = field(default_factory=set)
    _behind: set[NodeId] = field(default_factory=set)  # did not answer when the clock advanced
    _temporary: TemporaryDirectory[str] | None = None
    _ahead_s: float = field(default_factory=lambda: time.time() - time.monotonic())
    _places: ClusterPlaces = field(init=False)
    _fault_log: FaultLog = field(init=False)
    faults: FaultsInForce = field(init=False)
    _credentials: Credentials = field(init=False)
    _library: Path | None = None  # that reads the records of batches

    def __post_init__(self) -> None:
        options = self.options
        self._places = ClusterPlaces(options)
        self._fault_log = FaultLog(options.fault_log)
        self.faults = FaultsInForce(
            self,
            RulesInForce(options.seed),
            None if options.control is None else RequestLog(),
            self.note,
            self.failures,
        )
        self.faults.add(options.faults)
        self._credentials = Credentials.of(options.security)

    @property
    def brokers(self) -> tuple[BrokerId, ...]:
        return self.options.broker_ids

    @property
    def processes(self) -> bool:
        return True

    @property
    def _nodes(self) -> tuple[NodeId, ...]:
        return (CONTROLLER, *map(NodeId, self.brokers))

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.addresses.values())

    @property
    def addresses(self) -> Mapping[BrokerId, Address]:
        return self._places.addresses

    @property
    def pids(self) -> Mapping[BrokerId, int]:
        """The process id of each broker that runs."""
        found = ((one, self._processes[NodeId(one)]) for one in self.brokers)
        return {one: process.pid for one, process in found if process.is_up}

    @property
    def controller_pid(self) -> int | None:
        controller = self._processes[CONTROLLER]
        return controller.pid if controller.is_up else None

    @property
    def now_ms(self) -> int:
        return int((time.monotonic() + self._ahead_s) * 1000)

    # ------------------------------------------------------------ starting and stopping

    async def start(self) -> None:
        """Starts all nodes, and waits until every broker knows all other brokers. Raises
        CannotServe if a node cannot start, for example because a port is in use.
        """
        if self.options.applied_log is not None:
            AppliedLog.open(self.options.applied_log).close()  # the brokers append to it
        if self.options.data_dir is None:
            self._temporary = TemporaryDirectory(prefix="urteil-broker-")
            self.options = replace(self.options, data_dir=Path(self._temporary.name))
        assert self.options.data_dir is not None, "it has just been chosen"
        self._credentials.keep_in(self.options.data_dir)
        async with asyncio.timeout(CALM_WITHIN_S):
            await asyncio.gather(*map(self._spawn, self._nodes))  # they import at the same time
            try:
                await self._open(CONTROLLER)
                await self._begin(CONTROLLER)
                await asyncio.gather(*(self._open(NodeId(one)) for one in self.brokers))
                await self._call(CONTROLLER, "places", self._places.of(CONTROLLER))
                await asyncio.gather(*(self._begin(NodeId(one)) for one in self.brokers))
                await self._are_ready()
            except NodeEnded as error:
                raise CannotServe(str(error)) from error
        await self.faults.begin_at_start(self.options.faults)
        if self.options.control is not None:
            from reference_impl.wire.control.port import ControlPort

            self.control = ControlPort.open(self, self.options.control)

    async def _spawn(self, node: NodeId) -> None:
        self._processes[node] = await NodeProcess.start(
            node,
            self.note,
            self._ended,
            self.failures.append,
            {**calls_to(self.faults), "change_credentials": self._change_credentials},
            notices_to(self.faults),
        )

    async def _open(self, node: NodeId) -> None:
        options = self.options
        settings = NodeSettings(
            options=options,
            node=node,
            link_port=self._places.link_port(node),
            secret=self._secret,
            ahead_s=self._ahead_s,
        )
        if node != CONTROLLER:
            number, image = await self._call_controller("next_start", self._started)
            self._started = max(self._started, number)
            port = self._places.client_port(BrokerId(node))
            settings = replace(settings, port=port, incarnation=number, image=image)
        self._places.found(node, *await self._processes[node].open(settings))

    async def _begin(self, node: NodeId) -> None:
        await self._call(node, "begin", self._places.of(node))
        if self._library is not None and node != CONTROLLER:
            await self._call(node, "read_records_with", self._library)

    async def _call(self, node: NodeId, name: str, *args: Any) -> Any:
        return await self._processes[node].call(name, *args)

    async def calm(self) -> None:
        """Waits until every broker is unfenced; raises TimeoutError after 20 s."""
        async with asyncio.timeout(CALM_WITHIN_S):
            await self._are_ready()
            if self._behind:
                # The clock of such a node has just advanced, and a controller may fence each
                # broker. It does not fence one whose heartbeat has arrived since.
                await asyncio.gather(
                    *(self._call(NodeId(one), "heartbeat_answered") for one in self.brokers)
                )
                await self._are_ready()
                self._behind.clear()

    async def _are_ready(self) -> None:
        await self._call(CONTROLLER, "calm")
        for one in self.brokers:
            await self._call(NodeId(one), "ready")

    def _ended(self, process: NodeProcess) -> None:
        code = process.exit_code
        if code == CANNOT_START:
            return  # whoever starts the node gets the reason
        which = f"{process.name} (process {process.pid})"
        if code and code > 0:
            why = f"{which} failed with exit code {code}; its notes say why"
            self.failures.append(NodeFailed(why))
        elif not process.is_stopping:
            how = f"killed by signal {-code}" if code else "it has shut down"
            self.note(f"{which} has ended: {how}")

    async def stop(self) -> None:
        """Stops all brokers at the same time, and then the controller."""
        if self.control is not None:
            self.control.close()
        self.faults.stop()
        controller = self._processes.pop(CONTROLLER, None)
        await asyncio.gather(*(process.stop() for process in self._processes.values()))
        if controller is not None:
            await controller.stop()
        if self._temporary is not None:
            self._temporary.cleanup()

    # ------------------------------------------------------------ the controller

    async def call_controller(self, request: Request) -> Response:
        response: Response = await self._call_controller("request", request)
        return response

    async def image(self) -> MetadataImage:
        image: MetadataImage = await self._call_controller("image")
        return image

    async def _call_controller(self, name: str, *args: Any) -> Any:
        try:
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                return await self._call(CONTROLLER, name, *args)
        except NodeEnded:
            raise self._no_fault("the controller is down; start it first") from None
        except TimeoutError:
            raise self._no_fault("the controller does not answer; is it paused?") from None

    async def spread(self, within_s: float) -> None:
        """Waits until all running brokers have reported the current metadata, but at most
        `within_s` seconds.
        """
        nodes = map(NodeId, self.brokers)
        active = (BrokerId(one) for one in nodes if self.is_up(one) and not self.is_paused(one))
        try:
            async with asyncio.timeout(within_s):
                await self._call(CONTROLLER, "spread", tuple(active))
        except (TimeoutError, NodeEnded):
            pass  # a node does not answer

    # ------------------------------------------------------------ the brokers

    async def _change_credentials(self, changes: Changes) -> None:
        # The file is changed first, so a broker that starts meanwhile reads the change.
        self._credentials.change(changes)
        await self._call_brokers("apply_credentials", changes)

    async def read_records_with(self, library: Path) -> None:
        self._library = library
        await self._call_brokers("read_records_with", library)

    async def _call_brokers(self, name: str, *args: Any) -> None:
        await self._call_all(name, dict.fromkeys(map(NodeId, self.brokers), args), self._paused)

    # ------------------------------------------------------------ faults

    def is_up(self, node: NodeId) -> bool:
        return node in self._starting or self._processes[node].is_up

    def is_paused(self, node: NodeId) -> bool:
        """Returns True if `pause` has suspended the node. A SIGSTOP that another program sends does
        not count.
        """
        return node in self._paused

    def pause(self, node: NodeId) -> None:
        """Sends SIGSTOP to the process of the node."""
        self._processes[node].signal(signal.SIGSTOP)
        self._paused.add(node)

    def resume(self, node: NodeId) -> None:
        """Sends SIGCONT to the process of the node, even if another program has stopped it."""
        self._processes[node].signal(signal.SIGCONT)
        self._paused.discard(node)

    async def split(self, one_side: Iterable[NodeId], other_side: Iterable[NodeId]) -> None:
        """Separates two groups of nodes. When the call returns, the running nodes lose all
        messages between the two groups.
        """
        self._places.split(one_side, other_side)
        await self._separate()

    async def heal(self) -> None:
        self._places.heal()
        await self._separate()

    async def _separate(self) -> None:
        # A stopped node does not answer, and does nothing before it has read its list. The other
        # nodes have read theirs, and one list of the two is enough. A node that starts gets the
        # list in its `Places`.
        lists = {node: (self._places.separated(node),) for node in self._processes}
        await self._call_all("separate", lists, self._paused)

    async def advance_clock(self, ms: int) -> None:
        """Advances the clocks of all nodes by `ms` milliseconds in small steps. Between two
        steps, the nodes exchange messages. A paused node advances its clock after it is resumed.
        """
        silent, nodes = {*self._paused}, [*self._processes]
        for passed in range(0, ms, CLOCK_STEP_MS):
            step_ms = min(CLOCK_STEP_MS, ms - passed)
            self._ahead_s += step_ms / 1000
            silent |= await self._call_all("advance", dict.fromkeys(nodes, (step_ms,)), silent)
            for _ in range(MESSAGES_IN_STEP):
                silent |= await self._call_all("settle", dict.fromkeys(nodes, ()), silent)
        self._behind |= silent

    async def _call_all(
        self, name: str, args: Mapping[NodeId, tuple[Any, ...]], silent: set[NodeId]
    ) -> set[NodeId]:
        """Calls a function of each node, and returns the nodes that did not answer.

        Waits 5 seconds for an answer, but does not wait for the nodes in `silent`.
        """

        async def answers(node: NodeId) -> bool:
            with suppress(TimeoutError, NodeEnded):
                async with asyncio.timeout(0 if node in silent else ANSWERS_WITHIN_S):
                    await self._call(node, name, *args[node])
                    return True
            return False

        answered = await asyncio.gather(*map(answers, args))
        return {node for node, has in zip(args, answered, strict=True) if not has}

    @staticmethod
    def _no_fault(why: str) -> BadFault:
        return BadFault("do", why)

    async def kill(self, node: NodeId) -> None:
        """Sends SIGKILL to the process of the node, and waits until the process has ended."""
        self._fault_log.write("kill", node)
        await self._processes[node].kill()
        self._paused.discard(node)

    async def lose_power(self, broker_id: BrokerId) -> None:
        raise NotImplementedError(f"broker {broker_id}: `check_rule` refuses this fault")

    async def restart(self, node: NodeId) -> None:
        """Starts a node that is down, and returns when the node listens at its old ports. A broker
        is registered only after the end of its earlier session.

        Raises CannotServe if the node is up or does not start. Raises BadFault for a broker if the
        controller is down.
        """
        if self.is_up(node):
            raise CannotServe(f"{name_of(node)} is up; kill it first")
        self._starting.add(node)
        self._paused.discard(node)
        try:
            await self._processes[node].kill()  # it may not be gone yet
            if node != CONTROLLER:
                await self.image()  # the controller answers
            await self._spawn(node)
            await self._open(node)
            await self._begin(node)
        except NodeEnded as error:
            raise CannotServe(str(error)) from error
        finally:
            self._starting.discard(node)
        self._fault_log.write("restart", node)
