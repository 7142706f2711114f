"""Changes and describes subscriptions of client metrics.

Source: KIP-714; ConfigHelper.createClientMetricsConfigEntry of Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from reference_impl.protocol.client_metrics import (
    DEFAULTS,
    INTERVAL_MS,
    AlterClientMetrics,
    Subscriptions,
    words,
)
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.requests.configs.broker_configs import Refused
from reference_impl.wire.requests.configs.topic_configs import (
    APPEND,
    DEFAULT,
    SET,
    SUBTRACT,
    ConfigType,
    Described,
)

OF_SUBSCRIPTION: Final = 7  # the config source CLIENT_METRICS_CONFIG


def changed_subscription(name: str, configs: Iterable[Any]) -> AlterClientMetrics:
    """Returns the request to change the settings in `configs`. Other settings do not change.

    Raises Refused for the operations APPEND and SUBTRACT, because Kafka's controller treats none of
    these settings as a list.
    """
    for change in configs:
        if change.config_operation in {APPEND, SUBTRACT}:
            operation = "APPEND" if change.config_operation == APPEND else "SUBTRACT"
            why = f"Can't {operation} to key {change.name} because its type is not LIST."
            raise Refused(ErrorCode.INVALID_CONFIG, why)
    return AlterClientMetrics(
        name=name,
        changes=tuple(
            (one.name, one.value if one.config_operation == SET else None) for one in configs
        ),
    )


def replaced_subscription(name: str, configs: Iterable[Any]) -> AlterClientMetrics:
    """Returns the request to replace all settings of a subscription."""
    changes = tuple((one.name, one.value) for one in configs)
    return AlterClientMetrics(name=name, changes=changes, replaces_all=True)


def describe_subscription(name: str, subscriptions: Subscriptions) -> list[Described]:
    """Returns the settings of a subscription, or the defaults if the subscription does not
    exist. Raises Refused if the name is empty.
    """
    if not name:
        why = "Client metrics subscription name must not be empty"
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    own = dict(dict(subscriptions).get(name, ()))
    return [_described(key, own) for key in DEFAULTS]


def _described(key: str, own: dict[str, str]) -> Described:
    value, source = own.get(key, DEFAULTS[key]), OF_SUBSCRIPTION if key in own else DEFAULT
    if key == INTERVAL_MS:
        return Described(key, str(int(value)), source, ConfigType.INT)
    return Described(key, ",".join(words(value)), source, ConfigType.LIST)
