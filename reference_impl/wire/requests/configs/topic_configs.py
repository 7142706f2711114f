"""The supported settings of a topic: a table of their names in Kafka, their types and parsers.

Each row also names the broker setting that contains the default for all topics. A new setting needs
a row in the table, and the fields that `reference_impl/protocol/topic_settings.py` lists.

Source: Kafka documentation, "Topic Configs".
Simplified: A setting that is not in the table is rejected, even if it has its default value. The
module `unserved` contains the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, IntEnum
from typing import Any, Final, NamedTuple

from reference_impl.protocol.controller import CreateTopic, PartitionState
from reference_impl.protocol.topic_config import (
    CleanupPolicy,
    CompressionType,
    LogConfig,
    TimestampType,
)
from reference_impl.protocol.topic_defaults import NO_DEFAULTS, TopicDefaults
from reference_impl.protocol.topic_settings import BUILT_IN, ListChange, parted, value_of
from reference_impl.wire.requests.configs import unserved


class ConfigType(IntEnum):
    """The type of a setting's value.

    Kafka: DescribeConfigsResponse.ConfigType.
    """

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


class Config(NamedTuple):
    """A setting of a topic: its field in `TopicSettings`, its type, and its parser, which raises
    ValueError for an invalid value.

    `of_brokers` is the broker setting that contains the default for all topics. `read_of_brokers`
    is the parser of the broker setting. It is None if both settings permit the same values.
    """

    field: str
    type: ConfigType
    read: Callable[[str], Any]
    of_brokers: str
    read_of_brokers: Callable[[str], Any] | None = None


def at_least(least: int) -> Callable[[str], int]:
    """Returns a parser of integers that raises ValueError for a value below `least`."""

    def read(value: str) -> int:
        if not value.removeprefix("-").isdecimal() or int(value) < least:
            raise ValueError(f"must be a number of at least {least}")
        return int(value)

    return read


def _between(least: int, most: int, *, others: tuple[int, ...] = ()) -> Callable[[str], int]:
    allowed = " or ".join([f"between {least} and {most}", *map(str, others)])

    def read(value: str) -> int:
        is_number = value.removeprefix("-").isdecimal()
        if not is_number or not (least <= int(value) <= most or int(value) in others):
            raise ValueError(f"must be a number {allowed}")
        return int(value)

    return read


def _ratio(value: str) -> float:
    try:
        ratio = float(value)
    except ValueError:
        ratio = math.nan
    if not 0 <= ratio <= 1:
        raise ValueError("must be a number between 0 and 1")
    return ratio


def _cleanup_policy(value: str) -> CleanupPolicy:
    words = [word.strip() for word in value.split(",")] if value.strip() else []
    try:
        return CleanupPolicy(",".join(dict.fromkeys(words)))
    except ValueError:
        raise ValueError("must be delete or compact, or both") from None


def _one_of(**meanings: Any) -> Callable[[str], Any]:
    def read(value: str) -> Any:
        if value not in meanings:
            raise ValueError(f"must be {' or '.join(meanings)}")
        return meanings[value]

    return read


_LONG, _INT = ConfigType.LONG, ConfigType.INT
CONFIGS: Final[Mapping[str, Config]] = {
    "min.insync.replicas": Config("min_insync_replicas", _INT, at_least(1), "min.insync.replicas"),
    "unclean.leader.election.enable": Config(
        "unclean_leader_election",
        ConfigType.BOOLEAN,
        _one_of(true=True, false=False),
        "unclean.leader.election.enable",
    ),
    "cleanup.policy": Config(
        "cleanup_policy",
        ConfigType.LIST,
        _cleanup_policy,
        "log.cleanup.policy",
    ),
    "retention.ms": Config("retention_ms", _LONG, at_least(-1), "log.retention.ms"),
    "retention.bytes": Config("retention_bytes", _LONG, at_least(-1), "log.retention.bytes"),
    "segment.bytes": Config(
        "segment_bytes", _INT, at_least(14), "log.segment.bytes", at_least(1_048_576)
    ),
    "delete.retention.ms": Config(
        "delete_retention_ms", _LONG, at_least(0), "log.cleaner.delete.retention.ms"
    ),
    "file.delete.delay.ms": Config(
        "file_delete_delay_ms", _LONG, at_least(0), "log.segment.delete.delay.ms"
    ),
    "flush.messages": Config("flush_messages", _LONG, at_least(1), "log.flush.interval.messages"),
    "flush.ms": Config("flush_ms", _LONG, at_least(0), "log.flush.interval.ms"),
    "max.message.bytes": Config("max_message_bytes", _INT, at_least(0), "message.max.bytes"),
    "compression.type": Config(
        "compression_type",
        ConfigType.STRING,
        _one_of(**{one.value: one for one in CompressionType}),
        "compression.type",
    ),
    "compression.gzip.level": Config(
        "gzip_level", _INT, _between(1, 9, others=(-1,)), "compression.gzip.level"
    ),
    "compression.lz4.level": Config("lz4_level", _INT, _between(1, 17), "compression.lz4.level"),
    "compression.zstd.level": Config(
        "zstd_level", _INT, _between(-131_072, 22), "compression.zstd.level"
    ),
    "segment.ms": Config("segment_ms", _LONG, at_least(1), "log.roll.ms"),
    "min.cleanable.dirty.ratio": Config(
        "min_cleanable_dirty_ratio", ConfigType.DOUBLE, _ratio, "log.cleaner.min.cleanable.ratio"
    ),
    "min.compaction.lag.ms": Config(
        "min_compaction_lag_ms", _LONG, at_least(0), "log.cleaner.min.compaction.lag.ms"
    ),
    "max.compaction.lag.ms": Config(
        "max_compaction_lag_ms", _LONG, at_least(1), "log.cleaner.max.compaction.lag.ms"
    ),
    "message.timestamp.type": Config(
        "timestamp_type",
        ConfigType.STRING,
        _one_of(**{one.value: one for one in TimestampType}),
        "log.message.timestamp.type",
    ),
    "message.timestamp.before.max.ms": Config(
        "timestamp_before_max_ms", _LONG, at_least(0), "log.message.timestamp.before.max.ms"
    ),
    "message.timestamp.after.max.ms": Config(
        "timestamp_after_max_ms", _LONG, at_least(0), "log.message.timestamp.after.max.ms"
    ),
}
SET_HERE: Final = 1  # config source: the topic's own configuration
FOR_ALL_BROKERS, STATIC, DEFAULT = 3, 4, 5  # other config sources
SET, DELETE, APPEND, SUBTRACT = range(4)  # the operations of IncrementalAlterConfigs


class Described(NamedTuple):
    name: str
    value: str | None
    source: int
    type: ConfigType

    @property
    def is_default(self) -> bool:
        return self.source != SET_HERE


def create_topic_fields(configs: Iterable[Any]) -> dict[str, Any]:
    """Returns the settings as fields of CreateTopic.

    Raises ValueError if a setting is invalid, or if two settings contradict each other. The message
    names these settings.
    """
    found = dict(_read(setting.name, setting.value) for setting in configs)
    of_topic, of_log = parted(found)
    log_config = LogConfig(**of_log)
    if log_config.conflict:
        raise ValueError(log_config.conflict)
    return {**of_topic, "log_config": log_config, "configured": frozenset(found)}


def alter_configs_fields(configs: Iterable[Any]) -> dict[str, Any]:
    """Returns the changes as fields of AlterConfigs. A deleted setting gets its default value.

    Raises ValueError if a setting is invalid. The message names the setting.
    """
    found: dict[str, Any] = {}
    deleted: set[str] = set()
    lists: list[ListChange] = []
    for change in configs:
        if change.config_operation in {APPEND, SUBTRACT}:
            lists.append(list_change(CONFIGS, change))
            continue
        is_set = change.config_operation == SET
        # The deletion of an unsupported setting changes nothing.
        if not is_set and change.name not in CONFIGS:
            continue
        field, value = _read(change.name, change.value, is_set=is_set)
        found[field] = value
        if not is_set:
            deleted.add(field)
    return {**found, "deleted": frozenset(deleted), "lists": tuple(lists)}


def list_change(configs: Mapping[str, Config], change: Any) -> ListChange:
    """Returns the items that APPEND adds to a list, or that SUBTRACT removes. Raises ValueError
    if the setting is not a list.
    """
    config, adds = configs.get(change.name), change.config_operation == APPEND
    if config is None or config.type is not ConfigType.LIST:
        operation = "APPEND" if adds else "SUBTRACT"
        raise ValueError(f"Can't {operation} to key {change.name} because its type is not LIST.")
    words = tuple((change.value or "").split(","))
    return ListChange(setting=config.field, adds=adds, words=words)


def replace_configs_fields(configs: Iterable[Any]) -> dict[str, Any]:
    """Returns all fields of a topic's settings after a legacy AlterConfigs request: the values in
    the request, and the default value of each setting that the request does not name.

    Raises ValueError if a setting is invalid. The message names the setting.
    """
    found: dict[str, Any] = {}
    for setting in configs:
        field, value = _read(setting.name, setting.value)
        found[field] = value
    rest = {config.field for config in CONFIGS.values()} - found.keys()
    return {**{field: BUILT_IN[field] for field in rest}, **found, "deleted": frozenset(rest)}


def describe(
    state: PartitionState | CreateTopic, defaults: TopicDefaults = NO_DEFAULTS
) -> list[Described]:
    """Returns all supported settings of a topic, each with its value and source.

    `state` is the registration of any partition of the topic. For a topic that does not exist yet,
    `state` is the request that creates the topic.
    """
    found: list[Described] = []
    for name, config in CONFIGS.items():
        field, value = config.field, value_of(state, config.field)
        default, source = default_of(field, defaults)
        if field in state.configured or value != default:
            source = SET_HERE
        found.append(Described(name, text(value), source, config.type))
    return found


def default_of(field: str, defaults: TopicDefaults) -> tuple[Any, int]:
    """Returns the default of a topic setting, and the source of the default in DescribeConfigs."""
    for of_all, source in ((defaults, FOR_ALL_BROKERS), (defaults.at_start, STATIC)):
        if (value := getattr(of_all, field)) is not None:
            return value, source
    return BUILT_IN[field], DEFAULT


def written_configs(request: CreateTopic) -> Iterable[tuple[str, str]]:
    """Yields the name and the value of each setting that differs from its default or was set
    explicitly.
    """
    for name, config in CONFIGS.items():
        value = value_of(request, config.field)
        if value != BUILT_IN[config.field] or config.field in request.configured:
            yield name, text(value)


def text(value: Any) -> str:
    """Returns the value in Kafka's form, such as `true` or `compact`."""
    return str(value.value) if isinstance(value, Enum) else str(value).lower()


def _read(name: str, value: str | None, *, is_set: bool = True) -> tuple[str, Any]:
    if name not in CONFIGS:
        raise ValueError(unserved.of_topic(name))
    config = CONFIGS[name]
    try:
        return config.field, config.read(value or "") if is_set else BUILT_IN[config.field]
    except ValueError as fault:
        raise ValueError(f"{name}={value}: {fault}") from fault
