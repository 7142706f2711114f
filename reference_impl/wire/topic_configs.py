"""What of a topic's configuration is served: a table from Kafka's names to ours, read both ways.

Source: Apache Kafka's topic configuration.
Simplified: a name that is not in the table is refused, also where its value is the default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, Final, NamedTuple

from reference_impl.protocol.controller import CreateTopic, PartitionState
from reference_impl.protocol.topic_config import CleanupPolicy, LogConfig


class Config(NamedTuple):
    """The field that a setting is, and what its value means; ValueError for one that means none."""

    field: str
    read: Callable[[str], Any]


def _at_least(least: int) -> Callable[[str], int]:
    def read(value: str) -> int:
        if not value.removeprefix("-").isdecimal() or int(value) < least:
            raise ValueError(f"a number from {least} on is needed")
        return int(value)

    return read


def _one_of(**meanings: Any) -> Callable[[str], Any]:
    def read(value: str) -> Any:
        if value not in meanings:
            raise ValueError(f"{' or '.join(meanings)} is needed")
        return meanings[value]

    return read


CONFIGS: Final = {
    "min.insync.replicas": Config("min_insync_replicas", _at_least(1)),
    "unclean.leader.election.enable": Config(
        "unclean_leader_election", _one_of(true=True, false=False)
    ),
    "cleanup.policy": Config(
        "cleanup_policy", _one_of(delete=CleanupPolicy.DELETE, compact=CleanupPolicy.COMPACT)
    ),
    "retention.ms": Config("retention_ms", _at_least(-1)),
    "retention.bytes": Config("retention_bytes", _at_least(-1)),
    "segment.bytes": Config("segment_bytes", _at_least(14)),
    "delete.retention.ms": Config("delete_retention_ms", _at_least(0)),
}
_OF_LOG: Final = {field.name: field.default for field in fields(LogConfig)}
_DEFAULTS: Final = {
    **_OF_LOG,
    **{field.name: field.default for field in fields(CreateTopic) if field.name not in _OF_LOG},
}
SET, DELETE = 0, 1  # what may be done to a setting; the others, APPEND and SUBTRACT, are for lists


class Described(NamedTuple):
    """A setting of a topic, as it is told to whoever asks."""

    name: str
    value: str
    is_default: bool


def configured(configs: Iterable[Any]) -> dict[str, Any]:
    """What the settings of a request make of a CreateTopic; ValueError names the one at fault."""
    found = dict(_read(setting.name, setting.value) for setting in configs)
    of_log = {name: value for name, value in found.items() if name in _OF_LOG}
    of_topic = {name: value for name, value in found.items() if name not in _OF_LOG}
    return {**of_topic, "log_config": LogConfig(**of_log)}


def altered(configs: Iterable[Any]) -> dict[str, Any]:
    """What the changes of a request make of an AlterConfigs; ValueError names the one at fault.

    What is deleted has its default again.
    """
    found: dict[str, Any] = {}
    for change in configs:
        if change.config_operation not in {SET, DELETE}:
            raise ValueError(f"{change.name}: no setting is a list; it can be set or deleted")
        is_set = change.config_operation == SET
        field, value = _read(change.name, change.value, is_set=is_set)
        if field in found:
            raise ValueError(f"{change.name} is told twice")
        found[field] = value
    return found


def described(state: PartitionState) -> list[Described]:
    """Every setting of the topic that the partition is of."""
    found: list[Described] = []
    for name, (field, _) in CONFIGS.items():
        value = getattr(state.log_config if field in _OF_LOG else state, field)
        said = value.value if isinstance(value, CleanupPolicy) else str(value).lower()
        found.append(Described(name, said, is_default=value == _DEFAULTS[field]))
    return found


def _read(name: str, value: str | None, *, is_set: bool = True) -> tuple[str, Any]:
    """The field that a setting is, and what its value means."""
    if name not in CONFIGS:
        raise ValueError(f"only {', '.join(CONFIGS)} are served, not {name}={value}")
    field, read = CONFIGS[name]
    try:
        return field, read(value or "") if is_set else _DEFAULTS[field]
    except ValueError as fault:
        raise ValueError(f"{name}={value}: {fault}") from fault
