"""Wire handlers of CreateTopics, CreatePartitions, IncrementalAlterConfigs and DescribeConfigs.

Source: KIP-195 (CreatePartitions), KIP-339 (IncrementalAlterConfigs), KIP-464 (defaults).
Simplified: the controller places the replicas; validate_only is not supported; a setting is never a
list. Only topics have a configuration; `topic_configs` lists the supported settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from model.vocabulary import TopicPartition
from reference_impl.protocol.controller import (
    AdministrationRequest,
    AlterConfigs,
    AlteredConfigs,
    CreatedPartitions,
    CreatedTopic,
    CreatePartitions,
    CreateTopic,
)
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.adapter import Call, topic_id
from reference_impl.wire.served_broker import (
    INVALID_CONFIG,
    INVALID_REPLICA_ASSIGNMENT,
    ServedBroker,
    image,
    request_core,
)
from reference_impl.wire.topic_configs import alter_configs_fields, create_topic_fields, describe

CONFIGS_SINCE: Final = 5  # CreateTopics: the settings of the new topic (KIP-525)
BROKER_DEFAULT: Final = -1  # KIP-464: leave it to the broker
DEFAULT_REPLICATION_FACTOR: Final = 3
TOPIC: Final = 2  # ConfigResource type
SET_HERE: Final = 1  # config source: the topic's own configuration
DEFAULT: Final = 5

Refusal = tuple[int, str]  # an error code and its message; 0 for none
NOT_REFUSED: Final[Refusal] = (0, "")


async def create_topics(broker: ServedBroker, call: Call) -> bytes:
    async def created(topic: Any) -> Any:
        partitions = 1 if topic.num_partitions == BROKER_DEFAULT else topic.num_partitions
        replicas = topic.replication_factor
        if replicas == BROKER_DEFAULT:
            replicas = min(DEFAULT_REPLICATION_FACTOR, len(broker.addresses))

        def request() -> CreateTopic:
            return CreateTopic(
                topic=topic.name,
                topic_partitions=partitions,
                replication_factor=replicas,
                **create_topic_fields(topic.configs),
            )

        error, message = await _decided(broker, call, topic, request, CreatedTopic)
        described = () if error else describe(request())
        return call.make(
            "CreatableTopicResult",
            name=topic.name,
            topic_id=None if error else topic_id(topic.name),
            error_code=error,
            error_message=message or None,
            num_partitions=partitions if not error else -1,
            replication_factor=replicas if not error else -1,
            configs=tuple(
                call.make(
                    "CreatableTopicConfigs",
                    name=one.name,
                    value=one.value,
                    read_only=False,
                    config_source=DEFAULT if one.is_default else SET_HERE,
                    is_sensitive=False,
                )
                for one in described
                if call.version >= CONFIGS_SINCE
            ),
        )

    return call.respond(topics=tuple(await asyncio.gather(*map(created, call.body.topics))))


async def create_partitions(broker: ServedBroker, call: Call) -> bytes:
    async def grown(topic: Any) -> Any:
        def request() -> CreatePartitions:
            return CreatePartitions(topic=topic.name, topic_partitions=topic.count)

        error, message = await _decided(broker, call, topic, request, CreatedPartitions)
        return call.make(
            "CreatePartitionsTopicResult",
            name=topic.name,
            error_code=error,
            error_message=message or None,
        )

    return call.respond(results=tuple(await asyncio.gather(*map(grown, call.body.topics))))


async def incremental_alter_configs(broker: ServedBroker, call: Call) -> bytes:
    async def changed(resource: Any) -> Any:
        def request() -> AlterConfigs:
            return AlterConfigs(
                topic=resource.resource_name, **alter_configs_fields(resource.configs)
            )

        error, message = await _decided(broker, call, resource, request, AlteredConfigs)
        return call.make(
            "AlterConfigsResourceResponse",
            error_code=error,
            error_message=message or None,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )

    return call.respond(responses=tuple(await asyncio.gather(*map(changed, call.body.resources))))


async def describe_configs(broker: ServedBroker, call: Call) -> bytes:
    states = dict((await image(broker)).topic_partitions)

    def result(resource: Any) -> Any:
        name, keys = resource.resource_name, resource.configuration_keys
        state = states.get(TopicPartition(name, 0))
        error, message = _not_served(call, resource)
        if state is None and not error:
            error, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} does not exist"
        return call.make(
            "DescribeConfigsResult",
            error_code=error,
            error_message=message or None,
            resource_type=resource.resource_type,
            resource_name=name,
            configs=tuple(
                call.make(
                    "DescribeConfigsResourceResult",
                    name=one.name,
                    value=one.value,
                    read_only=False,
                    config_source=DEFAULT if one.is_default else SET_HERE,
                    is_sensitive=False,
                    synonyms=(),
                    documentation=None,
                    config_type=one.type,
                )
                for one in (() if error or state is None else describe(state))
                if keys is None or one.name in keys
            ),
        )

    return call.respond(results=tuple(map(result, call.body.resources)))


async def _decided(
    broker: ServedBroker,
    call: Call,
    wanted: Any,
    request: Callable[[], AdministrationRequest],
    answer: type[Any],
) -> Refusal:
    """Sends the request to the controller; returns the error and the message of its response.

    An unsupported or invalid request is not sent; the error for it is returned instead.
    """
    refused = _not_served(call, wanted)
    if refused != NOT_REFUSED:
        return refused
    try:
        core_request = request()
    except ValueError as fault:
        return INVALID_CONFIG, str(fault)
    response = await request_core(broker, core_request, answer)
    return int(response.error), response.message


def _not_served(call: Call, wanted: Any) -> Refusal:
    """Returns the error and message that reject an unsupported request.

    Returns `NOT_REFUSED` if the request is supported.
    """
    if getattr(wanted, "resource_type", TOPIC) != TOPIC:
        return ErrorCode.INVALID_REQUEST, "only topics have a configuration on this broker"
    if getattr(wanted, "assignments", None):
        return (
            INVALID_REPLICA_ASSIGNMENT,
            "the reference broker places replicas, an assignment is not supported",
        )
    if getattr(call.body, "validate_only", False):
        return ErrorCode.INVALID_REQUEST, "validate_only is not supported by the reference broker"
    return NOT_REFUSED
