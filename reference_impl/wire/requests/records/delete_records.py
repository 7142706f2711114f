"""Handles DeleteRecords requests.

Source: KIP-107.
"""

from __future__ import annotations

import asyncio
from typing import Any

from model.vocabulary import Offset, TopicPartition
from reference_impl.protocol.deletion import DeletedRecords, DeleteRecords
from reference_impl.wire.messages.adapter import Call, milliseconds
from reference_impl.wire.requests.broker.served_broker import ServedBroker, request_core


async def delete_records(broker: ServedBroker, call: Call) -> bytes:
    timeout_ms = milliseconds(call.body.timeout)

    async def deleted(topic: str, wanted: Any) -> Any:
        request = DeleteRecords(
            topic_partition=TopicPartition(topic, wanted.partition_index),
            before=Offset(wanted.offset),
            timeout_ms=timeout_ms,
        )
        answer = await request_core(broker, request, DeletedRecords)
        return call.make(
            "DeleteRecordsPartitionResult",
            partition_index=wanted.partition_index,
            low_watermark=answer.low_watermark,
            error_code=answer.error,
        )

    topics = [
        call.make(
            "DeleteRecordsTopicResult",
            name=topic.name,
            partitions=tuple(
                await asyncio.gather(*(deleted(topic.name, wanted) for wanted in topic.partitions))
            ),
        )
        for topic in call.body.topics
    ]
    return call.respond(topics=tuple(topics))
