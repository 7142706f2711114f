"""The settings with which a broker is started. Each setting has the name that Kafka gives it.

    started_with(["group.consumer.heartbeat.interval.ms=100", "log.cleanup.policy=compact"])

Times and limits are whole numbers from 1 on. The other settings are the brokers' defaults for
topics.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final

from model.faults import InputFault
from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.topic_config import LogConfig
from reference_impl.protocol.topic_settings import NO_SETTINGS, TopicSettings, parted
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.requests.configs.broker_configs import DYNAMIC, NUMBERS

LARGEST: Final = 2**31 - 1
NAMES: Final = (*NUMBERS, *DYNAMIC)


def started_with(texts: Iterable[str], broker_settings: BrokerSettings = SERVED) -> BrokerSettings:
    """Returns the broker settings for texts of the form NAME=VALUE. If a name occurs twice, its
    second text counts.

    Raises InputFault for an unknown name or a wrong value.
    """
    numbers, defaults = dict[str, int](), dict[str, Any]()
    for given in texts:
        name, _, value = given.partition("=")
        if name in NUMBERS:
            numbers[NUMBERS[name][0]] = _number(given, name, value)
        elif name in DYNAMIC:
            defaults[DYNAMIC[name].field] = _default(given, name, value)
        else:
            near = ", ".join(get_close_matches(name, NAMES, n=3, cutoff=0.0))
            raise InputFault(
                f"--broker-config {given}: a broker cannot start with {name or 'no name'!r};"
                f" the nearest settings are {near}"
            )
    try:
        return replace(broker_settings, **numbers, own_topic_defaults=_checked(defaults))
    except ValueError as fault:
        raise InputFault(f"--broker-config: {str(fault).partition(':')[0]}") from fault


def _number(given: str, name: str, value: str) -> int:
    if not value.isascii() or not value.isdecimal() or not 0 < int(value) <= LARGEST:
        unit = " of milliseconds" if name.endswith(".ms") else ""
        raise InputFault(
            f"--broker-config {given}: the value must be a number{unit}, 1 to {LARGEST}"
        )
    return int(value)


def _default(given: str, name: str, value: str) -> Any:
    try:
        found = DYNAMIC[name].read(value)
    except ValueError as fault:
        raise InputFault(f"--broker-config {given}: the value {fault}") from fault
    # Kafka: KafkaConfig.validateValues.
    if DYNAMIC[name].field == "retention_ms" and found == 0:
        raise InputFault(f"--broker-config {given}: the value must be -1, or at least 1")
    return found


def _checked(defaults: dict[str, Any]) -> TopicSettings:
    _, of_log = parted(defaults)
    if conflict := LogConfig(**of_log).conflict:
        raise ValueError(conflict)
    return replace(NO_SETTINGS, **defaults)
