"""The log of a coordinator: a partition of an internal topic, whose records store the coordinator's
state.

A coordinator appends through the leader of its partition, like a producer with acks=all. A change
takes effect when its append is acknowledged. A new coordinator rebuilds the state from the log. The
module `coordinator_records` has the formats of the records.

Source: KIP-98; docs/kafka-rules.md D6, E3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from model.vocabulary import NO_PRODUCER_ID, Offset, ProducerEpoch, ProducerId, TopicPartition
from reference_impl.log import transaction_marker
from reference_impl.log.coordinator_records import Entry, decoded, encoded
from reference_impl.log.partition_log import FIRST_OFFSET, PartitionLog
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, encode
from reference_impl.log.transaction_marker import Marker
from reference_impl.node.context import Context
from reference_impl.node.step import Send
from reference_impl.protocol.messages import NO_PRODUCER_EPOCH, ErrorCode, NodeId, Produce


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedBatch:
    offset: int
    timestamp_ms: int
    producer_id: ProducerId
    is_transactional: bool
    entries: tuple[Entry, ...] = ()
    marker: Marker | None = None


def append(
    context: Context,
    topic_partition: TopicPartition,
    entries: Iterable[Entry],
    *,
    transactional_id: str | None = None,
    producer_id: ProducerId = NO_PRODUCER_ID,
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH,
    adds_partition: bool = False,
    knows_abortable: bool = False,
) -> Send:
    """Returns a Produce request that appends `entries` to the coordinator's log. The coordinator
    sends the request to its own broker, which leads the partition.
    """
    records: list[Record] = []
    for entry in entries:
        key, value = encoded(entry, context.coordinators.topic_id)
        records.append(Record(key=key, value=value, timestamp_ms=context.now_ms))
    data = encode(
        records,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=transactional_id is not None,
    )
    request = Produce(
        topic_partition=topic_partition,
        batches=data,
        timeout_ms=context.broker_settings.request_timeout_ms,
        transactional_id=transactional_id,
        by_coordinator=True,
        adds_partition=adds_partition,
        knows_abortable=knows_abortable,
    )
    return Send(NodeId(context.broker_id), context.correlation, request)


def read_batches(
    log: PartitionLog, start: Offset = FIRST_OFFSET, end: Offset | None = None
) -> Iterator[LoggedBatch]:
    """Yields the record batches from the offset `start` up to `end`, which is the log end by
    default. Records of unknown types are left out.

    Only whole batches below `end` are read. Raises ValueError if a record is malformed.
    """
    for batch in log.batches(start):
        head = batch.header
        if end is not None and head.next_offset > end:
            return
        if head.is_control:
            yield LoggedBatch(
                offset=head.base_offset,
                timestamp_ms=head.max_timestamp_ms,
                producer_id=head.producer_id,
                is_transactional=True,
                marker=transaction_marker.read(batch.data),
            )
            continue
        read = (decoded(record.key or b"", record.value) for _, record in decode(batch.data))
        yield LoggedBatch(
            offset=head.base_offset,
            timestamp_ms=head.max_timestamp_ms,
            producer_id=head.producer_id,
            is_transactional=head.is_transactional,
            entries=tuple(entry for entry in read if entry is not None),
        )


# The client's error if its coordinator's append fails with this error; other errors do not change.
CLIENT_ERRORS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
}
