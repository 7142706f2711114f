"""Writes Metadata and CreateTopics requests, and reads their responses (see `dialogue`)."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from model.vocabulary import (
    UNKNOWN_LEADER_EPOCH,
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    PartitionEpoch,
    TopicPartition,
)
from reference_impl.protocol.controller import (
    BrokerState,
    CreatedTopic,
    CreateTopic,
    DescribedMetadata,
    Metadata,
    MetadataImage,
    PartitionState,
)
from reference_impl.protocol.messages import (
    ErrorCode,
)
from reference_impl.wire.clients.dialogue import (
    Names,
    Values,
    error_code,
    one_of,
)
from reference_impl.wire.clients.frames import Writer
from reference_impl.wire.messages.adapter import span
from reference_impl.wire.requests.configs.topic_configs import written_configs

NO_TOPIC: Final = UUID(int=0)
MANY: Final = 1 << 31


def metadata(_request: Metadata, writer: Writer, names: Names) -> Values:
    topics = tuple(
        writer.make("MetadataRequestTopic", name=names.sent(topic), topic_id=NO_TOPIC)
        for topic in sorted(names.topics)
    )
    return {
        "topics": topics,
        "allow_auto_topic_creation": names.auto_creates,
        "include_cluster_authorized_operations": False,
        "include_topic_authorized_operations": False,
    }


def described_metadata(_request: Metadata, body: Any, names: Names) -> DescribedMetadata:
    found = [topic for topic in body.topics if topic.error_code == ErrorCode.NONE]
    for topic in found:
        if getattr(topic, "topic_id", None) is not None:
            names.ids[names.received(topic.name)] = topic.topic_id
    partitions = (
        (TopicPartition(names.received(topic.name), one.partition_index), _partition(one))
        for topic in found
        for one in topic.partitions
        if one.partition_index < names.partitions.get(names.received(topic.name), MANY)
    )
    brokers = (
        BrokerState(broker_id=one.node_id, broker_epoch=BrokerEpoch(-1), fenced=False)
        for one in body.brokers
    )
    return DescribedMetadata(
        image=MetadataImage(
            brokers=tuple(sorted(brokers, key=lambda broker: broker.broker_id)),
            topic_partitions=tuple(sorted(partitions, key=lambda row: row[0])),
        )
    )


def _partition(one: Any) -> PartitionState:
    return PartitionState(
        replicas=tuple(map(BrokerId, one.replica_nodes)),
        isr=tuple(map(BrokerId, one.isr_nodes)),
        leader=BrokerId(one.leader_id),
        leader_epoch=LeaderEpoch(getattr(one, "leader_epoch", UNKNOWN_LEADER_EPOCH)),
        partition_epoch=PartitionEpoch(-1),
    )


def create_topic(request: CreateTopic, writer: Writer, names: Names) -> Values:
    topic = writer.make(
        "CreatableTopic",
        name=names.sent(request.topic),
        num_partitions=request.topic_partitions,
        replication_factor=request.replication_factor,
        assignments=(),
        configs=tuple(
            writer.make("CreatableTopicConfig", name=name, value=value)
            for name, value in (
                *written_configs(request),
                *names.settings.get(request.topic, {}).items(),
            )
        ),
    )
    return {"topics": (topic,), "timeout": span(30_000), "validate_only": False}


def created_topic(_request: CreateTopic, body: Any, _names: Names) -> CreatedTopic:
    one = one_of(body.topics)
    return CreatedTopic(error=error_code(one.error_code), message=one.error_message or "")
