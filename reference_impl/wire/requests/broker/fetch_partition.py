"""A partition of a fetch, and functions that read the partitions of a fetch request.

Source: KIP-227; FetchSession (its class CachedPartition).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from uuid import UUID

from model.vocabulary import LeaderEpoch, Offset, TopicPartition
from reference_impl.protocol.messages import Fetch, Fetched
from reference_impl.wire.requests.broker.topic_ids import TopicIds

NO_OFFSET: Final = -1

Key: TypeAlias = tuple[str | UUID, int]


@dataclass(slots=True)
class FetchPartition:
    """A partition of a fetch: the part of the client's request about it, and the offsets in the
    broker's previous response.
    """

    topic_id: UUID | None  # None: the version of the request has names
    name: str | None  # None: no topic has the id
    wanted: Any  # the part of the request
    is_inconsistent: bool = False  # another topic has the name now
    high_watermark: int = NO_OFFSET  # of the previous response
    log_start: int = NO_OFFSET
    # The response of a read without records, and the replica that was read. A replica has a whole
    # log, so a session that no one uses must not keep it in memory.
    unchanged: Fetched | None = None
    _replica: weakref.ref[object] | None = None
    _request: Fetch | None = None
    _place: TopicPartition | None = None

    @property
    def index(self) -> int:
        index: int = self.wanted.partition
        return index

    @property
    def place(self) -> TopicPartition:
        if self._place is None:
            self._place = TopicPartition(self.name or "", self.index)
        return self._place

    def resolve(self, ids: TopicIds) -> None:
        """Looks up the topic's name by its id, if the name is not known yet. Sets `is_inconsistent`
        if another topic with another id has the name now.

        Kafka: FetchSession.CachedPartition.maybeResolveUnknownName.
        """
        if self.name is None:
            self.name, self._place = ids.name_of(self.topic_id), None
        now = None if self.name is None else ids.by_name.get(self.name)
        self.is_inconsistent = now is not None and now != self.topic_id

    def want(self, wanted: Any) -> None:
        self.wanted = wanted
        self._request = self.unchanged = None

    def request(self, *, read_committed: bool, any_replica: bool) -> Fetch:
        known = self._request
        if known is None or (known.read_committed, known.any_replica) != (
            read_committed,
            any_replica,
        ):
            self.unchanged = None
            wanted = self.wanted
            known = self._request = Fetch(
                topic_partition=self.place,
                fetch_offset=Offset(wanted.fetch_offset),
                current_leader_epoch=LeaderEpoch(getattr(wanted, "current_leader_epoch", -1)),
                last_fetched_epoch=LeaderEpoch(getattr(wanted, "last_fetched_epoch", -1)),
                max_bytes=wanted.partition_max_bytes,
                read_committed=read_committed,
                any_replica=any_replica,
                cuts_last=True,
            )
        return known

    def keep(self, request: Fetch, answer: Fetched | None, replica: object) -> None:
        """Stores `answer`, which is a response without records, and the replica that was read. If
        `answer` is None, removes the stored response.

        Does nothing if a newer request of the client has replaced `request`.
        """
        if request is self._request:
            self.unchanged = answer
            self._replica = None if answer is None else weakref.ref(replica)

    def answer_of(self, replica: object) -> Fetched | None:
        """Returns the stored response if `replica` is the object that this response was read from.
        Otherwise returns None.

        A replica is immutable: after a change, the replica is another object.
        """
        known = None if self._replica is None else self._replica()
        return self.unchanged if known is not None and known is replica else None

    def must_respond(self, answer: Fetched) -> bool:
        """Returns True if an incremental response must contain this partition. This is so if
        `answer` has records, an error, a diverging epoch, or other offsets than the previous
        response.

        The offsets of `answer` are stored for the next comparison.

        Kafka: FetchSession.CachedPartition.maybeUpdateResponseData.
        """
        is_news = (
            bool(answer.batches or answer.error)
            or answer.diverging_epoch is not None
            or (answer.high_watermark, answer.log_start_offset)
            != (self.high_watermark, self.log_start)
        )
        self.remember(answer)
        return is_news

    def remember(self, answer: Fetched) -> None:
        # After an error, the next answer without an error always counts as changed.
        self.high_watermark = NO_OFFSET if answer.error else answer.high_watermark
        self.log_start = answer.log_start_offset


def named(topics: Iterable[Any], ids: TopicIds | None) -> dict[Key, FetchPartition]:
    """Returns the partitions that a request names. If the request names a partition twice, its
    second entry counts.

    `ids` is None if the request contains topic names instead of topic ids.
    """
    found: dict[Key, FetchPartition] = {}
    for topic in topics:
        topic_id = _topic_id(topic) if ids is not None else None
        name = topic.topic if ids is None else ids.name_of(topic_id)
        for wanted in topic.partitions:
            partition = FetchPartition(topic_id, name, wanted)
            found[key_of(partition)] = partition
    return found


def _topic_id(topic: Any) -> UUID:
    return topic.topic_id or UUID(int=0)  # kio has None for zero


def keys_of(topics: Iterable[Any]) -> list[Key]:
    return [
        (
            _topic_id(topic) if hasattr(topic, "topic_id") else topic.topic,
            getattr(one, "partition", one),
        )
        for topic in topics
        for one in topic.partitions
    ]


def forgotten(body: Any) -> list[Key]:
    return keys_of(body.forgotten_topics_data)


def key_of(partition: FetchPartition) -> Key:
    """Returns (topic id, index), or (topic name, index) if the partition has no topic id."""
    topic = partition.name if partition.topic_id is None else partition.topic_id
    assert topic is not None, "a partition has the name or the id of its topic"
    return topic, partition.wanted.partition
