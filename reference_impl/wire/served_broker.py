"""What answers of the wire are made from: one broker, asked in the messages of its core.

A request of the wire that carries many topic partitions is asked one by one and its answers are
joined; that, the version's names and the long poll are all that happens here. What is right is
decided by the core.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol, TypeVar

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.controller import DescribedMetadata, Metadata, MetadataImage
from reference_impl.protocol.requests import Request, Response
from reference_impl.wire.adapter import topic_id

R = TypeVar("R")

# Errors that only the wire knows: what they refuse never reaches the core.
UNKNOWN_TOPIC_ID = 100
FETCH_SESSION_ID_NOT_FOUND = 70
INVALID_REPLICA_ASSIGNMENT = 39
INVALID_CONFIG = 40


class ServedBroker(Protocol):
    """One running broker, as its connections see it; ConnectionError once it is down."""

    @property
    def broker_id(self) -> BrokerId: ...

    @property
    def addresses(self) -> Mapping[BrokerId, tuple[str, int]]: ...

    async def ask(self, request: Request) -> Response:
        """The answer of the core, whenever it comes."""
        ...

    def tell(self, request: Request) -> None:
        """A request that no answer is owed to."""
        ...

    async def readable(self, topic_partitions: Collection[TopicPartition], timeout_ms: int) -> None:
        """Returns once one of them may have more to read, or the time is over."""
        ...


async def request_core(broker: ServedBroker, request: Request, answer: type[R]) -> R:
    """The answer, which is of the class that the request calls for."""
    response = await broker.ask(request)
    assert isinstance(response, answer), f"{request} was answered with {response}"
    return response


async def image(broker: ServedBroker) -> MetadataImage:
    """The metadata that the broker has applied."""
    return (await request_core(broker, Metadata(), DescribedMetadata)).image


async def named_topics(broker: ServedBroker, topics: Any) -> list[tuple[Any, str | None]]:
    """Topics of a request with their names; None where a topic id is not known here."""
    topics = list(topics)
    if not any(hasattr(topic, "topic_id") for topic in topics):
        return [(topic, topic.name if hasattr(topic, "name") else topic.topic) for topic in topics]
    known = {
        topic_id(topic_partition.topic): topic_partition.topic
        for topic_partition, _ in (await image(broker)).topic_partitions
    }
    return [(topic, known.get(topic.topic_id)) for topic in topics]


def naming(topic: Any) -> dict[str, Any]:
    """How a response names the topic: as its request did."""
    names = ("topic_id", "name", "topic")
    return {name: getattr(topic, name) for name in names if hasattr(topic, name)}
