"""Runs nodes of a cluster (brokers and controller) in one event loop: all of them, or those that
share a process.

A message between two nodes is delivered after `link_ms`. It is lost if its sender dies first, or if
a network partition is between the nodes (module `interruptions`). If each node has a process of its
own, `elsewhere` sends the messages (package `processes`).

If a node's code raises an exception, the state of the node does not change. The exception is
logged, and raised again when the cluster stops.
"""

from __future__ import annotations

import asyncio
import traceback
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.broker.broker import Broker, Disk
from reference_impl.broker.config import BrokerConfig
from reference_impl.controller.controller import Controller
from reference_impl.disk.data_dir import DataDir
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.node.settings import BrokerSettings
from reference_impl.node.step import (
    Effects,
    Input,
    Readable,
    Reply,
    RequestReceived,
    ResponseReceived,
    Send,
    SetTimer,
    Stopped,
    Timer,
    TimerFired,
    TimerKind,
)
from reference_impl.partition.roles import Replica
from reference_impl.protocol.controller import NO_METADATA, BrokerState, MetadataImage
from reference_impl.protocol.messages import (
    CONTROLLER,
    FIRST_CLIENT,
    UNKNOWN_BROKER_EPOCH,
    NodeId,
)
from reference_impl.wire.nodes.interruptions import Interruptions
from reference_impl.wire.nodes.long_polls import LongPolls
from reference_impl.wire.nodes.requests_in_flight import RequestsInFlight
from reference_impl.wire.nodes.timers import Timers

if TYPE_CHECKING:
    from reference_impl.wire.nodes.links import Links

# Failures are detected within seconds; a broker that a busy machine stalls for one is not fenced.
SERVED: Final = BrokerSettings(
    heartbeat_ms=300,
    session_timeout_ms=3_000,
    replica_lag_ms=5_000,
    replica_fetch_wait_ms=500,
    replica_fetch_timeout_ms=3_000,
    replica_fetch_backoff_ms=50,
    checkpoint_ms=5_000,
    request_timeout_ms=3_000,
    coordinator_ms=100,
    group_initial_delay_ms=0,
    member_heartbeat_ms=500,
)

Note = Callable[[str], None]


@dataclass(slots=True)
class Host:
    brokers: tuple[BrokerId, ...]  # all of the cluster
    note: Note
    bugs: Bugs = NO_BUGS
    broker_settings: BrokerSettings = SERVED
    link_ms: int = 0  # from node to node, one way
    data_dir: DataDir | None = None  # None: the data is in memory only
    # Called once for each start of a broker, when its metadata says that it is not fenced.
    on_unfenced: Callable[[BrokerId], None] = lambda _broker: None
    elsewhere: Links | None = None  # None: this process has all nodes
    failures: list[Exception] = field(default_factory=list)
    _nodes: dict[NodeId, Broker | Controller] = field(default_factory=dict)
    _disks: dict[BrokerId, Disk] = field(default_factory=dict)
    _lives: dict[NodeId, int] = field(default_factory=dict)
    _started: int = 0
    _fenced: set[NodeId] = field(default_factory=set[NodeId])  # fenced since their start
    _polls: defaultdict[NodeId, LongPolls] = field(default_factory=lambda: defaultdict(LongPolls))
    interruptions: Interruptions = field(default_factory=Interruptions)
    requests: RequestsInFlight = field(init=False)
    timers: Timers = field(init=False)

    def __post_init__(self) -> None:
        self.requests = RequestsInFlight(self.is_up, self._step)
        self.timers = Timers(
            self.broker_settings, self._nodes, self._lives, self._fire, self.link_ms
        )

    def start(self) -> None:
        """Starts the controller and all brokers in this process."""
        self.start_controller()
        for broker_id in self.brokers:
            self.start_broker(broker_id)

    def start_controller(self, ahead_s: float | None = None) -> None:
        self.start_timers(ahead_s)
        image = NO_METADATA
        if self.data_dir is not None:
            image, self._started = self.data_dir.metadata.image, self.data_dir.metadata.starts
        controller = Controller.start(
            self.now_ms, broker_settings=self.broker_settings, bugs=self.bugs, image=image
        )
        self._begin(CONTROLLER, *controller)

    def start_timers(self, ahead_s: float | None = None) -> None:
        """Starts the nodes' clock, which is `ahead_s` seconds ahead of the event loop's clock.
        If `ahead_s` is None, the nodes' clock shows the wall-clock time.
        """
        others = () if self.elsewhere is None else self.brokers
        self.timers.start(frozenset(map(NodeId, others)), ahead_s)

    def next_start(self, after: int = 0) -> int:
        """Returns the number for the next start of a broker. The number is above `after`, and above
        the numbers of all earlier starts.
        """
        self._started = max(self._started, after) + 1
        return self._started

    def start_broker(self, broker_id: BrokerId, incarnation: int | None = None) -> None:
        """Starts a broker. If `incarnation` is None, the incarnation number of the broker is
        above the numbers of all earlier starts.
        """
        config = BrokerConfig(
            broker_id=broker_id, broker_settings=self.broker_settings, bugs=self.bugs
        )
        disk, stopped_in = self._disks.get(broker_id, {}), UNKNOWN_BROKER_EPOCH
        if self.data_dir is not None:
            disk, stopped_in = self.data_dir.start_broker(broker_id)
        started = Broker.start(
            self.now_ms,
            config=config,
            incarnation=self.next_start() if incarnation is None else incarnation,
            disk=disk,
            previous_broker_epoch=stopped_in,
        )
        self._fenced.add(NodeId(broker_id))
        self._begin(NodeId(broker_id), *started)

    def kill_broker(self, broker_id: BrokerId) -> None:
        node_id = NodeId(broker_id)
        node = self._nodes.pop(node_id)
        assert isinstance(node, Broker)
        self._disks[broker_id] = node.disk()
        self._fenced.discard(node_id)
        self.interruptions.resume(node_id)
        self.requests.fail(broker_id)
        self._polls[node_id].wake_all()

    def lose_power(self, broker_id: BrokerId) -> None:
        """Kills the broker if it is up. Only the flushed records survive on its disk."""
        if self.is_up(broker_id):
            self.kill_broker(broker_id)
        self._disks[broker_id] = {
            place: log.after_power_loss(log.flushed)
            for place, log in self._disks[broker_id].items()
        }
        if self.data_dir is not None:
            self.data_dir.keep_logs(broker_id, self._disks[broker_id])

    def stop(self) -> None:
        """Ends all nodes. Unless a node failed, the data directory is marked as cleanly shut
        down.
        """
        nodes = {} if self.failures else {**self._nodes}
        self._nodes.clear()
        if self.data_dir is not None:
            self.data_dir.close(
                {
                    BrokerId(node_id): node
                    for node_id, node in nodes.items()
                    if isinstance(node, Broker)
                },
                self.now_ms,
            )

    def shut_down(self, broker_id: BrokerId) -> None:
        """Begins a clean shutdown of a broker, as after SIGTERM. The shutdown ends after the
        controller consents.
        """
        self._step(NodeId(broker_id), TimerFired(Timer(TimerKind.SHUT_DOWN)))

    def pause(self, broker_id: BrokerId) -> None:
        self.interruptions.pause(NodeId(broker_id))

    def resume(self, broker_id: BrokerId) -> None:
        """Resumes a broker, which handles the messages and timers that arrived during its pause,
        in order.
        """
        for event, life in self.interruptions.resume(NodeId(broker_id)):
            self._step(NodeId(broker_id), event, life)

    def is_up(self, broker_id: BrokerId) -> bool:
        return NodeId(broker_id) in self._nodes

    @property
    def is_calm(self) -> bool:
        """True if all brokers of this process are up, and each of them knows that every broker
        of the cluster is registered and unfenced.
        """
        for broker_id in self.brokers:
            if self.elsewhere is not None and NodeId(broker_id) not in self._nodes:
                continue
            node = self._nodes.get(NodeId(broker_id))
            if not isinstance(node, Broker) or not _all_live(node.brokers, self.brokers):
                return False
        return True

    @property
    def image(self) -> MetadataImage:
        """The newest metadata of the controller. Brokers apply these metadata a little later."""
        controller = self._nodes[CONTROLLER]
        assert isinstance(controller, Controller)
        return controller.image

    async def spread(self, within_s: float) -> None:
        """Waits until the running nodes of this process have applied the current metadata, but
        at most `within_s` seconds.
        """
        version = self.image.version
        try:
            async with asyncio.timeout(within_s):
                while not all(applied >= version for applied in self._applied_versions()):
                    await asyncio.sleep(0.005)
        except TimeoutError:
            pass  # a network partition or a slow link keeps a broker from it

    def _applied_versions(self) -> list[int]:
        paused = self.interruptions.is_paused
        nodes = [node for node_id, node in self._nodes.items() if not paused(node_id)]
        return [node.image.version for node in nodes]

    @property
    def now_ms(self) -> int:
        return self.timers.now_ms

    # ------------------------------------------------------------ clients

    def broker(self, broker_id: BrokerId) -> Broker | None:
        """Returns the state of a broker, or None if the broker is down."""
        node = self._nodes.get(NodeId(broker_id))
        return node if isinstance(node, Broker) else None

    def replica(self, broker_id: BrokerId, topic_partition: TopicPartition) -> Replica | None:
        broker = self.broker(broker_id)
        return None if broker is None else broker.replicas.get(topic_partition)

    async def readable(
        self,
        broker_id: BrokerId,
        topic_partitions: Collection[TopicPartition],
        timeout_ms: int,
        is_unchanged: Callable[[], bool],
    ) -> None:
        """Waits until one of the topic partitions has more to read, or until the timeout has
        passed.

        It also returns when the broker dies. It returns at once if `is_unchanged` returns False.
        """
        polls = self._polls[NodeId(broker_id)]
        await polls.readable(topic_partitions, timeout_ms, is_unchanged)

    def receive(self, node_id: NodeId, message: RequestReceived | ResponseReceived) -> None:
        """Delivers a message from another process to a node. Drops the message if the node is
        down.
        """
        self._step(node_id, message)

    # ------------------------------------------------------------ steps and effects

    def _begin(self, node_id: NodeId, node: Broker | Controller, effects: Effects) -> None:
        self._lives[node_id] = self._lives.get(node_id, 0) + 1
        self._nodes[node_id] = node
        self._carry_out(node_id, effects)

    def _step(self, node_id: NodeId, event: Input, life: int | None = None) -> bool:
        node = self._nodes.get(node_id)
        if node is None or life not in (None, self._lives[node_id]):
            return True  # the node is down, or the event belongs to an earlier life
        if self.interruptions.holds(node_id, event, life):
            return True
        try:
            self._nodes[node_id], effects = node.step(self.now_ms, event)
        except Exception as error:
            self.failures.append(error)
            self.note(f"bug in the reference broker, node {node_id}:\n{traceback.format_exc()}")
            return False
        if self.data_dir is not None and not self._keep(node_id, self.data_dir):
            return False
        if node_id in self._fenced and _knows_itself_unfenced(self._nodes[node_id]):
            self._fenced.discard(node_id)
            self.on_unfenced(BrokerId(node_id))
        self._carry_out(node_id, effects)
        return True

    def _keep(self, node_id: NodeId, data_dir: DataDir) -> bool:
        # Called before any message of the node's step is sent.
        node = self._nodes[node_id]
        try:
            if isinstance(node, Broker):
                self._nodes[node_id] = data_dir.keep_broker(BrokerId(node_id), node, self.now_ms)
            else:
                data_dir.keep_metadata(node.image, self._started)
        except OSError as error:
            self.failures.append(error)
            self.note(f"node {node_id} cannot write {error.filename}: {error.strerror}; it halts")
            if isinstance(node, Broker):
                self.kill_broker(BrokerId(node_id))
            else:
                del self._nodes[node_id]
            return False
        return True

    def _carry_out(self, source: NodeId, effects: Effects) -> None:
        for effect in effects:
            match effect:
                case Send(to, correlation, request):
                    self._deliver(source, to, RequestReceived(source, correlation, request))
                case Reply(to, correlation, response) if to >= FIRST_CLIENT:
                    self.requests.answer(source, correlation, response)
                case Reply(to, correlation, response):
                    self._deliver(source, to, ResponseReceived(source, correlation, response))
                case SetTimer(timer, at_ms):
                    self.timers.set(source, timer, at_ms)
                case Readable(topic_partition):
                    self._polls[source].wake(topic_partition)
                case Stopped():
                    node = self._nodes[source]
                    if self.data_dir is not None and isinstance(node, Broker):
                        self.data_dir.stop_broker(BrokerId(source), node, self.now_ms)
                    self.kill_broker(BrokerId(source))

    def _deliver(
        self, source: NodeId, target: NodeId, event: RequestReceived | ResponseReceived
    ) -> None:
        if self.elsewhere is not None and target not in self._nodes:
            self.elsewhere.send(target, event)
            return
        lives = self._lives.get(source), self._lives.get(target)

        def arrive() -> None:
            if self.interruptions.is_split(source, target):
                return
            if source in self._nodes and self._lives[source] == lives[0]:
                self._step(target, event, lives[1])

        loop = asyncio.get_running_loop()
        if self.link_ms:
            loop.call_later(self.link_ms / 1000, arrive)
        else:
            loop.call_soon(arrive)

    def _fire(self, node_id: NodeId, timer: Timer, life: int) -> None:
        self._step(node_id, TimerFired(timer), life)


def _knows_itself_unfenced(node: Broker | Controller) -> bool:
    state = node.brokers.get(node.config.broker_id) if isinstance(node, Broker) else None
    return state is not None and not state.fenced


def _all_live(known: Mapping[BrokerId, BrokerState], brokers: tuple[BrokerId, ...]) -> bool:
    return all(broker_id in known and not known[broker_id].fenced for broker_id in brokers)
