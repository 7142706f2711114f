"""The settings of a broker and of the controller: times, limits and defaults of topics.

The constructor checks relations between the times. For example, a heartbeat interval above the
session timeout would fence every broker.

Source: Kafka documentation, "Broker Configs". Each comment below names Kafka's setting.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final

from reference_impl.protocol.topic_config import LARGEST_MS
from reference_impl.protocol.topic_settings import BUILT_IN, NO_SETTINGS, TopicSettings

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """The settings of a broker: times in ms, limits without a unit, and the default settings of
    topics.

    The constructor raises ValueError if a timeout is too short, for example if the session timeout
    is below the heartbeat interval.
    """

    heartbeat_ms: int = 2_000  # broker.heartbeat.interval.ms
    session_timeout_ms: int = 9_000  # broker.session.timeout.ms
    replica_lag_ms: int = 30_000  # replica.lag.time.max.ms
    replica_fetch_wait_ms: int = 500  # replica.fetch.wait.max.ms
    replica_fetch_timeout_ms: int = 30_000  # replica.socket.timeout.ms
    replica_fetch_backoff_ms: int = 1_000  # replica.fetch.backoff.ms
    request_timeout_ms: int = 30_000  # request.timeout.ms, of a broker's request to a coordinator
    coordinator_ms: int = 1_000  # interval of a coordinator's retries and timeout checks
    coordinator_load_ms: int = 0  # time to load a coordinator's log; Kafka's grows with the log
    group_initial_delay_ms: int = 3_000  # group.initial.rebalance.delay.ms
    group_min_session_ms: int = 6_000  # group.min.session.timeout.ms
    group_max_session_ms: int = 1_800_000  # group.max.session.timeout.ms
    retention_check_ms: int = 300_000  # log.retention.check.interval.ms
    cleaner_backoff_ms: int = 15_000  # log.cleaner.backoff.ms: between two looks for dirty logs
    flush_check_ms: int = LARGEST_MS  # log.flush.scheduler.interval.ms: never
    transactional_id_expiration_ms: int = 604_800_000  # transactional.id.expiration.ms
    producer_expiration_ms: int = 86_400_000  # producer.id.expiration.ms
    member_session_ms: int = 45_000  # group.consumer.session.timeout.ms
    member_heartbeat_ms: int = 5_000  # group.consumer.heartbeat.interval.ms
    member_assignment_ms: int = 1_000  # group.consumer.assignment.interval.ms
    offsets_retention_ms: int = 604_800_000  # offsets.retention.minutes
    offsets_check_ms: int = 600_000  # offsets.retention.check.interval.ms
    checkpoint_ms: int = 5_000  # replica.high.watermark.checkpoint.interval.ms, and the flush
    transaction_max_ms: int = 900_000  # transaction.max.timeout.ms: the longest of a producer
    group_max_size: int = 2**31 - 1  # group.max.size: members of a classic group
    consumer_group_max_size: int = 2**31 - 1  # group.consumer.max.size: those of a KIP-848 group
    fetch_session_slots: int = 1_000  # max.incremental.fetch.session.cache.slots
    default_partitions: int = 1  # num.partitions: of a topic that is created without a number
    retention_hours: int = 168  # log.retention.hours
    retention_minutes: int = 0  # log.retention.minutes, which replaces the hours; 0: not set
    roll_hours: int = 168  # log.roll.hours
    # Defaults of topics under the brokers' names, such as log.retention.ms.
    own_topic_defaults: TopicSettings = NO_SETTINGS

    @property
    def numbers(self) -> tuple[tuple[str, int], ...]:
        """The names and the values of all times and limits."""
        names = (field.name for field in fields(self) if field.name != "own_topic_defaults")
        return tuple((name, getattr(self, name)) for name in names)

    @property
    def topic_defaults(self) -> TopicSettings:
        """The default settings of topics. If log.retention.ms is not set, log.retention.minutes or
        log.retention.hours decides. If log.roll.ms is not set, log.roll.hours decides.

        Kafka: AbstractKafkaConfig.logRetentionTimeMillis and logRollTimeMillis.
        """
        minutes = self.retention_minutes or self.retention_hours * 60
        coarse = (("retention_ms", minutes * MINUTE_MS), ("segment_ms", self.roll_hours * HOUR_MS))
        found = {name: ms for name, ms in coarse if ms != BUILT_IN[name]}
        return replace(NO_SETTINGS, **(found | dict(self.own_topic_defaults.set_values())))

    def __post_init__(self) -> None:
        for longer, shorter in (
            ("session_timeout_ms", "heartbeat_ms"),
            ("member_session_ms", "member_heartbeat_ms"),
            ("replica_lag_ms", "replica_fetch_wait_ms"),
            ("replica_fetch_timeout_ms", "replica_fetch_wait_ms"),
        ):
            if getattr(self, longer) <= getattr(self, shorter):
                raise ValueError(f"{longer} must be longer than {shorter}: {self}")


KAFKA_SETTINGS: Final = BrokerSettings()
