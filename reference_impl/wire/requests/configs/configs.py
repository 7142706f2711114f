"""Handles the requests that describe, change, replace and list configurations.

Topics, brokers and client metrics subscriptions have settings (`topic_configs`, `broker_configs`,
`client_metrics`).

Source: KIP-133, KIP-226, KIP-339, KIP-1142; ConfigAdminManager, ControllerApis of Apache Kafka.
Simplified: Groups have no settings.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from model.vocabulary import TopicPartition
from reference_impl.protocol.client_metrics import AlterClientMetrics, AlteredClientMetrics
from reference_impl.protocol.controller import AlterConfigs, AlteredConfigs
from reference_impl.protocol.inspection import DescribedSettings, DescribeSettings
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.topic_defaults import AlterDefaults, AlteredDefaults, TopicDefaults
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.broker.served_broker import (
    ServedBroker,
    image,
    request_core,
    topic_ids,
)
from reference_impl.wire.requests.cluster.control_plane import DEFAULT_REPLICATION_FACTOR
from reference_impl.wire.requests.configs.broker_configs import (
    DYNAMIC,
    Refused,
    changed_defaults,
    describe_broker,
    describe_defaults,
    replaced_defaults,
)
from reference_impl.wire.requests.configs.client_metrics import (
    changed_subscription,
    describe_subscription,
    replaced_subscription,
)
from reference_impl.wire.requests.configs.topic_configs import (
    DELETE,
    SET,
    Described,
    alter_configs_fields,
    describe,
    replace_configs_fields,
)

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32  # ConfigResource types
LISTED: Final = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)
ALL_TYPES_SINCE: Final = 1  # ListConfigResources; version 0 lists client metrics
Change = Callable[[Iterable[Any]], dict[str, Any]]
ChangeDefaults = Callable[[str, int, Iterable[Any], TopicDefaults], AlterDefaults]
ChangeSubscription = Callable[[str, Iterable[Any]], AlterClientMetrics]


class Changes(NamedTuple):
    """The functions that read the changes in a request: for topics, for brokers, and for client
    metrics subscriptions.
    """

    of_topic: Change
    of_brokers: ChangeDefaults
    of_subscription: ChangeSubscription


SINGLE: Final = Changes(alter_configs_fields, changed_defaults, changed_subscription)
ALL: Final = Changes(replace_configs_fields, replaced_defaults, replaced_subscription)


async def incremental_alter_configs(broker: ServedBroker, call: Call) -> bytes:
    return await _altered(broker, call, SINGLE)


async def alter_configs(broker: ServedBroker, call: Call) -> bytes:
    return await _altered(broker, call, ALL)


async def _altered(broker: ServedBroker, call: Call, changes: Changes) -> bytes:
    places = Counter((one.resource_type, one.resource_name) for one in call.body.resources)

    async def altered(resource: Any) -> Any:
        rejected = _misformed(resource) or _rejection(resource)
        answer: AlteredConfigs | AlteredDefaults | AlteredClientMetrics
        if places[resource.resource_type, resource.resource_name] > 1:
            why = "Each resource must appear at most once."
            answer = AlteredConfigs(error=ErrorCode.INVALID_REQUEST, message=why)
        elif rejected is not None:
            answer = rejected
        elif resource.resource_type == BROKER:
            answer = await _change_defaults(broker, call, resource, changes.of_brokers)
        elif resource.resource_type == CLIENT_METRICS:
            answer = await _change_subscription(broker, call, resource, changes.of_subscription)
        else:
            answer = await _change(broker, call, resource, changes.of_topic)
        return call.make(
            "AlterConfigsResourceResponse",
            error_code=answer.error,
            error_message=answer.message or None,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )

    return call.respond(responses=tuple(await asyncio.gather(*map(altered, call.body.resources))))


async def _change(
    broker: ServedBroker, call: Call, resource: Any, change: Change
) -> AlteredConfigs:
    try:
        fields = change(resource.configs)
    except ValueError as fault:
        return AlteredConfigs(error=ErrorCode.INVALID_CONFIG, message=str(fault))
    request = AlterConfigs(
        topic=resource.resource_name, validate_only=call.body.validate_only, **fields
    )
    return await request_core(broker, request, AlteredConfigs)


async def _change_defaults(
    broker: ServedBroker, call: Call, resource: Any, change: ChangeDefaults
) -> AlteredDefaults:
    try:
        defaults = (await image(broker)).defaults
        request = change(resource.resource_name, broker.broker_id, resource.configs, defaults)
    except Refused as fault:
        return AlteredDefaults(error=fault.error, message=str(fault))
    request = replace(request, validate_only=call.body.validate_only)
    return await request_core(broker, request, AlteredDefaults)


async def _change_subscription(
    broker: ServedBroker, call: Call, resource: Any, change: ChangeSubscription
) -> AlteredClientMetrics:
    try:
        request = change(resource.resource_name, resource.configs)
    except Refused as fault:
        return AlteredClientMetrics(error=fault.error, message=str(fault))
    request = replace(request, validate_only=call.body.validate_only)
    return await request_core(broker, request, AlteredClientMetrics)


def _misformed(resource: Any) -> AlteredConfigs | None:
    # Kafka: ConfigAdminManager.preprocess. AlterConfigs has no operations: it sets every value.
    names = [one.name for one in resource.configs]
    without = [
        one.name
        for one in resource.configs
        if one.value is None and getattr(one, "config_operation", SET) != DELETE
    ]
    why = ""
    if len({*names}) < len(names):
        why = "Error due to duplicate config keys"
    elif without:
        why = f"Null value not supported for : {', '.join(without)}"
    return AlteredConfigs(error=ErrorCode.INVALID_REQUEST, message=why) if why else None


def _rejection(resource: Any) -> AlteredConfigs | None:
    if resource.resource_type in {TOPIC, BROKER, CLIENT_METRICS}:
        return None
    why = "only topics, brokers and client metrics have a configuration here"
    return AlteredConfigs(error=ErrorCode.INVALID_REQUEST, message=why)


async def describe_configs(broker: ServedBroker, call: Call) -> bytes:
    seen = await image(broker)
    states = dict(seen.topic_partitions)
    is_of_broker = any(one.resource_type == BROKER for one in call.body.resources)
    own = await _own_settings(broker, seen.defaults) if is_of_broker else []

    def described(resource: Any) -> list[Described]:
        name, rejected = resource.resource_name, _rejection(resource)
        if rejected is not None:
            raise Refused(rejected.error, rejected.message)
        if resource.resource_type == TOPIC:
            state = states.get(TopicPartition(name, 0))
            if state is None:
                unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                raise Refused(unknown, f"topic {name} does not exist")
            return describe(state, seen.defaults)
        if resource.resource_type == CLIENT_METRICS:
            return describe_subscription(name, seen.client_metrics)
        if not name:
            return describe_defaults(seen.defaults)
        if name != str(broker.broker_id):
            expected = f"Unexpected broker id, expected {broker.broker_id} or empty string, but"
            raise Refused(ErrorCode.INVALID_REQUEST, f"{expected} received {name}")
        return own

    def result(resource: Any) -> Any:
        name, keys = resource.resource_name, resource.configuration_keys
        error, message = ErrorCode.NONE, ""
        found: list[Described] = []
        try:
            found = described(resource)
        except Refused as fault:
            error, message = fault.error, str(fault)
        is_broker = resource.resource_type == BROKER
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
                    read_only=is_broker and one.name not in DYNAMIC,
                    config_source=one.source,
                    is_sensitive=False,
                    synonyms=(),
                    documentation=None,
                    config_type=one.type,
                )
                for one in found
                if keys is None or one.name in keys
            ),
        )

    return call.respond(results=tuple(map(result, call.body.resources)))


async def _own_settings(broker: ServedBroker, defaults: TopicDefaults) -> list[Described]:
    return describe_broker(
        broker.broker_id,
        await request_core(broker, DescribeSettings(), DescribedSettings),
        defaults,
        auto_creates_topics=broker.auto_creates_topics,
        replicas=min(DEFAULT_REPLICATION_FACTOR, len(broker.addresses)),
    )


async def list_config_resources(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to ListConfigResources: the names of brokers, topics and client
    metrics subscriptions.
    """
    wanted = LISTED if call.version >= ALL_TYPES_SINCE else (CLIENT_METRICS,)
    types = getattr(call.body, "resource_types", ()) or wanted
    if not set(types) <= set(wanted):
        return call.respond(error_code=ErrorCode.UNSUPPORTED_VERSION, config_resources=())
    seen = await image(broker)
    brokers = [str(one.broker_id) for one in seen.brokers]
    names = {
        TOPIC: [*(await topic_ids(broker)).by_name],
        BROKER: brokers,
        BROKER_LOGGER: brokers,
        CLIENT_METRICS: [name for name, _ in seen.client_metrics],
    }
    return call.respond(
        error_code=0,
        config_resources=tuple(
            call.make("ConfigResource", resource_name=name, resource_type=kind)
            for kind in sorted(set(types), reverse=True)
            for name in names.get(kind, ())
        ),
    )
