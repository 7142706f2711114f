"""The settings of a topic that a request can change, and Kafka's default of each setting:

    TopicSettings   the settings, each of which may be absent, as in a request to change them
    LogConfig       the values of a topic's log settings
    BUILT_IN        the value of each setting if neither the topic nor the brokers set it

The table in `wire/requests/configs/topic_configs.py` has Kafka's names of the settings. A new log
setting needs a field of `TopicSettings`, a field of `LogConfig`, and a row in this table.

Source: Kafka documentation, "Topic Configs".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from reference_impl.protocol.topic_config import (
    CleanupPolicy,
    CompressionType,
    LogConfig,
    TimestampType,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """The settings of a topic. A setting that is absent is None."""

    min_insync_replicas: int | None = None
    unclean_leader_election: bool | None = None
    cleanup_policy: CleanupPolicy | None = None
    retention_ms: int | None = None
    retention_bytes: int | None = None
    segment_bytes: int | None = None
    delete_retention_ms: int | None = None
    file_delete_delay_ms: int | None = None
    max_message_bytes: int | None = None
    flush_messages: int | None = None
    flush_ms: int | None = None
    compression_type: CompressionType | None = None
    gzip_level: int | None = None
    lz4_level: int | None = None
    zstd_level: int | None = None
    segment_ms: int | None = None
    min_cleanable_dirty_ratio: float | None = None
    min_compaction_lag_ms: int | None = None
    max_compaction_lag_ms: int | None = None
    timestamp_type: TimestampType | None = None
    timestamp_before_max_ms: int | None = None
    timestamp_after_max_ms: int | None = None

    def set_values(self) -> Iterator[tuple[str, Any]]:
        """Yields the field name and the value of each setting that is present."""
        for name in SETTINGS:
            value = getattr(self, name)
            if value is not None:
                yield name, value


NO_SETTINGS: Final = TopicSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListChange:
    """A change of a list setting: the items that a request adds to the list or removes from the
    list.
    """

    setting: str  # the field of TopicSettings
    adds: bool
    words: tuple[str, ...]

    def applied_to(self, before: CleanupPolicy) -> CleanupPolicy:
        """Returns the value of cleanup.policy after the change. Raises ValueError if an item is
        unknown.

        Kafka: ConfigurationControlManager.incrementalAlterConfigResource.
        """
        words = [word for word in before.value.split(",") if word]
        if self.adds:
            words += [word for word in dict.fromkeys(self.words) if word not in words]
        else:
            words = [word for word in words if word not in self.words]
        return CleanupPolicy(",".join(words))


SETTINGS: Final = tuple(field.name for field in fields(TopicSettings))
_LOG_DEFAULTS: Final = {field.name: field.default for field in fields(LogConfig)}
BUILT_IN: Final[Mapping[str, Any]] = {
    "min_insync_replicas": 1,
    "unclean_leader_election": False,
    **{name: _LOG_DEFAULTS[name] for name in SETTINGS if name in _LOG_DEFAULTS},
}


def is_of_log(name: str) -> bool:
    """Returns True if `name` is a field of `LogConfig`, and False if it is a setting of
    replication.
    """
    return name in _LOG_DEFAULTS


def parted(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns two dictionaries: the settings of replication, and the settings of the log."""
    of_log = {name: value for name, value in values.items() if is_of_log(name)}
    return {name: value for name, value in values.items() if name not in of_log}, of_log


def value_of(holder: Any, name: str) -> Any:
    """Returns the value of the setting `name`. `holder` is a CreateTopic request or a partition
    registration.
    """
    return getattr(holder.log_config if is_of_log(name) else holder, name)
