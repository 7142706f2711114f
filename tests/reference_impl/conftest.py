"""A cluster without a network: each message arrives at once and in order."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from model.vocabulary import BrokerId, ProducerEpoch, ProducerId, Sequence, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.broker.config import BrokerConfig
from reference_impl.controller.controller import Controller
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.node.settings import BrokerSettings
from reference_impl.node.step import (
    Effects,
    Input,
    Reply,
    RequestReceived,
    ResponseReceived,
    Send,
    SetTimer,
    TimerFired,
)
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.messages import (
    CONTROLLER,
    FIRST_CLIENT,
    ErrorCode,
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
    NodeId,
    Produce,
    Produced,
)
from reference_impl.protocol.requests import Request, Response
from reference_impl.protocol.topic_config import DEFAULT_LOG_CONFIG, LogConfig
from reference_impl.protocol.transactions import FindCoordinator
from tests.reference_impl.committed_values import committed_values

# Without an interval between assignments, a heartbeat gets the assignment that it has changed.
TIMEOUTS = BrokerSettings(
    replica_lag_ms=600,
    replica_fetch_backoff_ms=20,
    retention_check_ms=1_000,
    cleaner_backoff_ms=1_000,
    member_assignment_ms=0,
)


@dataclass
class InstantCluster:
    """Brokers and their controller; `pass_time` fires timers, `restart` restarts a broker."""

    brokers: int = 1
    bugs: Bugs = NO_BUGS
    now_ms: int = 0
    config: dict[str, Any] = field(default_factory=dict)
    broker_settings: BrokerSettings = TIMEOUTS
    nodes: dict[NodeId, Broker | Controller] = field(default_factory=dict)
    lives: dict[NodeId, int] = field(default_factory=dict)
    answers: dict[int, Response] = field(default_factory=dict)
    timers: list[tuple[int, int, NodeId, int, TimerFired]] = field(default_factory=list)
    messages: deque[tuple[NodeId, Input]] = field(default_factory=deque)
    is_dropped: Callable[[NodeId, Input], bool] = lambda _to, _told: (
        False
    )  # what is lost on its way
    requests: int = 0
    set: int = 0

    def __post_init__(self) -> None:
        controller, effects = Controller.start(
            0, broker_settings=self.broker_settings, bugs=self.bugs
        )
        self.nodes[CONTROLLER] = controller
        self._carry_out(CONTROLLER, effects)
        for number in range(1, self.brokers + 1):
            self.restart(number)
        self._deliver_all()

    def restart(self, broker: int) -> None:
        before = self.nodes.get(NodeId(broker))
        disk = before.disk() if isinstance(before, Broker) else None
        self.lives[NodeId(broker)] = self.lives.get(NodeId(broker), 0) + 1
        config = BrokerConfig(
            broker_id=BrokerId(broker),
            broker_settings=self.broker_settings,
            bugs=self.bugs,
            **self.config,
        )
        node, effects = Broker.start(
            self.now_ms, config=config, incarnation=self.lives[NodeId(broker)], disk=disk
        )
        self.nodes[NodeId(broker)] = node
        self._carry_out(NodeId(broker), effects)
        self._deliver_all()

    def pass_time(self, ms: int) -> None:
        end_ms = self.now_ms + ms
        while self.timers and self.timers[0][0] <= end_ms:
            at_ms, _, node, life, fired = heapq.heappop(self.timers)
            self.now_ms = max(self.now_ms, at_ms)
            if self.lives.get(node, 0) == life:
                self.messages.append((node, fired))
                self._deliver_all()
        self.now_ms = end_ms

    def send(self, request: Request, broker: int = 1) -> int:
        """Sends a client's request and returns its correlation id.

        With this id as the key, `answers` has the response.
        """
        self.requests += 1
        self.messages.append(
            (NodeId(broker), RequestReceived(FIRST_CLIENT, self.requests, request))
        )
        self._deliver_all()
        return self.requests

    def call(self, request: Request, broker: int = 1) -> Any:
        """Sends a client's request and returns its response.

        Advances the time until the response arrives.
        """
        number = self.send(request, broker)
        for _ in range(200):
            if number in self.answers:
                break
            self.pass_time(10)
        return self.answers[number]

    def _carry_out(self, source: NodeId, effects: Effects) -> None:
        for effect in effects:
            match effect:
                case Send(to, correlation, request):
                    self.messages.append((to, RequestReceived(source, correlation, request)))
                case Reply(to, correlation, response) if to == FIRST_CLIENT:
                    self.answers[correlation] = response
                case Reply(to, correlation, response):
                    self.messages.append((to, ResponseReceived(source, correlation, response)))
                case SetTimer(timer, at_ms):
                    self.set += 1
                    life = self.lives.get(source, 0)
                    heapq.heappush(self.timers, (at_ms, self.set, source, life, TimerFired(timer)))
                case _:
                    pass

    def _deliver_all(self) -> None:
        while self.messages:
            to, message = self.messages.popleft()
            if to in self.nodes and not self.is_dropped(to, message):
                self.nodes[to], effects = self.nodes[to].step(self.now_ms, message)
                self._carry_out(to, effects)

    # ------------------------------------------------------------ what clients do

    def create(
        self, topic: str, partitions: int = 1, log_config: LogConfig = DEFAULT_LOG_CONFIG
    ) -> None:
        request = CreateTopic(
            topic=topic,
            topic_partitions=partitions,
            replication_factor=self.brokers,
            log_config=log_config,
        )
        assert self.call(request).error is ErrorCode.NONE

    def coordinator(self, key: str, *, transactional: bool) -> int:
        request = FindCoordinator(key=key, is_transactional=transactional)
        while (found := self.call(request)).error is not ErrorCode.NONE:
            self.pass_time(100)
        return int(found.broker_id)

    def write(
        self,
        topic_partition: TopicPartition,
        value: str,
        producer: tuple[int, int] = (-1, -1),
        sequence: int = 0,
        *,
        transactional_id: str | None = None,
        adds: bool = False,
    ) -> ErrorCode:
        data = encode(
            [Record(value=value.encode(), timestamp_ms=self.now_ms)],
            producer_id=ProducerId(producer[0]),
            producer_epoch=ProducerEpoch(producer[1]),
            base_sequence=Sequence(sequence if producer[0] >= 0 else -1),
            transactional=transactional_id is not None,
        )
        request = Produce(
            topic_partition=topic_partition,
            batches=data,
            transactional_id=transactional_id,
            adds_partition=adds,
        )
        answer = self.call(request, self.leader(topic_partition))
        assert isinstance(answer, Produced)
        return answer.error

    def committed(self, topic_partition: TopicPartition) -> list[str]:
        request = Fetch(
            topic_partition=topic_partition, fetch_offset=NO_OFFSET, read_committed=True
        )
        answer = self.call(request, self.leader(topic_partition))
        assert isinstance(answer, Fetched)
        return committed_values(answer)

    def unstable(self, topic_partition: TopicPartition) -> int:
        """Returns the number of offsets between the last stable offset and the high watermark."""
        ends: list[int] = []
        for read_committed in (False, True):
            request = ListOffsets(topic_partition=topic_partition, read_committed=read_committed)
            answer = self.call(request, self.leader(topic_partition))
            assert isinstance(answer, ListedOffsets)
            ends.append(answer.offset)
        return ends[0] - ends[1]

    def leader(self, topic_partition: TopicPartition) -> int:
        controller = self.nodes[CONTROLLER]
        assert isinstance(controller, Controller)
        return int(controller.topic_partitions[topic_partition].leader)


NO_OFFSET: Any = 0


@pytest.fixture
def start_cluster() -> Callable[..., InstantCluster]:
    return InstantCluster
