"""Creates the topics of one trial (a test run) on a real cluster, and observes their state as a
client does.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from checkers.trials.clients import INTERNAL_TOPICS, RealTimeClients
from checkers.trials.connections import Addresses
from checkers.trials.pace import Pace
from model.vocabulary import BrokerId, LeaderEpoch, Offset, TopicPartition
from properties.suites.machines.driven import TOPIC_PARTITION
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.record_batch import header
from reference_impl.protocol.controller import (
    CreatedTopic,
    CreateTopic,
    DescribedMetadata,
    Metadata,
    PartitionState,
)
from reference_impl.protocol.messages import (
    EARLIEST_TIMESTAMP,
    NO_BROKER,
    ErrorCode,
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
    NodeId,
)
from reference_impl.protocol.topic_config import DEFAULT_LOG_CONFIG, UNLIMITED, LogConfig
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.programs import (
    Application,
    Call,
    Pause,
    Program,
    ProgramFactory,
    Steps,
)
from reference_impl.simulation.world import NoProgress

LOOK_EVERY_MS: Final = 20  # of the watcher
LIST_ATTEMPTS: Final = 10
FETCH_BYTES: Final = 1_048_576
KAFKA_SEGMENT_BYTES: Final = 1_048_576  # the least since Kafka 4.0 (KIP-1030)
SMALL_SEGMENTS: Final = {"segment.ms": "1", "message.timestamp.type": "LogAppendTime"}
EVERLASTING: Final = LogConfig(retention_ms=UNLIMITED)  # the times of records are virtual


class WatchedTopics(RealTimeClients):
    def __init__(
        self, addresses: Addresses, *, pace: Pace, prefix: str, knows_coordinators: bool
    ) -> None:
        super().__init__(addresses, pace=pace, prefix=prefix)
        self._knows_coordinators = knows_coordinators  # metadata shows their topics, as Kafka's
        self._seen: dict[TopicPartition, PartitionState] = {}
        self._run_own(self._watches())

    # ------------------------------------------------------------ topics

    def create_topic(self, request: CreateTopic) -> None:
        if request.topic.startswith("__"):
            if self._knows_coordinators:
                self._find_internal_topic()
            return
        self._names.topics.add(request.topic)
        kept = replace(
            request,
            replication_factor=min(request.replication_factor, len(self.broker_ids)),
            log_config=self._log_config(request),
        )

        def creates(brokers: BrokerClient) -> Steps[None]:
            while True:
                answer = yield Call(brokers.any_broker(), kept, 1_000)
                match answer.error if isinstance(answer, CreatedTopic) else None:
                    case None | ErrorCode.NOT_CONTROLLER:
                        yield Pause(100)  # then another broker
                    case ErrorCode.NONE | ErrorCode.TOPIC_ALREADY_EXISTS:
                        return
                    case ErrorCode.UNSUPPORTED_VERSION:
                        self._names.auto_creates = True  # by the next Metadata request
                        self._names.partitions[request.topic] = request.topic_partitions
                        return
                    case _:
                        raise NoProgress(f"{request.topic} is not created: {answer}")

        self._ask(creates, f"creating {request.topic}")

        def is_ready() -> bool:
            states = [s for p, s in self._seen.items() if p.topic == request.topic]
            led = all(state.leader != NO_BROKER for state in states)
            full = all(len(state.isr) == len(state.replicas) for state in states)
            return len(states) == request.topic_partitions and led and full

        self._until(is_ready, 10_000, f"a leader of {request.topic}")

    def _log_config(self, request: CreateTopic) -> LogConfig:
        config = request.log_config
        if config == DEFAULT_LOG_CONFIG:
            return EVERLASTING
        retention_ms = config.retention_ms * self._pace.real_per_virtual
        if config.segment_bytes >= KAFKA_SEGMENT_BYTES:
            return replace(config, retention_ms=retention_ms)
        # The suites use segments of a few bytes, which Kafka does not allow. Such a topic gets a
        # new segment with each append instead.
        self._names.settings[request.topic] = SMALL_SEGMENTS
        default = DEFAULT_LOG_CONFIG.segment_bytes
        return replace(config, retention_ms=retention_ms, segment_bytes=default)

    def _find_internal_topic(self) -> None:
        for is_transactional in (True, False):
            self._ask(partial(_finds, is_transactional=is_transactional), "a coordinator")
        self._until(
            lambda: {*INTERNAL_TOPICS} <= {place.topic for place in self._seen},
            10_000,
            "the internal topics",
        )

    # ------------------------------------------------------------ state

    def is_up(self, broker: BrokerId) -> bool:
        """Returns True for every broker of the cluster. A subclass that injects faults overrides
        this method.
        """
        return broker in self.broker_ids

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


def _finds(brokers: BrokerClient, *, is_transactional: bool) -> Steps[None]:
    while ("urteil", is_transactional) not in brokers.coordinators:
        yield from brokers.find_coordinator("urteil", is_transactional=is_transactional)
