"""The writer and the reader of each request and response, and the names that a trial uses.

Several trials share a cluster, so each trial puts its own prefix before the names of its topics,
groups and transactional ids. The prefix exists only on the wire (`Names`).
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
from reference_impl.wire.apis import Api
from reference_impl.wire.clients.frames import Range, Writer

# Errors of Kafka that the reference broker has not, and the error that a client treats alike.
ALIKE: Final = {
    56: ErrorCode.NOT_LEADER_OR_FOLLOWER,  # KAFKA_STORAGE_ERROR
    72: ErrorCode.LEADER_NOT_AVAILABLE,  # LISTENER_NOT_FOUND
    100: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # UNKNOWN_TOPIC_ID
    103: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # INCONSISTENT_TOPIC_ID
}


class UnknownError(ValueError):
    """The error for an error code that no client of the simulation handles."""


def error_code(number: int) -> ErrorCode:
    """Returns the error that has the error code `number` on the wire.

    The simulation lacks some errors of Kafka. A few of these are replaced by an error that a client
    handles in the same way. Raises UnknownError for all others.
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
    """The names of one trial on the wire, and the topic ids that its clients have learnt.

    The field `settings` has additional Kafka settings with which a topic is created. The field
    `partitions` limits the number of partitions of a topic that clients see. This is needed for
    brokers without CreateTopics: they create a topic by themselves, with a number of partitions of
    their own.
    """

    prefix: str = ""
    topics: set[str] = field(default_factory=set[str])  # that Metadata requests ask for
    ids: dict[str, UUID] = field(default_factory=dict[str, UUID])
    settings: dict[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    partitions: dict[str, int] = field(default_factory=dict[str, int])
    auto_creates: bool = False  # Metadata requests create topics: the brokers have no CreateTopics

    def sent(self, name: str) -> str:
        """Returns the name with the trial's prefix, as it is on the wire.

        Internal topics have no prefix.
        """
        return name if name.startswith("__") else self.prefix + name

    def received(self, name: str) -> str:
        return name.removeprefix(self.prefix)

    def topic_of(self, topic_id: UUID | None) -> str:
        """Returns the topic with this id; an empty name if no Metadata response had it."""
        return next((name for name, known in self.ids.items() if known == topic_id), "")


Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A kind of request: the function that writes it, and the one that reads its response."""

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
    """Returns the most serious of the errors, or NONE.

    An error that forbids a retry is more serious than one that allows it. In the simulation a
    response has only one error, which applies to all its topic partitions.
    """
    found = [error for error in map(error_code, errors) if error is not ErrorCode.NONE]
    fatal = [error for error in found if error not in RETRIABLE]
    return next(iter((*fatal, *found)), ErrorCode.NONE)
