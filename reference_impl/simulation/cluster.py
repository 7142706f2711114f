"""A simulated cluster: brokers, the controller and clients on one network.

The seed, the arguments and the calls determine the order of all events.

    cluster = Cluster(seed=7)
    producer = cluster.add_producer()
    cluster.send(producer, "a", "b")
    cluster.crash(cluster.leader())
    cluster.recover()
    cluster.history()

Every cluster has the topic partition `orders-0`, with a replica on each broker. If the caller of a
method passes no topic partition, the method refers to `orders-0`. An application is a program
(`reference_impl.simulation.programs`): `run_program` starts the application, and `kill` kills its
process.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, Literal

from model.histories import History, Operation, Poll
from model.vocabulary import BrokerId, LeaderEpoch, Offset, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.broker.config import BrokerConfig
from reference_impl.controller.controller import Controller
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.node.settings import BrokerSettings
from reference_impl.node.step import RequestReceived, TimerFired
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.messages import CONTROLLER, FIRST_CLIENT, NO_BROKER, NodeId
from reference_impl.protocol.topic_config import DEFAULT_LOG_CONFIG, LogConfig
from reference_impl.protocol.truncation import Truncation
from reference_impl.simulation.clients import TICK, Leadership
from reference_impl.simulation.consumer import Consumer
from reference_impl.simulation.machines import Machines
from reference_impl.simulation.network import CALM, Conditions
from reference_impl.simulation.producer import PROCESSES_PER_CLIENT, Producer
from reference_impl.simulation.producer_config import ProducerConfig
from reference_impl.simulation.programs import Application, ProgramClient, ProgramFactory

TOPIC_PARTITION: Final = TopicPartition("orders", 0)

# About a hundredth of Kafka's timeouts: failures are detected within a second of virtual time.
QUICK: Final = BrokerSettings(
    heartbeat_ms=100,
    session_timeout_ms=350,
    replica_lag_ms=300,
    replica_fetch_wait_ms=100,
    replica_fetch_timeout_ms=200,
    replica_fetch_backoff_ms=30,
    checkpoint_ms=400,
    request_timeout_ms=300,
    coordinator_ms=50,
    group_initial_delay_ms=30,
    group_min_session_ms=60,
    member_assignment_ms=20,
)


class Cluster(Machines):
    """A running cluster in which the topic `orders` exists and has a leader."""

    def __init__(
        self,
        *,
        seed: int = 0,
        brokers: int = 3,
        min_insync_replicas: int = 1,
        conditions: Conditions = CALM,
        broker_settings: BrokerSettings = QUICK,
        bugs: Bugs = NO_BUGS,
        truncation: Truncation = Truncation.IN_FETCH,
        elr: bool = True,
        unclean_leader_election: bool = False,
        verifies_transactions: bool = True,
        log_config: LogConfig = DEFAULT_LOG_CONFIG,
    ) -> None:
        like = BrokerConfig(
            broker_id=NO_BROKER,
            broker_settings=broker_settings,
            bugs=bugs,
            truncation=truncation,
            verifies_transactions=verifies_transactions,
        )
        super().__init__(seed, conditions, brokers, like)
        controller, effects = Controller.start(
            0, broker_settings=broker_settings, elr=elr, bugs=bugs
        )
        self._nodes[CONTROLLER] = controller
        self._carry_out(CONTROLLER, effects)
        for broker in self.broker_ids:
            self._start(broker, {})
        self._until(lambda: len(self._unfenced()) == len(self.broker_ids), 10_000)
        self.create_topic(
            CreateTopic(
                topic=TOPIC_PARTITION.topic,
                replication_factor=len(self.broker_ids),
                min_insync_replicas=min_insync_replicas,
                unclean_leader_election=unclean_leader_election,
                log_config=log_config,
            )
        )

    def create_topic(self, request: CreateTopic) -> None:
        """Creates a topic, and waits until all partitions of the cluster have leaders and all
        replicas are in sync.
        """
        self._deliver_now(CONTROLLER, RequestReceived(FIRST_CLIENT, 0, request))
        self._until(lambda: self.is_led() and self.all_in_sync(), 10_000)

    # ------------------------------------------------------------ clients

    def add_producer(self, config: ProducerConfig | None = None) -> NodeId:
        client_id, first_process = self._new_client()
        self._add(
            Producer(
                client_id=client_id,
                first_process=first_process,
                config=config or ProducerConfig(),
                leadership=self._leadership(),
            )
        )
        return client_id

    def add_consumer(self, *, end_offset_every: int = 0) -> NodeId:
        """Adds a consumer that reads from the beginning of the log, and returns the id of the
        consumer.

        The consumer requests the end offset once in `end_offset_every` polls. If `end_offset_every`
        is 0, the consumer never requests the end offset.
        """
        client_id, first_process = self._new_client()
        self._add(
            Consumer(
                client_id=client_id,
                process=first_process,
                leadership=self._leadership(),
                end_offset_every=end_offset_every,
            )
        )
        return client_id

    def send(self, producer: NodeId, *values: str) -> None:
        client = self.producer(producer)
        self._clients[producer], effects = client.send(self._tick_ns(), *values)
        self.trace.add(self.now_ms, producer, "send " + " ".join(values), None)
        self._carry_out(producer, effects)

    def producer(self, client_id: NodeId) -> Producer:
        client = self._clients[client_id]
        assert isinstance(client, Producer)
        return client

    def consumer(self, client_id: NodeId) -> Consumer:
        client = self._clients[client_id]
        assert isinstance(client, Consumer)
        return client

    def client_kind(self, client_id: NodeId) -> Literal["producer", "consumer", "application"]:
        match self._clients[client_id]:
            case Producer():
                return "producer"
            case Consumer():
                return "consumer"
            case _:
                return "application"

    def run_program(self, program_factory: ProgramFactory) -> NodeId:
        client_id, process = self._new_client()
        app = Application(client_id=client_id, process=process, brokers=self.broker_ids)
        self._add(ProgramClient.starting(app, program_factory))
        return client_id

    def kill(self, client_id: NodeId) -> None:
        """Kills the process of an application. If an operation is in progress, the history
        contains it as unfinished.
        """
        self._program(client_id).close()
        self._end_life(client_id)
        self.trace.add(self.now_ms, client_id, "kill", None)

    def is_over(self, client_id: NodeId) -> bool:
        return self._program(client_id).over

    def _program(self, client_id: NodeId) -> ProgramClient:
        client = self._clients[client_id]
        assert isinstance(client, ProgramClient)
        return client

    def history(self) -> History:
        """Returns the completed operations in the order of their completion, followed by the
        unfinished operations.

        If a read of a consumer has no response yet, the history does not contain it.
        """
        unfinished = (operation for c in self._clients.values() for operation in c.unfinished())
        return (*self._observed, *unfinished)

    def _new_client(self) -> tuple[NodeId, int]:
        number = len(self._clients) + 1
        return NodeId(FIRST_CLIENT + number), number * PROCESSES_PER_CLIENT

    def _leadership(self) -> Leadership:
        return Leadership(topic_partition=TOPIC_PARTITION, brokers=self.broker_ids)

    def _add(self, client: Producer | Consumer | ProgramClient) -> None:
        self._clients[client.client_id] = client
        self._scheduler.schedule(self.now_ms, (client.client_id, 0, TimerFired(TICK)))

    # ------------------------------------------------------------ state

    def leader(self, topic_partition: TopicPartition = TOPIC_PARTITION) -> BrokerId:
        """Returns the leader according to the controller, or NO_BROKER if the partition has no
        leader.
        """
        state = self._controller().topic_partitions.get(topic_partition)
        return NO_BROKER if state is None else state.leader

    def leader_epoch(self, topic_partition: TopicPartition = TOPIC_PARTITION) -> LeaderEpoch:
        return self._controller().topic_partitions[topic_partition].leader_epoch

    def in_sync(self, topic_partition: TopicPartition = TOPIC_PARTITION) -> tuple[BrokerId, ...]:
        """Returns the ISR according to the controller."""
        return self._controller().topic_partitions[topic_partition].isr

    def replicas(self, topic_partition: TopicPartition = TOPIC_PARTITION) -> tuple[BrokerId, ...]:
        """Returns the brokers that have a replica of the topic partition, according to the
        controller.

        If a reassignment is in progress, they include the brokers to which a replica is added and
        the brokers from which a replica is removed.
        """
        return self._controller().topic_partitions[topic_partition].replicas

    def log(
        self, broker: BrokerId, topic_partition: TopicPartition = TOPIC_PARTITION
    ) -> PartitionLog:
        """Returns the log of the broker's replica. If the broker is down, the method returns the
        log on its disk.
        """
        node = self._nodes.get(NodeId(broker))
        disk = node.disk() if isinstance(node, Broker) else self._disks[broker]
        return disk[topic_partition]

    def high_watermark(self, topic_partition: TopicPartition = TOPIC_PARTITION) -> Offset:
        """Returns the leader's high watermark, or 0 if the partition has no leader."""
        leader = self.leader(topic_partition)
        return (
            Offset(0) if leader == NO_BROKER else self.log(leader, topic_partition).high_watermark
        )

    def end_offset(self, topic_partition: TopicPartition = TOPIC_PARTITION) -> Offset:
        """Returns the leader's log end offset. Raises KeyError if the partition has no leader."""
        return self.log(self.leader(topic_partition), topic_partition).end_offset

    def batches(self, topic_partition: TopicPartition = TOPIC_PARTITION) -> tuple[bytes, ...]:
        """Returns all record batches in the leader's log, including the transaction markers."""
        log = self.log(self.leader(topic_partition), topic_partition)
        return tuple(batch.data for batch in log.batches())

    def topic_partitions(self, topic: str | None = None) -> tuple[TopicPartition, ...]:
        """Returns the partitions of a topic. If `topic` is None, returns the partitions of all
        topics, including internal topics.
        """
        known = sorted(self._controller().topic_partitions)
        return tuple(place for place in known if topic is None or place.topic == topic)

    def is_led(self, *places: TopicPartition) -> bool:
        """Returns True if each of the topic partitions `places` has a leader that has begun to
        lead.

        Without arguments, the condition must be true for all topic partitions of the cluster.
        """
        return all(
            isinstance(node := self._nodes.get(NodeId(state.leader)), Broker) and node.leads(place)
            for place, state in self._controller().topic_partitions.items()
            if not places or place in places
        )

    def all_moved(self) -> bool:
        """Returns True if every replica of a running broker is assigned to this broker by the
        controller.

        A reassignment or the deletion of a topic may leave a broker with a replica that is no
        longer assigned to it. The broker then still has to delete the replica.
        """
        states = self._controller().topic_partitions
        return all(
            place in states and broker in states[place].replicas
            for broker in self.broker_ids
            for node in (self._nodes.get(NodeId(broker)),)
            if isinstance(node, Broker)
            for place in node.replicas
        )

    def all_in_sync(self, core: Iterable[BrokerId] | None = None) -> bool:
        """Returns True if all replicas on the brokers in `core` are in the ISR. If `core` is
        None, all brokers count.
        """
        meant = {*(self.broker_ids if core is None else core)}
        states = self._controller().topic_partitions.values()
        return all(meant.intersection(state.replicas) <= {*state.isr} for state in states)

    def may_do_alone(self, core: Iterable[BrokerId]) -> bool:
        """Returns True if the brokers in `core` can serve every topic partition while all other
        brokers are down.

        Two conditions must be true for each partition. A broker in `core` must be up and in the ISR
        or the ELR. At least min.insync.replicas brokers in `core` must have a replica.
        """
        alone = {*core}
        up = {*filter(self._is_registered, alone)}
        return all(
            up.intersection((*state.isr, *state.elr))
            and len(alone.intersection(state.replicas)) >= state.min_insync_replicas
            for state in self._controller().topic_partitions.values()
        )

    def _controller(self) -> Controller:
        controller = self._nodes[CONTROLLER]
        assert isinstance(controller, Controller)
        return controller

    def _is_registered(self, broker: BrokerId) -> bool:
        node, known = self._nodes.get(NodeId(broker)), self._controller().brokers.get(broker)
        return (
            isinstance(node, Broker)
            and known is not None
            and not node.channel.shutting_down
            and node.broker_epoch == known.broker_epoch
        )

    def _unfenced(self) -> list[BrokerId]:
        brokers = self._controller().brokers
        return [broker for broker, state in brokers.items() if not state.fenced]

    # ------------------------------------------------------------ recovery

    def recover(
        self,
        within_ms: int = 20_000,
        *,
        core: Collection[BrokerId] | None = None,
        programs: Collection[NodeId] = (),
    ) -> None:
        """Ends all faults, and waits until the cluster has recovered. Raises NoProgress if this
        takes longer than `within_ms` of virtual time.

        The cluster has recovered if all of these conditions are true:

        - All replicas are in the ISR, and all partitions have leaders.
        - The brokers have deleted all replicas that reassignments removed from them.
        - Every send of a producer has a result.
        - All of the `programs` have finished.

        If `core` is not None, only the brokers in `core` start and recover, and all other brokers
        crash. A broker of `core` that is still shutting down starts again after it has stopped.
        """
        self._network.calm_down()
        self._armed.disarm()
        recovering = [broker for broker in self.broker_ids if core is None or broker in core]
        for broker in self.broker_ids:
            if broker not in recovering:
                self.crash(broker)

        def recovers() -> bool:
            for broker in recovering:
                self.restart(broker)
            return (
                # the cheapest first: this is called after each event
                all(map(self.is_over, programs))
                and self._idle()
                and self.all_in_sync(core)
                and self.is_led()
                and self.all_moved()
            )

        self._until(recovers, within_ms)

    def read_all(self, within_ms: int = 20_000) -> tuple[tuple[Offset, str], ...]:
        """Adds a consumer that reads from the beginning to the end offset, and returns its records
        with their offsets.

        Raises NoProgress if the consumer does not reach the end within `within_ms` of virtual time.
        """
        reader = self.add_consumer(end_offset_every=1_000_000)
        self._until(lambda: self.consumer(reader).at_end, within_ms)
        process = self.consumer(reader).process
        return _polled(operation for operation in self._observed if operation.process == process)

    def _idle(self) -> bool:
        return all(client.idle for client in self._clients.values() if isinstance(client, Producer))


def _polled(operations: Iterable[Operation]) -> tuple[tuple[Offset, str], ...]:
    return tuple(
        (Offset(did.offset), did.value)
        for operation in operations
        for did in operation.did
        if isinstance(did, Poll) and did.offset is not None
    )
