"""The settings of Kafka 4.3 that the reference broker does not have, with the reason of each
refusal.

Each line names a table, and the settings that it contains:

    OF_TOPICS    settings of a topic
    OF_BROKERS   settings of brokers that a request to Kafka can change; a key such as
                 `log.index.*` is a pattern of names

A request to set one of these settings gets INVALID_CONFIG with the reason.

Source: LogConfig.nonInternalConfigNames and DynamicBrokerConfig of Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

_TIERED: Final = "there is no tiered storage"
_FULL_SPEED: Final = "replication is never throttled"
_INDEX: Final = "an index has an entry for at most every 4096 bytes, and no largest size"
_START: Final = "start the brokers with it"
_THREADS: Final = "a broker does all its work in one thread"

OF_TOPICS: Final[Mapping[str, str]] = {
    "follower.replication.throttled.replicas": _FULL_SPEED,
    "index.interval.bytes": _INDEX,
    "leader.replication.throttled.replicas": _FULL_SPEED,
    "local.retention.bytes": _TIERED,
    "local.retention.ms": _TIERED,
    "preallocate": "files grow as they are written",
    "remote.log.copy.disable": _TIERED,
    "remote.log.delete.on.disable": _TIERED,
    "remote.storage.enable": _TIERED,
    "segment.index.bytes": _INDEX,
    "segment.jitter.ms": "all segments have the same longest time",
}
OF_BROKERS: Final[Mapping[str, str]] = {
    "*.coordinator.cached.buffer.max.bytes": "a coordinator writes each change at once",
    "*.throttled.rate": _FULL_SPEED,
    "*threads*": _THREADS,
    "config.providers": "there are no plug-ins",
    "cordoned.log.dirs": "a broker has one log directory",
    "follower.fetch.last.tiered.offset.enable": _TIERED,
    "group.share.assignment.interval.ms": "there are no share groups",
    "group.streams.assignment.interval.ms": "there are no streams groups",
    "listener*": _START,
    "log.cleaner.dedupe.buffer.size": "compaction has no buffers",
    "log.cleaner.io.*": "compaction has no buffers and is never throttled",
    "log.index.*": _INDEX,
    "log.local.*": _TIERED,
    "log.preallocate": "files grow as they are written",
    "log.roll.jitter.ms": "all segments have the same longest time",
    "max.connection*": "the limits of connections are fixed",
    "metric.reporters": "there are no metrics",
    "num.replica.fetchers": _THREADS,
    "principal.builder.class": "there are no plug-ins",
    "remote.*": _TIERED,
    "replica.alter.log.dirs.io.max.bytes.per.second": "a broker has one log directory",
    "sasl.*": _START,
    "share.*": "there are no share groups",
    "ssl.*": _START,
    "transaction.partition.verification.enable": "transactions are always verified",
}


def of_topic(name: str) -> str:
    """Returns the reason why a topic cannot have this setting: the setting is not supported, or
    Kafka does not know it.

    Kafka: LogConfig.validateNames.
    """
    if name in OF_TOPICS:
        return f"{name} is not supported: {OF_TOPICS[name]}"
    return f"Unknown topic config name: {name}"


def of_brokers(name: str) -> str:
    """Returns the reason why a request cannot change this setting of brokers."""
    reasons = (why for pattern, why in OF_BROKERS.items() if fnmatchcase(name, pattern))
    why = next(reasons, "no setting of brokers has this name")
    return f"{name} is not supported: {why}"
