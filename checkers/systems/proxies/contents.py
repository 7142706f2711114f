"""Reads the contents of a request: the topic partitions and the producers that its body names.

The body of a request has a list of topics, and each topic has a list of partitions. Each line below
shows one notation of these lists, and the requests that use it:

    topics [{name: "orders", partitions: [{partition_index: 0}]}]       most requests
    topics [{name: "orders", partition_indexes: [0]}]                   WriteTxnMarkers
    topics [{topic_id: 4ac2..., partitions: [{partition: 0}]}]          Fetch from version 13 on

From Produce 13, Fetch 13 and OffsetCommit 10 on, a topic has an id and no name.

An incremental Fetch request names those partitions of its fetch session that changed. The other
partitions of the session are known from earlier requests on the same connection. They are not known
if the session began on another connection.

Source: Kafka documentation, "Protocol Guide"; KIP-227 for fetch sessions; KIP-516 for topic ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from checkers.systems.proxies.frames import Header
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.record_batch import CorruptBatch, header
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.named_partitions import Place, entities, first_of, places_of
from reference_impl.wire.messages.plain_messages import UnreadableRequest, read_request

TRANSACTIONAL: Final = (
    "transactional_id",
    "v3_and_below_transactional_id",  # AddPartitionsToTxn of clients
    "transactional_ids",
)
PRODUCER: Final = ("producer_id", "v3_and_below_producer_id")
NO_PRODUCER: Final = -1
FULL_FETCH: Final = (-1, 0)  # the epochs of a Fetch that names all partitions
FIRST_INCREMENTAL: Final = 7  # the version of Fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The partitions and the producers that a request names. `places` has the partitions, each with
    the name or the id of its topic.
    """

    places: frozenset[Place] = frozenset()
    producer_ids: frozenset[int] = frozenset()
    transactional_ids: frozenset[str] = frozenset()
    is_complete: bool = True  # False if the request may concern more partitions


def contents_of(header: Header, frame: bytes) -> Contents | None:
    """Returns the contents of a request frame. Returns None if the frame cannot be parsed."""
    try:
        body = read_request(header.api_key, header.api_version, frame)
        return _contents(header, body)
    except (UnreadableRequest, CorruptBatch):
        return None


def _contents(request: Header, body: Any) -> Contents:
    places: set[Place] = set()
    producers: set[int | None] = set()
    names: set[str] = set()
    for entity in entities(body):
        places.update(places_of(entity))
        producers.add(first_of(entity, PRODUCER))
        names.update(_transactional_ids(entity))
        if request.api_key == Api.PRODUCE:
            producers.update(_producers(getattr(entity, "records", None)))
    if getattr(body, "key_type", None) == 1:  # FindCoordinator of a transactional id
        names.update(getattr(body, "coordinator_keys", None) or (body.key,))
    is_fetch = request.api_key == Api.FETCH and request.api_version >= FIRST_INCREMENTAL
    return Contents(
        places=frozenset(places),
        producer_ids=frozenset(one for one in producers if one not in (None, NO_PRODUCER)),
        transactional_ids=frozenset(names),
        is_complete=not is_fetch or body.session_epoch in FULL_FETCH,
    )


def _transactional_ids(entity: Any) -> Iterator[str]:
    named = first_of(entity, TRANSACTIONAL)
    if isinstance(named, str):
        yield named
    elif isinstance(named, tuple):
        yield from named


def _producers(records: bytes | None) -> Iterator[int]:
    for batch in batches(records or b""):
        yield header(batch).producer_id


@dataclass(slots=True)
class FetchSession:
    """The partitions in a fetch session, as far as the requests of one connection name them."""

    _places: frozenset[Place] = field(default_factory=frozenset[Place])
    _is_known: bool = False  # until a full Fetch, if the session began on another connection

    def of_request(self, header: Header, frame: bytes) -> Contents | None:
        """Returns the contents of a Fetch request. Its partitions are all known partitions of the
        fetch session. Returns None if the frame cannot be parsed.
        """
        try:
            body = read_request(header.api_key, header.api_version, frame)
        except UnreadableRequest:
            self._is_known = False
            return None
        named = _contents(header, body)
        if named.is_complete:
            self._places, self._is_known = named.places, True
            return named
        self._places = (self._places | named.places) - _forgotten(body)
        return replace(named, places=self._places, is_complete=self._is_known)


def _forgotten(body: Any) -> frozenset[Place]:
    return frozenset(place for each in body.forgotten_topics_data for place in places_of(each))
