"""Defines how a client writes each request and reads its response, and which names the wire
carries.

A `Dialogue` has one function that writes a request, and another function that reads the response.

On the wire, each test run adds its own prefix to the names of topics, groups and transactional ids.
So several runs can use one cluster (`Names`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from model.vocabulary import (
    TopicPartition,
)
from reference_impl.protocol.messages import (
    RETRIABLE,
    ErrorCode,
)
from reference_impl.protocol.requests import Response
from reference_impl.wire.clients.frames import Range, Writer
from reference_impl.wire.messages.apis import Api

# Errors of Kafka that the reference broker has not, and the error that a client treats alike.
ALIKE: Final = {
    56: ErrorCode.NOT_LEADER_OR_FOLLOWER,  # KAFKA_STORAGE_ERROR
    72: ErrorCode.LEADER_NOT_AVAILABLE,  # LISTENER_NOT_FOUND
    100: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # UNKNOWN_TOPIC_ID
    103: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # INCONSISTENT_TOPIC_ID
}


class UnknownError(ValueError):
    """Raised for an error code that no client of the simulation handles."""


def error_code(number: int) -> ErrorCode:
    """Returns the error with the code `number`. A code in the table `ALIKE` is replaced by an
    error that clients handle in the same way. Raises UnknownError for any other code that is not
    an `ErrorCode`.
    """
    if number in ALIKE:
        return ALIKE[number]
    try:
        return ErrorCode(number)
    except ValueError:
        raise UnknownError(f"error code {number} is not one of {len(ErrorCode)} known ones") from (
            None
        )


@dataclass(slots=True)
class Names:
    """The names that one test run uses, and their prefix on the wire.

    `ids` contains the topic ids from Metadata responses. If `partitions` has a number for a topic,
    the run uses only this number of partitions. A broker that creates the topic by itself may give
    it more partitions than the run needs.
    """

    prefix: str = ""
    topics: set[str] = field(default_factory=set[str])  # named in Metadata requests
    ids: dict[str, UUID] = field(default_factory=dict[str, UUID])
    settings: dict[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    partitions: dict[str, int] = field(default_factory=dict[str, int])
    auto_creates: bool = False  # Metadata requests create topics: the brokers have no CreateTopics

    def sent(self, name: str) -> str:
        """Returns the name on the wire: the prefix, and then `name`. The name of an internal
        topic begins with `__`, and gets no prefix.
        """
        return name if name.startswith("__") else self.prefix + name

    def received(self, name: str) -> str:
        return name.removeprefix(self.prefix)

    def topic_of(self, topic_id: UUID | None) -> str:
        """Returns the name of a topic, or an empty string if no Metadata response contained the
        id.
        """
        return next((name for name, known in self.ids.items() if known == topic_id), "")


Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """How a client exchanges one type of request: the API, its supported versions, the function
    that writes the request, and the function that reads the response.
    """

    api: Api
    versions: Range
    writes: Callable[[Any, Writer, Names], Values]
    reads: Callable[[Any, Any, Names], Response]


def one_of(rows: tuple[Any, ...]) -> Any:
    (row,) = rows
    return row


def optional_name(name: str | None, names: Names) -> str | None:
    return None if name is None else names.sent(name)


def by_topic(places: Iterable[TopicPartition]) -> list[tuple[str, tuple[int, ...]]]:
    by_topic: dict[str, list[int]] = {}
    for place in places:
        by_topic.setdefault(place.topic, []).append(place.index)
    return [(topic, tuple(indexes)) for topic, indexes in by_topic.items()]


def worst_of(errors: Iterable[int]) -> ErrorCode:
    """Returns one error for a response that contains several: an error that forbids a retry, or
    else any other error, or else NONE.
    """
    # A response of the simulation has one error, which applies to all its topic partitions.
    found = [error for error in map(error_code, errors) if error is not ErrorCode.NONE]
    fatal = [error for error in found if error not in RETRIABLE]
    return next(iter((*fatal, *found)), ErrorCode.NONE)
