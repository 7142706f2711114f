"""What of a topic's configuration is served: a table from Kafka's names to ours.

Source: Apache Kafka's topic configuration.
Simplified: a name that is not in the table is refused, also where its value is the default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, Final, NamedTuple

from reference_impl.log_config import CleanupPolicy, LogConfig


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
_OF_LOG: Final = {field.name for field in fields(LogConfig)}


def configured(configs: Iterable[Any]) -> dict[str, Any]:
    """What the settings of a request make of a CreateTopic; ValueError names the one at fault."""
    found: dict[str, Any] = {}
    for setting in configs:
        told = f"{setting.name}={setting.value}"
        if setting.name not in CONFIGS:
            raise ValueError(f"only {', '.join(CONFIGS)} are served, not {told}")
        field, read = CONFIGS[setting.name]
        try:
            found[field] = read(setting.value or "")
        except ValueError as fault:
            raise ValueError(f"{told}: {fault}") from fault
    of_log = {name: value for name, value in found.items() if name in _OF_LOG}
    of_topic = {name: value for name, value in found.items() if name not in _OF_LOG}
    return {**of_topic, "log_config": LogConfig(**of_log)}
