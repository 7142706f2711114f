"""Handles CreateTopics, DeleteTopics and CreatePartitions requests.

A topic that a request names twice is not changed. The response has one entry for it, with the error
INVALID_REQUEST.

Source: KIP-4, KIP-195 (CreatePartitions), KIP-464 (defaults), KIP-516 and KIP-525 (topic ids and
settings in responses); ControllerApis, ReplicationControlManager of Apache Kafka.
Simplified: A topic is deleted by its id only if the broker that receives the request already has
this id in its metadata.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from model.vocabulary import BrokerId
from reference_impl.controller.new_topics import with_defaults
from reference_impl.protocol.controller import (
    CreatedPartitions,
    CreatedTopic,
    CreatePartitions,
    CreateTopic,
    DeletedTopic,
    DeleteTopic,
)
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.topic_defaults import NO_DEFAULTS, TopicDefaults
from reference_impl.protocol.topic_id import topic_id
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.broker.served_broker import (
    ServedBroker,
    image,
    request_core,
    topic_ids,
)
from reference_impl.wire.requests.broker.topic_ids import TopicIds
from reference_impl.wire.requests.cluster.control_plane import DEFAULT_REPLICATION_FACTOR
from reference_impl.wire.requests.configs.topic_configs import create_topic_fields, describe

CONFIGS_SINCE: Final = 5  # CreateTopics: the settings of the new topic (KIP-525)
DELETES_BY_ID_SINCE: Final = 6  # DeleteTopics
BROKER_DEFAULT: Final = -1  # KIP-464: leave it to the broker
DUPLICATE: Final = "Duplicate topic name."
NO_ID: Final = UUID(int=0)


class Refused(ValueError):
    """Raised for a request that its handler rejects. `error` is the error code of the response."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error


async def create_topics(broker: ServedBroker, call: Call) -> bytes:
    async def created(topic: Any) -> Any:
        request: CreateTopic | None = None
        answer = CreatedTopic()
        try:
            request = _creation(broker, call, topic)
            answer = await request_core(broker, request, CreatedTopic)
        except ValueError as fault:
            error = fault.error if isinstance(fault, Refused) else ErrorCode.INVALID_CONFIG
            answer = await _name_error(broker, topic.name)
            if not answer.error:
                answer = CreatedTopic(error=error, message=str(fault))
        return _created(call, topic.name, request, answer, defaults)

    defaults = (await image(broker)).defaults
    once, duplicates = _once(call.body.topics)
    results = await asyncio.gather(*map(created, once))
    duplicate = CreatedTopic(error=ErrorCode.INVALID_REQUEST, message=DUPLICATE)
    refused = [_created(call, name, None, duplicate) for name in duplicates]
    return call.respond(topics=(*results, *refused))


async def _name_error(broker: ServedBroker, topic: str) -> CreatedTopic:
    # Kafka checks the name before replicas and settings.
    only_name = CreateTopic(topic=topic, replication_factor=1, validate_only=True)
    return await request_core(broker, only_name, CreatedTopic)


def _creation(broker: ServedBroker, call: Call, topic: Any) -> CreateTopic:
    """Returns the request to create a topic. Raises ValueError for an invalid setting, and its
    subclass Refused for invalid replicas.
    """
    partitions, replicas = topic.num_partitions, topic.replication_factor
    assignments = _assignments(topic)
    if replicas == BROKER_DEFAULT:
        replicas = min(DEFAULT_REPLICATION_FACTOR, len(broker.addresses))
    return CreateTopic(
        topic=topic.name,
        topic_partitions=broker.default_partitions if partitions == BROKER_DEFAULT else partitions,
        replication_factor=replicas,
        assignments=assignments,
        validate_only=getattr(call.body, "validate_only", False),
        **create_topic_fields(topic.configs),
    )


def _assignments(topic: Any) -> tuple[tuple[BrokerId, ...], ...]:
    # Kafka: ReplicationControlManager.createTopic.
    if not topic.assignments:
        return ()
    for name, number in (
        ("replication factor", topic.replication_factor),
        ("numPartitions", topic.num_partitions),
    ):
        if number != BROKER_DEFAULT:
            why = f"A manual partition assignment was specified, but {name} was not set to -1."
            raise Refused(ErrorCode.INVALID_REQUEST, why)
    by_index = {one.partition_index: tuple(one.broker_ids) for one in topic.assignments}
    if len(by_index) < len(topic.assignments):
        why = "Found multiple manual partition assignments for a partition"
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    if by_index.keys() != set(range(len(by_index))):
        why = "partitions should be a consecutive 0-based integer sequence"
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    return tuple(by_index[index] for index in sorted(by_index))


def _created(
    call: Call,
    name: str,
    request: CreateTopic | None,
    answer: CreatedTopic,
    defaults: TopicDefaults = NO_DEFAULTS,
) -> Any:
    made = None if answer.error else request
    partitions, replicas = -1, -1
    if made is not None:
        partitions, replicas = made.topic_partitions, made.replication_factor
    if made is not None and made.assignments:
        partitions, replicas = len(made.assignments), len(made.assignments[0])
    return call.make(
        "CreatableTopicResult",
        name=name,
        topic_id=None if made is None else topic_id(name, answer.incarnation),
        error_code=answer.error,
        error_message=answer.message or None,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=tuple(
            call.make(
                "CreatableTopicConfigs",
                name=one.name,
                value=one.value,
                read_only=False,
                config_source=one.source,
                is_sensitive=False,
            )
            for one in (() if made is None else describe(with_defaults(made, defaults), defaults))
            if call.version >= CONFIGS_SINCE
        ),
    )


async def create_partitions(broker: ServedBroker, call: Call) -> bytes:
    async def grown(topic: Any) -> Any:
        request = CreatePartitions(
            topic=topic.name,
            topic_partitions=topic.count,
            assignments=None
            if topic.assignments is None
            else tuple(tuple(one.broker_ids) for one in topic.assignments),
            validate_only=call.body.validate_only,
        )
        return result(topic.name, await request_core(broker, request, CreatedPartitions))

    def result(name: str, answer: CreatedPartitions) -> Any:
        return call.make(
            "CreatePartitionsTopicResult",
            name=name,
            error_code=answer.error,
            error_message=answer.message or None,
        )

    once, duplicates = _once(call.body.topics)
    results = await asyncio.gather(*map(grown, once))
    duplicate = CreatedPartitions(error=ErrorCode.INVALID_REQUEST, message=DUPLICATE)
    return call.respond(results=(*results, *(result(name, duplicate) for name in duplicates)))


# ---------------------------------------------------------------- deletion


async def delete_topics(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to DeleteTopics, after the controller has deleted the topics.

    Kafka: ControllerApis.deleteTopics.
    """
    ids = await topic_ids(broker)
    wanted = (
        [(topic.name, topic.topic_id or NO_ID) for topic in call.body.topics]
        if call.version >= DELETES_BY_ID_SINCE
        else [(name, NO_ID) for name in call.body.topic_names]
    )
    times = Counter(wanted)

    async def deleted(name: str | None, identity: UUID) -> Any:
        answer, name, identity = await _deleted(broker, ids, name, identity, times)
        return call.make(
            "DeletableTopicResult",
            name=name,
            topic_id=None if identity == NO_ID else identity,
            error_code=answer.error,
            error_message=answer.message or None,
        )

    return call.respond(responses=tuple([await deleted(*one) for one in times]))


async def _deleted(
    broker: ServedBroker,
    ids: TopicIds,
    name: str | None,
    identity: UUID,
    times: Counter[tuple[str | None, UUID]],
) -> tuple[DeletedTopic, str | None, UUID]:
    invalid = ErrorCode.INVALID_REQUEST
    by_name = ids.by_name.get(name or "", NO_ID)
    reasons = (
        (name is None and identity == NO_ID, "Neither topic name nor id were specified."),
        (
            name is not None and identity != NO_ID,
            "You may not specify both topic name and topic id.",
        ),
        (times[name, identity] > 1, f"Duplicate topic {'id' if name is None else 'name'}."),
    )
    for applies, message in reasons:
        if applies:
            return DeletedTopic(error=invalid, message=message), name, identity
    if name is not None and (None, by_name) in times:
        message = "The provided topic name maps to an ID that was already supplied."
        return DeletedTopic(error=invalid, message=message), name, by_name
    if name is None:
        if identity not in ids.by_id:
            message = "This server does not host this topic ID."
            return DeletedTopic(error=ErrorCode.UNKNOWN_TOPIC_ID, message=message), None, identity
        topic, incarnation = ids.by_id[identity]
        request = DeleteTopic(topic=topic, incarnation=incarnation)
        return await request_core(broker, request, DeletedTopic), topic, identity
    answer = await request_core(broker, DeleteTopic(topic=name), DeletedTopic)
    return answer, name, NO_ID if answer.error else by_name


def _once(topics: Iterable[Any]) -> tuple[list[Any], list[str]]:
    """Returns the topics that occur one time, and the names of the topics that occur several
    times.
    """
    times = Counter(topic.name for topic in topics)
    once = [topic for topic in topics if times[topic.name] == 1]
    return once, [name for name, count in times.items() if count > 1]
