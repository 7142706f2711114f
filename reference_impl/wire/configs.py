"""Wire handlers of the configuration requests: describe, change, replace and list.

IncrementalAlterConfigs changes single settings. AlterConfigs replaces all of them: a setting that
the request does not name gets its default value again.

Source: KIP-133, KIP-226, KIP-339, KIP-1142; ConfigAdminManager, ControllerApis of Apache Kafka.
Simplified: only topics have settings (`topic_configs` lists them), and a setting is never a list.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

from model.vocabulary import TopicPartition
from reference_impl.protocol.controller import AlterConfigs, AlteredConfigs
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.adapter import Call
from reference_impl.wire.served_broker import ServedBroker, image, request_core
from reference_impl.wire.topic_configs import (
    DEFAULT,
    SET_HERE,
    alter_configs_fields,
    describe,
    replace_configs_fields,
)
from reference_impl.wire.topic_ids import topic_ids

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32  # ConfigResource types
LISTED: Final = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)
ALL_TYPES_SINCE: Final = 1  # ListConfigResources; version 0 lists client metrics
Change = Callable[[Iterable[Any]], dict[str, Any]]


async def incremental_alter_configs(broker: ServedBroker, call: Call) -> bytes:
    return await _altered(broker, call, alter_configs_fields)


async def alter_configs(broker: ServedBroker, call: Call) -> bytes:
    return await _altered(broker, call, replace_configs_fields)


async def _altered(broker: ServedBroker, call: Call, change: Change) -> bytes:
    """Changes the configuration of each resource with one request each; returns the response frame.

    A resource that occurs twice is rejected.
    """
    places = Counter((one.resource_type, one.resource_name) for one in call.body.resources)

    async def altered(resource: Any) -> Any:
        answer = _rejection(resource)
        if places[resource.resource_type, resource.resource_name] > 1:
            why = "Each resource must appear at most once."
            answer = AlteredConfigs(error=ErrorCode.INVALID_REQUEST, message=why)
        if answer is None:
            answer = await _change(broker, call, resource, change)
        return call.make(
            "AlterConfigsResourceResponse",
            error_code=answer.error,
            error_message=answer.message or None,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )

    return call.respond(responses=tuple(await asyncio.gather(*map(altered, call.body.resources))))


async def _change(broker: ServedBroker, call: Call, resource: Any, change: Change) -> Any:
    try:
        fields = change(resource.configs)
    except ValueError as fault:
        return AlteredConfigs(error=ErrorCode.INVALID_CONFIG, message=str(fault))
    request = AlterConfigs(
        topic=resource.resource_name, validate_only=call.body.validate_only, **fields
    )
    return await request_core(broker, request, AlteredConfigs)


def _rejection(resource: Any) -> AlteredConfigs | None:
    if resource.resource_type == TOPIC:
        return None
    why = "only topics have a configuration on this broker"
    return AlteredConfigs(error=ErrorCode.INVALID_REQUEST, message=why)


async def describe_configs(broker: ServedBroker, call: Call) -> bytes:
    states = dict((await image(broker)).topic_partitions)

    def result(resource: Any) -> Any:
        name, keys = resource.resource_name, resource.configuration_keys
        state = states.get(TopicPartition(name, 0))
        rejected = _rejection(resource)
        error, message = (rejected.error, rejected.message) if rejected else (ErrorCode.NONE, "")
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


async def list_config_resources(broker: ServedBroker, call: Call) -> bytes:
    """Handles ListConfigResources; returns the frame with the names of brokers and topics.

    Clients subscribe to no metrics here, and groups have no settings, so none of these is listed.
    """
    wanted = LISTED if call.version >= ALL_TYPES_SINCE else (CLIENT_METRICS,)
    types = getattr(call.body, "resource_types", ()) or wanted
    if not set(types) <= set(wanted):
        return call.respond(error_code=ErrorCode.UNSUPPORTED_VERSION, config_resources=())
    brokers = [str(one.broker_id) for one in (await image(broker)).brokers]
    names = {TOPIC: [*(await topic_ids(broker)).by_name], BROKER: brokers, BROKER_LOGGER: brokers}
    return call.respond(
        error_code=0,
        config_resources=tuple(
            call.make("ConfigResource", resource_name=name, resource_type=kind)
            for kind in sorted(set(types), reverse=True)
            for name in names.get(kind, ())
        ),
    )
