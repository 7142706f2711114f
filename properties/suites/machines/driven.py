"""The interface of the cluster on which a Hypothesis state machine of a suite runs.

The cluster is either simulated, or it runs in real time with the same methods. All times are
virtual. On a cluster in real time, one virtual second lasts longer than one second.

Clusters differ in their abilities (`Power`). For example, not every cluster can cut the power of a
host. A rule is never called if it needs an ability that the cluster lacks. A claim is undecided if
only such rules can break it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import StrEnum
from typing import Final, Protocol, runtime_checkable

from model.histories import History
from model.vocabulary import BrokerId, LeaderEpoch, Offset, TopicPartition
from reference_impl.node.bugs import Bugs
from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.cluster import TOPIC_PARTITION, Cluster
from reference_impl.simulation.faults import Fault
from reference_impl.simulation.producer import Producer
from reference_impl.simulation.producer_config import ProducerConfig
from reference_impl.simulation.programs import ProgramFactory


class Power(StrEnum):
    """An ability that not every cluster has, for example that it can cut the power of a host."""

    KILL = "kill brokers and start them again"
    PAUSE = "pause brokers"
    ADMINISTER = "reassign replicas, elect preferred leaders and configure topics"
    REASSIGN = "begin and cancel reassignments during other faults"
    WIPE = "start a broker with an empty disk"
    LOSE_POWER = "lose what was written and not flushed"
    CUT = "cut links between brokers"
    DELAY = "delay and drop requests between brokers"
    INSIDE = "see the state of every replica"
    UNVERIFIED = "accept transactional records without verification"
    ONE_REPLICA = "keep a single replica of `__transaction_state` and `__consumer_offsets`"
    EXPIRE = "expire the offsets of an empty group within a minute"
    RETAIN = "delete old segments within a second"


class DrivenCluster(Protocol):
    """A running cluster with the topic partition `orders-0`. Its methods manage the clients and the
    faults.

    The class `reference_impl.simulation.cluster.Cluster` documents these methods.
    """

    broker_ids: tuple[BrokerId, ...]

    @property
    def steps(self) -> int: ...
    @property
    def now_ms(self) -> int: ...
    def run_for(self, duration_ms: int) -> None: ...
    def run_until(self, condition: Callable[[], bool], within_ms: int) -> bool: ...

    def create_topic(self, request: CreateTopic) -> None: ...
    def add_producer(self, config: ProducerConfig | None = None) -> NodeId: ...
    def add_consumer(self, *, end_offset_every: int = 0) -> NodeId: ...
    def send(self, producer: NodeId, *values: str) -> None: ...
    def producer(self, client_id: NodeId) -> Producer: ...
    def run_program(self, program_factory: ProgramFactory) -> NodeId: ...
    def kill(self, client_id: NodeId) -> None: ...
    def is_over(self, client_id: NodeId) -> bool: ...
    def history(self) -> History: ...
    def read_all(self, within_ms: int = ...) -> tuple[tuple[Offset, str], ...]: ...

    def leader(self, topic_partition: TopicPartition = ...) -> BrokerId: ...
    def leader_epoch(self, topic_partition: TopicPartition = ...) -> LeaderEpoch: ...
    def in_sync(self, topic_partition: TopicPartition = ...) -> tuple[BrokerId, ...]: ...
    def all_in_sync(self) -> bool: ...
    def topic_partitions(self, topic: str | None = None) -> tuple[TopicPartition, ...]: ...
    def high_watermark(self, topic_partition: TopicPartition = ...) -> Offset: ...
    def end_offset(self, topic_partition: TopicPartition = ...) -> Offset: ...
    def batches(self, topic_partition: TopicPartition = ...) -> tuple[bytes, ...]: ...

    def apply(self, fault: Fault) -> None: ...
    def is_up(self, broker: BrokerId) -> bool: ...
    def crash(self, broker: BrokerId) -> None: ...
    def restart(self, broker: BrokerId) -> None: ...
    def replace_disk(self, broker: BrokerId) -> None: ...
    def isolate(self, broker: BrokerId) -> None: ...
    def split_one_way(self, source: NodeId, target: NodeId) -> None: ...
    def rejoin_one_way(self, source: NodeId, target: NodeId) -> None: ...
    def is_split(self) -> bool: ...
    def heal(self) -> None: ...
    def drop_responses(self, client: NodeId, count: int = 1) -> None: ...
    def recover(self, within_ms: int = ..., *, programs: Collection[NodeId] = ()) -> None: ...


@runtime_checkable
class PausesBrokers(Protocol):
    """A cluster of real processes, in which the process of a broker can be paused and resumed."""

    def pause(self, broker: BrokerId) -> None: ...
    def resume(self, broker: BrokerId) -> None: ...


@runtime_checkable
class Administers(Protocol):
    """A cluster in real time on which an administrator can move replicas and change topics.

    The methods never change internal topics.
    """

    def move_away(self, broker: BrokerId) -> None: ...
    def move_back(self, broker: BrokerId) -> None: ...
    def elect_preferred(self) -> None: ...
    def roll_segments(self) -> None: ...


class OpensCluster(Protocol):
    """A function that starts a cluster, for example the class `Cluster` of the simulation."""

    def __call__(
        self,
        *,
        min_insync_replicas: int = ...,
        unclean_leader_election: bool = ...,
        broker_settings: BrokerSettings = ...,
        bugs: Bugs = ...,
        verifies_transactions: bool = ...,
    ) -> DrivenCluster: ...


SIMULATED: Final[OpensCluster] = Cluster

__all__ = [
    "SIMULATED",
    "TOPIC_PARTITION",
    "Administers",
    "DrivenCluster",
    "OpensCluster",
    "PausesBrokers",
    "Power",
]
