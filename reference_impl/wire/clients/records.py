"""Writes Produce, Fetch, ListOffsets and DeleteRecords requests, and reads their responses (see
`dialogue`).
"""

from __future__ import annotations

from typing import Any, Final

from model.vocabulary import (
    UNKNOWN_LEADER_EPOCH,
    LeaderEpoch,
    Offset,
    ProducerId,
)
from reference_impl.log.consecutive_batches import whole_batches
from reference_impl.protocol.deletion import DeletedRecords, DeleteRecords
from reference_impl.protocol.messages import (
    AbortedTransaction,
    ErrorCode,
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
    Produce,
    Produced,
)
from reference_impl.wire.clients.dialogue import (
    Names,
    Values,
    error_code,
    one_of,
    optional_name,
)
from reference_impl.wire.clients.frames import Writer
from reference_impl.wire.messages.adapter import span

CONSUMER_ID: Final = -1  # the replica id of a fetch
NO_SESSION, FULL_FETCH = 0, -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1


def produce(request: Produce, writer: Writer, names: Names) -> Values:
    place = request.topic_partition
    data = writer.make("PartitionProduceData", index=place.index, records=request.batches)
    topic = writer.make("TopicProduceData", name=names.sent(place.topic), partition_data=(data,))
    return {
        "transactional_id": optional_name(request.transactional_id, names),
        "acks": request.acks,
        "timeout": span(request.timeout_ms),
        "topic_data": (topic,),
    }


def produced(_request: Produce, body: Any, _names: Names) -> Produced:
    one = one_of(one_of(body.responses).partition_responses)
    return Produced(
        error=error_code(one.error_code),
        base_offset=Offset(one.base_offset),
        log_start_offset=Offset(getattr(one, "log_start_offset", -1)),
    )


def fetch(request: Fetch, writer: Writer, names: Names) -> Values:
    place = request.topic_partition
    wanted = writer.make(
        "FetchPartition",
        partition=place.index,
        current_leader_epoch=request.current_leader_epoch,
        fetch_offset=request.fetch_offset,
        last_fetched_epoch=UNKNOWN_LEADER_EPOCH,
        log_start_offset=-1,
        partition_max_bytes=request.max_bytes,
    )
    topic = writer.make("FetchTopic", topic=names.sent(place.topic), partitions=(wanted,))
    return {
        "replica_id": CONSUMER_ID,
        "max_wait": span(request.max_wait_ms),
        "min_bytes": 1,
        "max_bytes": request.max_bytes,
        "isolation_level": READ_COMMITTED if request.read_committed else READ_UNCOMMITTED,
        "session_id": NO_SESSION,
        "session_epoch": FULL_FETCH,
        "topics": (topic,),
        "forgotten_topics_data": (),
        "rack_id": "",
    }


def fetched(request: Fetch, body: Any, _names: Names) -> Fetched:
    error = error_code(getattr(body, "error_code", 0))
    if error is not ErrorCode.NONE:
        return Fetched(topic_partition=request.topic_partition, error=error)
    one = one_of(one_of(body.responses).partitions)
    return Fetched(
        topic_partition=request.topic_partition,
        error=error_code(one.error_code),
        high_watermark=Offset(one.high_watermark),
        last_stable_offset=Offset(one.last_stable_offset),
        log_start_offset=Offset(getattr(one, "log_start_offset", -1)),
        batches=b"".join(whole_batches(one.records or b"")),  # the limit may cut the last one
        aborted=tuple(
            AbortedTransaction(
                producer_id=ProducerId(each.producer_id), first_offset=Offset(each.first_offset)
            )
            for each in one.aborted_transactions or ()
        ),
    )


def list_offsets(request: ListOffsets, writer: Writer, names: Names) -> Values:
    place = request.topic_partition
    wanted = writer.make(
        "ListOffsetsPartition",
        partition_index=place.index,
        current_leader_epoch=request.current_leader_epoch,
        timestamp=request.timestamp,
    )
    topic = writer.make("ListOffsetsTopic", name=names.sent(place.topic), partitions=(wanted,))
    return {
        "replica_id": CONSUMER_ID,
        "isolation_level": READ_COMMITTED if request.read_committed else READ_UNCOMMITTED,
        "topics": (topic,),
    }


def listed_offsets(_request: ListOffsets, body: Any, _names: Names) -> ListedOffsets:
    one = one_of(one_of(body.topics).partitions)
    return ListedOffsets(
        error=error_code(one.error_code),
        offset=Offset(one.offset),
        timestamp=one.timestamp,
        leader_epoch=LeaderEpoch(getattr(one, "leader_epoch", UNKNOWN_LEADER_EPOCH)),
    )


def delete_records(request: DeleteRecords, writer: Writer, names: Names) -> Values:
    place = request.topic_partition
    wanted = writer.make(
        "DeleteRecordsPartition", partition_index=place.index, offset=request.before
    )
    topic = writer.make("DeleteRecordsTopic", name=names.sent(place.topic), partitions=(wanted,))
    return {"topics": (topic,), "timeout": span(request.timeout_ms)}


def deleted_records(request: DeleteRecords, body: Any, _names: Names) -> DeletedRecords:
    one = one_of(one_of(body.topics).partitions)
    return DeletedRecords(
        topic_partition=request.topic_partition,
        error=error_code(one.error_code),
        low_watermark=Offset(one.low_watermark),
    )
