"""Handles Produce requests.

If a request contains a topic partition twice, only the batch of the second entry is appended. With
acks=0, an error closes the connection, so that the client refreshes its metadata.

Source: KafkaApis.handleProduceRequest, ReplicaManager.handleProduceAppend; KIP-110, KIP-467,
KIP-951.
Simplified: Error responses have a code but no error message. With acks=0, an error that comes after
the verification of a transaction does not close the connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from model.vocabulary import TopicPartition
from reference_impl.log.consecutive_batches import first_header
from reference_impl.log.record_batch import Header
from reference_impl.protocol.messages import ACKS_NONE, NO_TIMESTAMP, ErrorCode, Produce, Produced
from reference_impl.protocol.requests import Response
from reference_impl.wire.messages.adapter import Call, milliseconds
from reference_impl.wire.requests.broker.served_broker import (
    UNKNOWN_TOPIC_ID,
    ServedBroker,
    existing_partitions,
    named_topics,
    naming,
)
from reference_impl.wire.requests.records.large_batches import is_read_before, scanned_before
from reference_impl.wire.requests.records.leader_hints import LeaderHints

NOT_LEADER: Final = ErrorCode.NOT_LEADER_OR_FOLLOWER
UNKNOWN: Final = Produced(error=UNKNOWN_TOPIC_ID)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
KNOWS_ZSTD: Final = 7  # KIP-110
RECORD_ERRORS_SINCE: Final = 8  # KIP-467
HINTS_SINCE: Final = 10  # KIP-951: NOT_LEADER_OR_FOLLOWER comes with the leader
KNOWS_ABORTABLE: Final = 11  # KIP-890: the client knows the error TRANSACTION_ABORTABLE
PRODUCE_V2: Final = 12  # KIP-890: the request itself adds the topic partition to the transaction


@dataclass(frozen=True, slots=True)
class PartitionProduce:
    """One topic partition of a request, and the broker's response for it."""

    topic_partition: TopicPartition
    request: Produce
    produced: Produced | None  # None: appended with acks=0, which has no response

    @property
    def is_applied(self) -> bool:
        """True if the broker acknowledged that the batch is in the log. It is False with acks=0,
        because there is no acknowledgement.
        """
        return self.produced is not None and self.produced.error is ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class ProduceResult:
    """The response frame of a Produce request (None with acks=0), and the broker's response for
    each topic partition.

    `fails` is True if an error must close the connection.
    """

    frame: bytes | None
    appended: tuple[PartitionProduce, ...]
    fails: bool = False


async def produce(broker: ServedBroker, call: Call) -> ProduceResult:
    """Handles a Produce request. Returns when every batch has been either rejected, or acknowledged
    as `acks` requires.
    """
    body = call.body
    topics = await named_topics(broker, body.topic_data)
    parts = [
        (name, wanted, first_header(wanted.records or b""))
        for topic, name in topics
        for wanted in topic.partition_data
    ]
    refused = _refusal(call, (head for _, _, head in parts))
    requests: dict[TopicPartition, Produce] = {}
    heads: dict[TopicPartition, Header | None] = {}
    for name, wanted, head in parts if refused is None else ():
        if name is not None:
            place = TopicPartition(name, wanted.index)
            requests[place], heads[place] = _request(call, place, wanted), head
    for place, request in requests.items():
        head = heads[place]
        if head is not None and is_read_before(head):
            facts = await scanned_before(broker, request.batches, head)
            requests[place] = replace(request, scanned=facts)
    # Kafka: ProduceRequest.validateRecords; KIP-110.
    unsupported = {} if call.version >= KNOWS_ZSTD else await _unsupported(broker, heads)
    for place in unsupported:
        del requests[place]
    is_unknown = any(name is None for _, name in topics)
    if body.acks == ACKS_NONE:
        appended = tuple(
            PartitionProduce(place, request, broker.send(request))
            for place, request in requests.items()
        )
        rejected = any(one.produced is not None for one in appended)
        fails = rejected or is_unknown or bool(unsupported) or refused is not None
        return ProduceResult(None, appended, fails=fails)
    answers = [_as_produced(answer) for answer in await broker.call_all([*requests.values()])]
    produced = dict(zip(requests, answers, strict=True)) | unsupported
    appended = tuple(
        PartitionProduce(place, request, produced[place]) for place, request in requests.items()
    )
    is_hinted = call.version >= HINTS_SINCE
    moved = [place for place, one in produced.items() if is_hinted and one.error is NOT_LEADER]
    hints = await LeaderHints.of(broker, call, moved) if moved else LeaderHints(call, {}, {})
    otherwise = UNKNOWN if refused is None else Produced(error=refused)
    by_topic: dict[Any, tuple[dict[str, Any], dict[int, Any]]] = {}
    for topic, name in topics:
        named = naming(topic)
        _, of_topic = by_topic.setdefault(tuple(named.values()), (named, {}))
        for wanted in topic.partition_data:
            place = TopicPartition(name or "", wanted.index)
            answer = produced.get(place, otherwise)
            of_topic[wanted.index] = _produced(call, wanted.index, answer, hints.beside(place))
    responses = tuple(
        call.make(
            "TopicProduceResponse",
            **named,
            partition_responses=tuple(of_topic.values()),
        )
        for named, of_topic in by_topic.values()
    )
    return ProduceResult(call.respond(responses=responses, **hints.endpoints()), appended)


def _refusal(call: Call, heads: Iterable[Header | None]) -> ErrorCode | None:
    if call.body.transactional_id is not None:
        return None
    for head in heads:
        if head is not None and head.is_transactional:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return None  # the leader rejects malformed batches


async def _unsupported(
    broker: ServedBroker, heads: Mapping[TopicPartition, Header | None]
) -> dict[TopicPartition, Produced]:
    with_zstd = {place for place, head in heads.items() if head is not None and _is_zstd(head)}
    existing = await existing_partitions(broker) if with_zstd else frozenset[TopicPartition]()
    refused = Produced(error=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    return dict.fromkeys(sorted(with_zstd & existing), refused)


def _as_produced(response: Response) -> Produced:
    assert isinstance(response, Produced), f"a produce request was answered with {response}"
    return response


def _is_zstd(head: Header) -> bool:
    return head.has_known_compression and head.compression == "zstd"


def _request(call: Call, topic_partition: TopicPartition, wanted: Any) -> Produce:
    return Produce(
        topic_partition=topic_partition,
        batches=wanted.records or b"",
        acks=call.body.acks,
        timeout_ms=milliseconds(call.body.timeout),
        transactional_id=call.body.transactional_id,
        adds_partition=call.version >= PRODUCE_V2,
        knows_abortable=call.version >= KNOWS_ABORTABLE,
    )


def _produced(call: Call, index: int, answer: Produced, hint: Mapping[str, Any]) -> Any:
    at_ms = answer.append_time_ms
    return call.make(
        "PartitionProduceResponse",
        index=index,
        error_code=answer.error,
        base_offset=answer.base_offset,
        log_append_time=None if at_ms == NO_TIMESTAMP else _EPOCH + timedelta(milliseconds=at_ms),
        log_start_offset=answer.log_start_offset,
        record_errors=_record_errors(call, answer) if answer.record_errors else (),
        **hint,
    )


def _record_errors(call: Call, answer: Produced) -> tuple[Any, ...]:
    if call.version < RECORD_ERRORS_SINCE:
        return ()
    return tuple(
        call.make("BatchIndexAndErrorMessage", batch_index=at, batch_index_error_message=None)
        for at in answer.record_errors
    )
