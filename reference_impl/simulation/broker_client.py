"""The requests of a simulated program to leaders and coordinators, with discovery and retries.

If no response arrives, or the response has an error in `RETRIABLE`, `BrokerClient` finds the leader
or the coordinator again and repeats the request. After CONCURRENT_TRANSACTIONS, it repeats the
request to the same coordinator. The parameter `attempts` limits the number of attempts. If the last
attempt has no response, the result is None, and the outcome of the request is unknown.

Source: the Java client's NetworkClient and ConsumerCoordinator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.controller import DescribedMetadata, Metadata, MetadataImage
from reference_impl.protocol.messages import NO_BROKER, RETRIABLE, ErrorCode, NodeId
from reference_impl.protocol.requests import Request, Response
from reference_impl.protocol.transactions import FindCoordinator, FoundCoordinator
from reference_impl.simulation.programs import CALL_MS, Application, Call, Pause, Steps

BACKOFF_MS: Final = 20


def error_of(answer: Response | None) -> ErrorCode:
    """Returns the error code of a response, or NETWORK_EXCEPTION if there is no response."""
    return ErrorCode.NETWORK_EXCEPTION if answer is None else getattr(answer, "error")  # noqa: B009


@dataclass(slots=True, kw_only=True)
class BrokerClient:
    app: Application
    image: MetadataImage = field(default_factory=MetadataImage)
    coordinators: dict[tuple[str, bool], NodeId] = field(
        default_factory=dict[tuple[str, bool], NodeId]
    )
    _requests: int = 0

    def call_leader(
        self,
        topic_partition: TopicPartition,
        request: Request,
        *,
        attempts: int | None = None,
        timeout_ms: int = CALL_MS,
    ) -> Steps[Response | None]:
        while attempts is None or attempts > 0:
            leader = self._leader(topic_partition)
            if leader is None:
                yield from self._refresh_metadata()
                continue
            answer = yield Call(leader, request, timeout_ms)
            if error_of(answer) not in RETRIABLE:
                return answer
            attempts = None if attempts is None else attempts - 1
            if attempts == 0:
                return answer
            yield from self.refresh_leader()
        return None

    def call_coordinator(
        self,
        key: str,
        request: Request,
        *,
        is_transactional: bool = False,
        attempts: int | None = None,
        timeout_ms: int = CALL_MS,
    ) -> Steps[Response | None]:
        """Sends a request to the coordinator of a group or of a transactional id, with retries.

        Returns the response of the last attempt, or None if this attempt had no response. `key` is
        the group id or the transactional id.
        """
        while attempts is None or attempts > 0:
            to = self.coordinators.get((key, is_transactional))
            if to is None:
                yield from self.find_coordinator(key, is_transactional=is_transactional)
                continue
            answer = yield Call(to, request, timeout_ms)
            if error_of(answer) not in RETRIABLE:
                return answer
            if error_of(answer) is not ErrorCode.CONCURRENT_TRANSACTIONS:
                del self.coordinators[key, is_transactional]
            attempts = None if attempts is None else attempts - 1
            if attempts == 0:
                return answer
            yield Pause(BACKOFF_MS)
        return None

    def topic_partitions(self, topic: str) -> Steps[tuple[TopicPartition, ...]]:
        while True:
            known = (place for place, _ in self.image.topic_partitions if place.topic == topic)
            if found := tuple(sorted(known)):
                return found
            yield from self._refresh_metadata()

    def refresh_leader(self) -> Steps[None]:
        """Waits for `BACKOFF_MS`, and then requests the metadata, which name the leaders."""
        yield Pause(BACKOFF_MS)
        yield from self._refresh_metadata()

    def any_broker(self) -> NodeId:
        """Returns the next broker in a round-robin order, for a request that every broker can
        handle.
        """
        self._requests += 1
        return NodeId(self.app.brokers[self._requests % len(self.app.brokers)])

    def _leader(self, topic_partition: TopicPartition) -> NodeId | None:
        state = dict(self.image.topic_partitions).get(topic_partition)
        leader = NO_BROKER if state is None else state.leader
        return None if leader == NO_BROKER else NodeId(leader)

    def _refresh_metadata(self) -> Steps[None]:
        answer = yield Call(self.any_broker(), Metadata())
        if isinstance(answer, DescribedMetadata) and answer.image.version >= self.image.version:
            self.image = answer.image
        yield Pause(BACKOFF_MS)

    def find_coordinator(self, key: str, *, is_transactional: bool) -> Steps[None]:
        """Sends one FindCoordinator request, and stores the coordinator in `coordinators` if the
        request succeeds.

        The first FindCoordinator request makes the brokers create the internal topic of the
        coordinators.
        """
        request = FindCoordinator(key=key, is_transactional=is_transactional)
        answer = yield Call(self.any_broker(), request)
        if isinstance(answer, FoundCoordinator) and answer.error is ErrorCode.NONE:
            self.coordinators[key, is_transactional] = NodeId(BrokerId(answer.broker_id))
        else:
            yield Pause(BACKOFF_MS)
