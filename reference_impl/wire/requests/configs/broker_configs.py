"""The settings of a broker: tables of Kafka's names, and how requests describe and change them.

Each line names a table, and the settings that it contains:

    DYNAMIC          the defaults of topics; a request can change them, for all brokers at once
    STATIC_CONFIGS   set when the broker was started; a request to change them is refused
    NUMBERS          the settings of STATIC_CONFIGS that are times and limits

The option --broker-config sets the initial value of a setting in DYNAMIC or NUMBERS. All other
settings are fixed, or follow from other options. As in Kafka with eligible leader replicas, the
default of min.insync.replicas cannot be removed.

Source: KIP-226, KIP-966; Kafka documentation, "Broker Configs"; ConfigAdminManager,
ConfigurationControlManager of Apache Kafka.
Simplified: A request that changes only one broker is refused. A request with an unknown setting is
refused, although Kafka accepts it. Synonyms of settings are not described.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from reference_impl.node.settings import KAFKA_SETTINGS
from reference_impl.protocol.inspection import DescribedSettings
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.topic_defaults import AlterDefaults, TopicDefaults
from reference_impl.protocol.topic_settings import BUILT_IN, TopicSettings
from reference_impl.wire.messages.frame_limits import LIMITS
from reference_impl.wire.requests.configs import unserved
from reference_impl.wire.requests.configs.topic_configs import (
    APPEND,
    CONFIGS,
    DEFAULT,
    FOR_ALL_BROKERS,
    SET,
    STATIC,
    SUBTRACT,
    Config,
    ConfigType,
    Described,
    default_of,
    list_change,
    text,
)

MIN_ISR: Final = "min.insync.replicas"
DYNAMIC: Final[Mapping[str, Config]] = {
    config.of_brokers: config._replace(read=config.read_of_brokers or config.read)
    for config in CONFIGS.values()
}
NUMBERS: Final[Mapping[str, tuple[str, ConfigType]]] = {
    "broker.heartbeat.interval.ms": ("heartbeat_ms", ConfigType.INT),
    "broker.session.timeout.ms": ("session_timeout_ms", ConfigType.INT),
    "replica.lag.time.max.ms": ("replica_lag_ms", ConfigType.LONG),
    "replica.fetch.wait.max.ms": ("replica_fetch_wait_ms", ConfigType.INT),
    "replica.fetch.backoff.ms": ("replica_fetch_backoff_ms", ConfigType.INT),
    "replica.socket.timeout.ms": ("replica_fetch_timeout_ms", ConfigType.INT),
    "replica.high.watermark.checkpoint.interval.ms": ("checkpoint_ms", ConfigType.LONG),
    "request.timeout.ms": ("request_timeout_ms", ConfigType.INT),
    "group.initial.rebalance.delay.ms": ("group_initial_delay_ms", ConfigType.INT),
    "group.min.session.timeout.ms": ("group_min_session_ms", ConfigType.INT),
    "group.max.session.timeout.ms": ("group_max_session_ms", ConfigType.INT),
    "group.consumer.session.timeout.ms": ("member_session_ms", ConfigType.INT),
    "group.consumer.assignment.interval.ms": ("member_assignment_ms", ConfigType.INT),
    "group.consumer.heartbeat.interval.ms": ("member_heartbeat_ms", ConfigType.INT),
    "log.retention.check.interval.ms": ("retention_check_ms", ConfigType.LONG),
    "log.cleaner.backoff.ms": ("cleaner_backoff_ms", ConfigType.LONG),
    "log.flush.scheduler.interval.ms": ("flush_check_ms", ConfigType.LONG),
    "offsets.retention.check.interval.ms": ("offsets_check_ms", ConfigType.LONG),
    "producer.id.expiration.ms": ("producer_expiration_ms", ConfigType.INT),
    "transactional.id.expiration.ms": ("transactional_id_expiration_ms", ConfigType.INT),
    "transaction.max.timeout.ms": ("transaction_max_ms", ConfigType.INT),
    "group.max.size": ("group_max_size", ConfigType.INT),
    "group.consumer.max.size": ("consumer_group_max_size", ConfigType.INT),
    "max.incremental.fetch.session.cache.slots": ("fetch_session_slots", ConfigType.INT),
    "num.partitions": ("default_partitions", ConfigType.INT),
    "log.retention.hours": ("retention_hours", ConfigType.INT),
    "log.retention.minutes": ("retention_minutes", ConfigType.INT),
    "log.roll.hours": ("roll_hours", ConfigType.INT),
}
_KAFKA_MS: Final[Mapping[str, int]] = dict(KAFKA_SETTINGS.numbers)


class Broker(NamedTuple):
    broker_id: int
    times_ms: Mapping[str, int]  # the timeouts and intervals, by field
    verifies_transactions: bool
    auto_creates_topics: bool
    replicas: int


class Static(NamedTuple):
    type: ConfigType
    value: Callable[[Broker], Any]
    default: Any


def _time(field: str, kind: ConfigType, unit_ms: int = 1) -> Static:
    return Static(
        kind, lambda broker: broker.times_ms[field] // unit_ms, _KAFKA_MS[field] // unit_ms
    )


def _fixed(kind: ConfigType, value: Any) -> Static:
    return Static(kind, lambda _: value, value)


STATIC_CONFIGS: Final[Mapping[str, Static]] = {
    "broker.id": Static(ConfigType.INT, lambda broker: broker.broker_id, -1),
    "node.id": Static(ConfigType.INT, lambda broker: broker.broker_id, None),
    "auto.create.topics.enable": Static(
        ConfigType.BOOLEAN, lambda broker: broker.auto_creates_topics, default=True
    ),
    "default.replication.factor": Static(ConfigType.INT, lambda broker: broker.replicas, 1),
    "socket.request.max.bytes": _fixed(ConfigType.INT, LIMITS.frame_bytes),
    "transaction.partition.verification.enable": Static(
        ConfigType.BOOLEAN, lambda broker: broker.verifies_transactions, default=True
    ),
    "offsets.retention.minutes": _time("offsets_retention_ms", ConfigType.INT, 60_000),
    **{name: _time(field, kind) for name, (field, kind) in NUMBERS.items()},
    "log.retention.minutes": Static(
        ConfigType.INT, lambda broker: broker.times_ms["retention_minutes"] or None, None
    ),
}
# They have no default: log.retention.hours, log.roll.hours and log.flush.scheduler.interval.ms have
# it.
_WITHOUT_DEFAULT: Final = frozenset({"log.retention.ms", "log.roll.ms", "log.flush.interval.ms"})
# Others that Kafka never changes while a broker runs; they have no value here.
_NO_VALUE: Final = frozenset({"log.dir", "log.dirs", "process.roles", "controller.quorum.voters"})


_NEVER_CHANGED: Final = (STATIC_CONFIGS.keys() | _NO_VALUE) - unserved.OF_BROKERS.keys()


class Refused(ValueError):
    """Raised if a request is refused. `error` is the error code of the response."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error


def describe_broker(
    broker_id: int,
    started_with: DescribedSettings,
    defaults: TopicDefaults,
    *,
    auto_creates_topics: bool,
    replicas: int,
) -> list[Described]:
    """Returns the settings of a broker, the dynamic settings first. `replicas` is the default
    replication factor.
    """
    broker = Broker(
        broker_id=broker_id,
        times_ms=dict(started_with.times_ms),
        verifies_transactions=started_with.verifies_transactions,
        auto_creates_topics=auto_creates_topics,
        replicas=replicas,
    )
    own = replace(defaults, at_start=started_with.topic_defaults)
    found = [_dynamic(name, config, own) for name, config in DYNAMIC.items()]
    for name, (kind, value_of, default) in STATIC_CONFIGS.items():
        value = value_of(broker)
        source = DEFAULT if value == default else STATIC
        found.append(Described(name, None if value is None else text(value), source, kind))
    return found


def describe_defaults(defaults: TopicDefaults) -> list[Described]:
    """Returns the dynamic defaults of the cluster. DescribeConfigs returns them for a broker
    with an empty name.
    """
    found = (_dynamic(name, config, defaults) for name, config in DYNAMIC.items())
    return [one for one in found if one.source == FOR_ALL_BROKERS]


def _dynamic(name: str, config: Config, defaults: TopicDefaults) -> Described:
    value, source = default_of(config.field, defaults)
    has_none = source == DEFAULT and name in _WITHOUT_DEFAULT
    return Described(name, None if has_none else text(value), source, config.type)


# ---------------------------------------------------------------- changes


def changed_defaults(
    name: str, broker_id: int, configs: Iterable[Any], defaults: TopicDefaults
) -> AlterDefaults:
    """Returns the request to change the settings in `configs`. Other settings do not change.

    `name` is the id of a broker, or empty for a change on all brokers. `defaults` are the defaults
    before the change. Raises Refused for a change that is not supported. A change on a single
    broker is not supported.
    """
    return _alter(name, broker_id, tuple(_operations(configs, defaults)))


def replaced_defaults(
    name: str, broker_id: int, configs: Iterable[Any], defaults: TopicDefaults
) -> AlterDefaults:
    """Returns the request to set the defaults in `configs`, and to remove all other defaults.
    Raises Refused if the change is not supported.
    """
    del defaults
    values = tuple((one.name, one.value) for one in configs)
    named = {name for name, _ in values}
    removed = ((name, None) for name in DYNAMIC if name not in named)
    return _alter(name, broker_id, (*values, *removed))


def _operations(
    configs: Iterable[Any], defaults: TopicDefaults
) -> Iterator[tuple[str, str | None]]:
    for change in configs:
        if change.config_operation in {APPEND, SUBTRACT}:
            yield change.name, _changed_list(change, defaults)
        else:
            yield change.name, change.value if change.config_operation == SET else None


def _changed_list(change: Any, defaults: TopicDefaults) -> str:
    try:
        words = list_change(DYNAMIC, change)
    except ValueError as fault:
        word = "append" if change.config_operation == APPEND else "subtract"
        why = f"Config value {word} is not allowed for config key: {change.name}"
        raise Refused(ErrorCode.INVALID_CONFIG, why) from fault
    before = getattr(defaults, words.setting)
    try:
        return text(words.applied_to(BUILT_IN[words.setting] if before is None else before))
    except ValueError as fault:
        why = f"Invalid value {change.value} for configuration {change.name}"
        raise Refused(ErrorCode.INVALID_REQUEST, why) from fault


def _alter(
    resource: str, broker_id: int, values: tuple[tuple[str, str | None], ...]
) -> AlterDefaults:
    if resource and not resource.removeprefix("-").isdecimal():
        why = f"Node id must be an integer, but it is: {resource}"
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    if resource and int(resource) != broker_id:
        why = f"Unexpected broker id, expected {broker_id}, but received {resource}"
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    static = sorted({name for name, _ in values} & _NEVER_CHANGED)
    if static:
        why = f"Cannot update these configs dynamically: [{', '.join(static)}]"
        raise Refused(ErrorCode.INVALID_REQUEST, why)
    found: dict[str, Any] = {}
    for name, value in values:
        if name in DYNAMIC:
            found[DYNAMIC[name].field] = None if value is None else _read(name, value)
        elif value is not None:
            raise Refused(ErrorCode.INVALID_CONFIG, unserved.of_brokers(name))
    is_named = MIN_ISR in {name for name, _ in values}
    refusals = (
        (
            resource and is_named,
            f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled.",
        ),
        (
            not resource and is_named and found["min_insync_replicas"] is None,
            f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled.",
        ),
        (resource and found, "set it for all brokers: name the broker resource ''"),
    )
    for applies, why in refusals:
        if applies:
            raise Refused(ErrorCode.INVALID_CONFIG, why)
    return AlterDefaults(defaults=TopicSettings(**found), names=frozenset(found))


def _read(name: str, value: str) -> Any:
    read: Callable[[str], Any] = DYNAMIC[name].read
    try:
        return read(value)
    except ValueError as fault:
        why = f"Invalid value {value} for configuration {name}: {fault}"
        raise Refused(ErrorCode.INVALID_REQUEST, why) from fault
