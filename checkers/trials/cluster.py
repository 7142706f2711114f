"""A cluster in real time that machines drive as they drive the simulated one.

The clients are those of the simulation, in `runtime`. Brokers are killed and started by the system
under test. What the simulation reads from the controller, a watcher learns here from Metadata
responses; what it reads from the log of a leader, a client fetches.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

from checkers.systems.proxies.active_rules import ActiveRule
from checkers.systems.proxies.rules import Cut
from checkers.systems.system import Ability, System
from checkers.trials.connections import Addresses
from checkers.trials.pace import Pace
from checkers.trials.runtime import Runtime
from model.histories import History, Poll
from model.vocabulary import BrokerId, LeaderEpoch, Offset, TopicPartition
from properties.suites.machines.driven import TOPIC_PARTITION, Power
from reference_impl.log.record_batch import batches, header
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.node.timeouts import Timeouts
from reference_impl.protocol.controller import (
    CreatedTopic,
    CreateTopic,
    DescribedMetadata,
    Metadata,
    PartitionState,
)
from reference_impl.protocol.messages import (
    CONTROLLER,
    EARLIEST_TIMESTAMP,
    FIRST_CLIENT,
    NO_BROKER,
    ErrorCode,
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
    NodeId,
)
from reference_impl.protocol.topic_config import DEFAULT_LOG_CONFIG, UNLIMITED, LogConfig
from reference_impl.simulation import faults
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.clients import Leadership
from reference_impl.simulation.cluster import QUICK
from reference_impl.simulation.consumer import Consumer
from reference_impl.simulation.network import Link
from reference_impl.simulation.producer import PROCESSES_PER_CLIENT, Producer, ProducerConfig
from reference_impl.simulation.programs import (
    Application,
    Call,
    Pause,
    Program,
    ProgramClient,
    ProgramFactory,
    Steps,
)
from reference_impl.simulation.world import NoProgress
from reference_impl.wire.clients.dialogue import Names

SYSTEM_CONTROLLER: Final = 0
LOOK_EVERY_MS: Final = 20  # of the watcher
ASK_WITHIN_MS: Final = 4_000
LIST_ATTEMPTS: Final = 10
FETCH_BYTES: Final = 1_048_576
EVERLASTING: Final = LogConfig(retention_ms=UNLIMITED)  # the times of records are virtual
INTERNAL_TOPICS: Final = ("__transaction_state", "__consumer_offsets")

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Inflicted:
    """A fault that was injected, with its time on the real clock."""

    at_ns: int
    fault: str


class RealTimeCluster:
    """A running system as a machine drives it: the topics, clients and faults of one trial."""

    def __init__(
        self,
        system: System,
        addresses: Addresses,
        *,
        pace: Pace,
        prefix: str,
        min_insync_replicas: int = 1,
        unclean_leader_election: bool = False,
        timeouts: Timeouts = QUICK,
        bugs: Bugs = NO_BUGS,
        verifies_transactions: bool = True,
    ) -> None:
        del timeouts, verifies_transactions  # of the broker: the layout has what it can have
        assert not bugs, "only the simulated broker has seeded bugs"
        self.broker_ids = tuple(sorted(addresses))
        self.inflicted: list[Inflicted] = []
        self._system = system
        self._pace = pace
        self._names = Names(prefix, {*INTERNAL_TOPICS})
        self._runtime = Runtime(pace, self._names, addresses)
        self._up = dict.fromkeys(self.broker_ids, True)
        self._held: dict[Link, ActiveRule] = {}  # the links between nodes that are cut
        self._moving: dict[BrokerId, asyncio.Future[None]] = {}
        self._seen: dict[TopicPartition, PartitionState] = {}
        self._own = 0  # clients that belong to the cluster, not to the trial
        self._clients = 0
        self._run_own(self._watches())
        self.create_topic(
            CreateTopic(
                topic=TOPIC_PARTITION.topic,
                replication_factor=min(3, len(self.broker_ids)),
                min_insync_replicas=min_insync_replicas,
                unclean_leader_election=unclean_leader_election,
            )
        )

    # ------------------------------------------------------------ time

    @property
    def steps(self) -> int:
        """The number of steps that the clients took."""
        return self._runtime.steps

    @property
    def now_ms(self) -> int:
        return self._pace.now_ms

    def run_for(self, duration_ms: int) -> None:
        self._runtime.run_for(duration_ms)

    def run_until(self, condition: Callable[[], bool], within_ms: int) -> bool:
        return self._runtime.run_until(condition, within_ms)

    def close(self) -> None:
        """Stops all clients, ends the faults of links, and starts every broker that is down."""
        self._calm_down()
        self._await_moves()
        self._runtime.close()
        self._system.await_brokers(*self._system.brokers)

    def _until(self, condition: Callable[[], bool], within_ms: int, what: str) -> None:
        if not self.run_until(condition, within_ms):
            real_s = self._pace.real_s(within_ms)
            raise NoProgress(f"{what}: not within {real_s:.0f} s")

    # ------------------------------------------------------------ clients

    def add_producer(self, config: ProducerConfig | None = None) -> NodeId:
        client_id, process = self._new_client()
        self._runtime.add(
            Producer(
                client_id=client_id,
                first_process=process,
                config=config or ProducerConfig(),
                leadership=self._leadership(),
            )
        )
        return client_id

    def add_consumer(self, *, end_offset_every: int = 0) -> NodeId:
        client_id, process = self._new_client()
        self._runtime.add(
            Consumer(
                client_id=client_id,
                process=process,
                leadership=self._leadership(),
                end_offset_every=end_offset_every,
            )
        )
        return client_id

    def send(self, producer: NodeId, *values: str) -> None:
        after, effects = self.producer(producer).send(self._pace.tick_ns(), *values)
        self._runtime.clients[producer] = after
        # the effects open connections, which needs a running loop
        self._runtime.loop.call_soon(self._runtime.carry_out, producer, effects)

    def producer(self, client_id: NodeId) -> Producer:
        client = self._runtime.clients[client_id]
        assert isinstance(client, Producer)
        return client

    def run_program(self, program_factory: ProgramFactory) -> NodeId:
        client_id, process = self._new_client()
        return self._start(client_id, process, program_factory)

    def kill(self, client_id: NodeId) -> None:
        self._runtime.kill(client_id)

    def is_over(self, client_id: NodeId) -> bool:
        client = self._runtime.clients[client_id]
        assert isinstance(client, ProgramClient)
        return client.over

    def history(self) -> History:
        return tuple(one for one in self._runtime.history() if one.process >= 0)

    def recorded(self) -> History:
        """Returns the history with the times of the real clock."""
        return self._pace.in_real_time(self.history())

    def read_all(self, within_ms: int = 20_000) -> tuple[tuple[Offset, str], ...]:
        reader = self.add_consumer(end_offset_every=1_000_000)

        def at_end() -> bool:
            client = self._runtime.clients[reader]
            assert isinstance(client, Consumer)
            return client.at_end

        self._until(at_end, within_ms, "reading orders-0 to its end")
        process = (reader - FIRST_CLIENT) * PROCESSES_PER_CLIENT
        return tuple(
            (Offset(did.offset), did.value)
            for operation in self.history()
            if operation.process == process
            for did in operation.did
            if isinstance(did, Poll) and did.offset is not None
        )

    def _new_client(self) -> tuple[NodeId, int]:
        self._clients += 1
        return NodeId(FIRST_CLIENT + self._clients), self._clients * PROCESSES_PER_CLIENT

    def _start(self, client_id: NodeId, process: int, factory: ProgramFactory) -> NodeId:
        app = Application(client_id=client_id, process=process, brokers=self.broker_ids)
        self._runtime.add(ProgramClient.starting(app, factory))
        return client_id

    def _run_own(self, factory: ProgramFactory) -> NodeId:
        """Starts a program of this module, which is no client of the trial.

        The history does not contain its operations.
        """
        self._own += 1
        return self._start(NodeId(-10 - self._own), -self._own, factory)

    def _ask(self, question: Callable[[BrokerClient], Steps[Result]], what: str) -> Result:
        """Runs a program that queries the brokers, and returns its result; raises NoProgress."""
        found: list[Result] = []

        def program(app: Application) -> Program:
            found.append((yield from question(BrokerClient(app=app))))

        client = self._run_own(program)
        self._until(lambda: self.is_over(client), ASK_WITHIN_MS, what)
        return found[0]

    def _leadership(self) -> Leadership:
        return Leadership(topic_partition=TOPIC_PARTITION, brokers=self.broker_ids)

    # ------------------------------------------------------------ topics

    def create_topic(self, request: CreateTopic) -> None:
        if request.topic.startswith("__"):
            self._find_internal_topic()
            return
        self._names.topics.add(request.topic)
        is_default = request.log_config == DEFAULT_LOG_CONFIG
        kept = replace(
            request,
            replication_factor=min(request.replication_factor, len(self.broker_ids)),
            log_config=EVERLASTING if is_default else request.log_config,
        )

        def creates(brokers: BrokerClient) -> Steps[None]:
            while True:
                answer = yield Call(brokers.any_broker(), kept, 1_000)
                if isinstance(answer, CreatedTopic):
                    if answer.error in {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS}:
                        return
                    raise NoProgress(f"{request.topic} is not created: {answer}")
                yield Pause(100)

        self._ask(creates, f"creating {request.topic}")

        def is_ready() -> bool:
            states = [s for p, s in self._seen.items() if p.topic == request.topic]
            led = all(state.leader != NO_BROKER for state in states)
            full = all(len(state.isr) == len(state.replicas) for state in states)
            return len(states) == request.topic_partitions and led and full

        self._until(is_ready, 10_000, f"a leader of {request.topic}")

    def _find_internal_topic(self) -> None:
        """Sends FindCoordinator requests until both internal topics exist."""
        for is_transactional in (True, False):
            self._ask(partial(_finds, is_transactional=is_transactional), "a coordinator")
        self._until(
            lambda: {*INTERNAL_TOPICS} <= {place.topic for place in self._seen},
            10_000,
            "the internal topics",
        )

    # ------------------------------------------------------------ state

    def leader(self, topic_partition: TopicPartition = TOPIC_PARTITION) -> BrokerId:
        state = self._seen.get(topic_partition)
        return NO_BROKER if state is None else state.leader

    def leader_epoch(self, topic_partition: TopicPartition = TOPIC_PARTITION) -> LeaderEpoch:
        return self._seen[topic_partition].leader_epoch

    def in_sync(self, topic_partition: TopicPartition = TOPIC_PARTITION) -> tuple[BrokerId, ...]:
        return self._seen[topic_partition].isr

    def all_in_sync(self) -> bool:
        return all({*state.replicas} <= {*state.isr} for state in self._seen.values())

    def topic_partitions(self, topic: str | None = None) -> tuple[TopicPartition, ...]:
        return tuple(place for place in sorted(self._seen) if topic in {None, place.topic})

    def high_watermark(self, topic_partition: TopicPartition = TOPIC_PARTITION) -> Offset:
        if not self.is_up(self.leader(topic_partition)):
            return Offset(0)
        found = self._listed(topic_partition, ListOffsets(topic_partition=topic_partition))
        return found or Offset(0)

    def end_offset(self, topic_partition: TopicPartition = TOPIC_PARTITION) -> Offset:
        found = self._listed(topic_partition, ListOffsets(topic_partition=topic_partition))
        if found is None:
            raise NoProgress(f"no leader of {topic_partition} answers")
        return found

    def batches(self, topic_partition: TopicPartition = TOPIC_PARTITION) -> tuple[bytes, ...]:
        earliest = ListOffsets(topic_partition=topic_partition, timestamp=EARLIEST_TIMESTAMP)
        end = self.end_offset(topic_partition)
        first = self._listed(topic_partition, earliest) or Offset(0)

        def reads(brokers: BrokerClient) -> Steps[list[bytes]]:
            found: list[bytes] = []
            at = first
            while at < end:
                request = Fetch(
                    topic_partition=topic_partition, fetch_offset=at, max_bytes=FETCH_BYTES
                )
                answer = yield from brokers.call_leader(topic_partition, request)
                assert isinstance(answer, Fetched), answer
                if answer.error is not ErrorCode.NONE:
                    raise NoProgress(f"fetching {topic_partition}: {answer.error.name}")
                for batch in batches(answer.batches):
                    found.append(batch)
                    at = header(batch).next_offset
            return found

        return tuple(self._ask(reads, f"reading the log of {topic_partition}"))

    def _listed(self, place: TopicPartition, request: ListOffsets) -> Offset | None:
        """Returns the offset in the leader's answer to ListOffsets; None without an answer."""

        def lists(_brokers: BrokerClient) -> Steps[Offset | None]:
            for _ in range(LIST_ATTEMPTS):
                leader = self.leader(place)
                answer = (yield Call(NodeId(leader), request)) if leader != NO_BROKER else None
                if isinstance(answer, ListedOffsets) and answer.error is ErrorCode.NONE:
                    return answer.offset
                yield Pause(LOOK_EVERY_MS)
            return None

        return self._ask(lists, f"the offsets of {place}")

    def _watches(self) -> ProgramFactory:
        """Returns a program that repeatedly reads the metadata, and keeps each partition's newest
        state.
        """

        def program(app: Application) -> Program:
            brokers = BrokerClient(app=app)
            while True:
                answer = yield Call(brokers.any_broker(), Metadata())
                if isinstance(answer, DescribedMetadata):
                    for place, state in answer.image.topic_partitions:
                        known = self._seen.get(place)
                        if known is None or state.leader_epoch >= known.leader_epoch:
                            self._seen[place] = state
                yield Pause(LOOK_EVERY_MS)

        return program

    # ------------------------------------------------------------ faults

    @property
    def powers(self) -> frozenset[Power]:
        """The faults that the system can suffer."""
        return powers_of(self._system)

    def apply(self, fault: faults.Fault) -> None:
        match fault:
            case faults.Crash(broker):
                self.crash(broker)
            case faults.Restart(broker):
                self.restart(broker)
            case faults.ReplaceDisk(broker):
                self.replace_disk(broker)
            case faults.DropResponses(client, count):
                self.drop_responses(client, count)
            case faults.OneWaySplit(source, target):
                self.split_one_way(source, target)
            case faults.Heal():
                self.heal()
            case faults.On():
                self._note(f"the next {fault.count} of {fault.api}: {fault.does}")
                self._runtime.armed.arm(fault)
            case _:
                raise AssertionError(f"{self._system.name} cannot suffer {fault}")

    def is_up(self, broker: BrokerId) -> bool:
        return self._up.get(broker, False)

    def crash(self, broker: BrokerId) -> None:
        if self.is_up(broker):
            self._await_move(broker)
            self._note(f"broker {broker} is killed")
            self._up[broker] = False
            self._system.do(Ability.KILL, broker)

    def restart(self, broker: BrokerId) -> None:
        if broker in self.broker_ids and not self.is_up(broker):
            self._note(f"broker {broker} is started")
            self._up[broker] = True
            self._move(broker, lambda: self._system.do(Ability.START, broker))

    def replace_disk(self, broker: BrokerId) -> None:
        if broker in self.broker_ids:
            self.crash(broker)
            self._note(f"broker {broker} loses its disk")
            self._system.do(Ability.WIPE, broker)

    def isolate(self, broker: BrokerId) -> None:
        if broker in self.broker_ids:
            node = NodeId(broker)
            for other in (CONTROLLER, *map(NodeId, self.broker_ids)):
                if other != node:
                    self.split_one_way(node, other)
                    self.split_one_way(other, node)

    def split_one_way(self, source: NodeId, target: NodeId) -> None:
        link = Link(source, target)
        if source in self._runtime.clients:
            self._note(f"requests of client {source} to broker {target} are lost")
            self._runtime.cut.add(link)
        elif link not in self._held:
            assert self._system.proxies is not None, "no link between brokers can be cut"
            self._note(f"node {source} no longer reaches node {target}")
            cut = Cut(sender=_node(source), receiver=_node(target))
            self._held[link] = self._system.proxies.add(cut)

    def rejoin_one_way(self, source: NodeId, target: NodeId) -> None:
        self._note(f"requests of client {source} to broker {target} arrive again")
        self._runtime.cut.discard(Link(source, target))

    def is_split(self) -> bool:
        return bool(self._runtime.cut or self._held)

    def heal(self) -> None:
        if self.is_split() or any(self._runtime.responses_to_drop.values()):
            self._note("all links are restored")
        if self._system.proxies is not None:
            self._system.proxies.lift(*self._held.values())
        self._held.clear()
        self._runtime.cut.clear()
        self._runtime.responses_to_drop.clear()

    def drop_responses(self, client: NodeId, count: int = 1) -> None:
        self._note(f"the next {count} responses to client {client} are lost")
        self._runtime.responses_to_drop[client] = count

    def recover(self, within_ms: int = 20_000, *, programs: Collection[NodeId] = ()) -> None:
        self._calm_down()
        self._await_moves()
        ready = self._runtime.in_background(self._await_brokers)
        self._until(ready.done, within_ms, "starting all brokers")
        ready.result()
        self.run_for(LOOK_EVERY_MS * 2 * len(self.broker_ids))  # no metadata from before remains

        def is_calm() -> bool:
            led = all(self.is_up(state.leader) for state in self._seen.values())
            clients = self._runtime.clients.values()
            idle = all(client.idle for client in clients if isinstance(client, Producer))
            return led and self.all_in_sync() and idle and all(map(self.is_over, programs))

        self._until(is_calm, within_ms, "recovering after the last fault")

    def _calm_down(self) -> None:
        self.heal()
        self._runtime.armed.disarm()
        for broker in self.broker_ids:
            self.restart(broker)

    def _await_brokers(self) -> None:
        self._system.await_brokers(*self._system.brokers)

    def _move(self, broker: BrokerId, action: Callable[[], None]) -> None:
        self._moving[broker] = self._runtime.in_background(action)

    def _await_move(self, broker: BrokerId) -> None:
        move = self._moving.pop(broker, None)
        if move is not None:
            self._runtime.loop.run_until_complete(move)

    def _await_moves(self) -> None:
        for broker in tuple(self._moving):
            self._await_move(broker)

    def _note(self, fault: str) -> None:
        self.inflicted.append(Inflicted(time.monotonic_ns(), fault))


def powers_of(system: System) -> frozenset[Power]:
    """Returns the kinds of faults that the system can suffer, according to its abilities."""
    can = system.abilities
    needed = {
        Power.KILL: {Ability.KILL, Ability.START},
        Power.WIPE: {Ability.KILL, Ability.START, Ability.WIPE},
    }
    found = {power for power, actions in needed.items() if actions <= can}
    # the nodes of `served` talk in one process, where no proxy is between them
    if system.proxies is not None and Ability.PAUSE in can:
        found.add(Power.CUT)
    return frozenset(found)


def _node(node: NodeId) -> int:
    """Returns the number of the node in the system under test."""
    return SYSTEM_CONTROLLER if node == CONTROLLER else int(node)


def _finds(brokers: BrokerClient, *, is_transactional: bool) -> Steps[None]:
    while ("urteil", is_transactional) not in brokers.coordinators:
        yield from brokers.find_coordinator("urteil", is_transactional=is_transactional)
