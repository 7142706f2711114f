"""The interface through which request handlers call one running broker.

A Produce or Fetch request of this interface is about one topic partition. The handler splits the
client's request and joins the responses, selects the fields of the version, and waits for long
polls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.controller import DescribedMetadata, Metadata, MetadataImage
from reference_impl.protocol.messages import ErrorCode, Produce, Produced
from reference_impl.protocol.requests import Request, Response
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.requests.broker.fetch_sessions import FetchSessions
from reference_impl.wire.requests.broker.topic_ids import TopicIds, ids_of
from reference_impl.wire.security.credentials import Changes, Credentials

R = TypeVar("R")

# Errors of the wire layer alone: the core never sees such requests.
UNKNOWN_TOPIC_ID = ErrorCode.UNKNOWN_TOPIC_ID


class ServedBroker(Protocol):
    """A running broker, as request handlers use it. Its calls raise ConnectionError if the
    broker is down.
    """

    @property
    def broker_id(self) -> BrokerId: ...

    @property
    def addresses(self) -> Mapping[BrokerId, Address]: ...

    @property
    def auto_creates_topics(self) -> bool:
        """True if a Metadata request may create topics.

        Kafka: auto.create.topics.enable.
        """
        ...

    @property
    def default_partitions(self) -> int:
        """The number of partitions of a new topic, if the client does not choose the number.

        Kafka: num.partitions.
        """
        ...

    @property
    def credentials(self) -> Credentials: ...

    async def change_credentials(self, changes: Changes) -> None:
        """Changes SCRAM credentials at all brokers of the cluster."""
        ...

    @property
    def fetch_sessions(self) -> FetchSessions: ...

    def replica(self, topic_partition: TopicPartition) -> object:
        """Returns the broker's replica of a topic partition, or None if there is none. A replica is
        immutable: a change replaces the object. While the object stays, the same fetch has the same
        response.
        """
        ...

    async def call(self, request: Request) -> Response:
        """Sends a request to the broker, waits for the response, and returns it. The wait may be
        long.
        """
        ...

    async def call_all(self, requests: Sequence[Request]) -> list[Response]:
        """Sends all requests to the broker, and returns the responses in the order of the
        requests.
        """
        ...

    def send(self, request: Produce) -> Produced | None:
        """Sends a produce request with acks=0. If the broker rejects the request, returns the
        response with the error, and the server closes the connection. Otherwise returns None.
        """
        ...

    async def readable(
        self,
        topic_partitions: Collection[TopicPartition],
        timeout_ms: int,
        is_unchanged: Callable[[], bool],
    ) -> None:
        """Waits until a topic partition may have more to read, or until the timeout has passed.

        Returns at once if `is_unchanged` returns False when the wait begins.
        """
        ...

    async def apart(self, work: Callable[[], R]) -> R:
        """Runs a function in the thread for large requests, and returns its result. The function
        must not use the broker's state.
        """
        ...


async def request_core(broker: ServedBroker, request: Request, answer: type[R]) -> R:
    """Sends a request to the broker, and returns the response, which must be an instance of
    `answer`.
    """
    response = await broker.call(request)
    assert isinstance(response, answer), f"{request} was answered with {response}"
    return response


async def image(broker: ServedBroker) -> MetadataImage:
    return (await request_core(broker, Metadata(), DescribedMetadata)).image


async def existing_partitions(broker: ServedBroker) -> frozenset[TopicPartition]:
    return frozenset(place for place, _ in (await image(broker)).topic_partitions)


async def topic_ids(broker: ServedBroker) -> TopicIds:
    """Returns the topic ids in the metadata that the broker has applied."""
    return ids_of(await image(broker))


async def named_topics(broker: ServedBroker, topics: Any) -> list[tuple[Any, str | None]]:
    """Returns each topic of a request with its name. The name is None if the topic id is
    unknown.
    """
    if not topics or not hasattr(topics[0], "topic_id"):  # all are of one version
        return [(topic, topic.name if hasattr(topic, "name") else topic.topic) for topic in topics]
    ids = await topic_ids(broker)
    return [(topic, ids.name_of(topic.topic_id)) for topic in topics]


def naming(topic: Any) -> dict[str, Any]:
    """Returns the fields that identify a topic in a response. They are the same as in the
    request.
    """
    names = ("topic_id", "name", "topic")
    return {name: getattr(topic, name) for name in names if hasattr(topic, name)}
