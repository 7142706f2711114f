"""The defaults of timeouts are those of Apache Kafka 4.3."""

from __future__ import annotations

import pytest

from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.topic_settings import NO_SETTINGS, TopicSettings

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000

# Each with the setting of Kafka, or with the reason for another value.
TIMEOUTS = {
    "heartbeat_ms": ("broker.heartbeat.interval.ms", 2 * SECOND),
    "session_timeout_ms": ("broker.session.timeout.ms", 9 * SECOND),
    "replica_lag_ms": ("replica.lag.time.max.ms", 30 * SECOND),
    "replica_fetch_wait_ms": ("replica.fetch.wait.max.ms", 500),
    "replica_fetch_timeout_ms": ("replica.socket.timeout.ms", 30 * SECOND),
    "replica_fetch_backoff_ms": ("replica.fetch.backoff.ms", SECOND),
    "request_timeout_ms": ("request.timeout.ms", 30 * SECOND),
    "coordinator_ms": ("one interval of several schedulers of Kafka", SECOND),
    "coordinator_load_ms": ("an empty log is loaded at once", 0),
    "group_initial_delay_ms": ("group.initial.rebalance.delay.ms", 3 * SECOND),
    "group_min_session_ms": ("group.min.session.timeout.ms", 6 * SECOND),
    "group_max_session_ms": ("group.max.session.timeout.ms", 30 * MINUTE),
    "retention_check_ms": ("log.retention.check.interval.ms", 5 * MINUTE),
    "cleaner_backoff_ms": ("log.cleaner.backoff.ms", 15 * SECOND),
    "flush_check_ms": ("log.flush.scheduler.interval.ms", 9_223_372_036_854_775_807),
    "transactional_id_expiration_ms": ("transactional.id.expiration.ms", 7 * DAY),
    "producer_expiration_ms": ("producer.id.expiration.ms", DAY),
    "member_session_ms": ("group.consumer.session.timeout.ms", 45 * SECOND),
    "member_heartbeat_ms": ("group.consumer.heartbeat.interval.ms", 5 * SECOND),
    "member_assignment_ms": ("group.consumer.assignment.interval.ms", SECOND),
    "offsets_retention_ms": ("offsets.retention.minutes", 7 * DAY),
    "offsets_check_ms": ("offsets.retention.check.interval.ms", 10 * MINUTE),
    "checkpoint_ms": ("replica.high.watermark.checkpoint.interval.ms", 5 * SECOND),
    "transaction_max_ms": ("transaction.max.timeout.ms", 15 * MINUTE),
    "group_max_size": ("group.max.size", 2_147_483_647),
    "consumer_group_max_size": ("group.consumer.max.size", 2_147_483_647),
    "fetch_session_slots": ("max.incremental.fetch.session.cache.slots", 1_000),
    "default_partitions": ("num.partitions", 1),
    "retention_hours": ("log.retention.hours", 7 * 24),
    "retention_minutes": ("log.retention.minutes is not set", 0),
    "roll_hours": ("log.roll.hours", 7 * 24),
}


def test_the_timeouts_are_those_of_kafka() -> None:
    assert dict(BrokerSettings().numbers) == {name: value for name, (_, value) in TIMEOUTS.items()}


def test_times_in_hours_or_minutes_are_defaults_of_topics_unless_they_are_kafkas_own() -> None:
    assert BrokerSettings().topic_defaults == NO_SETTINGS
    hours = BrokerSettings(retention_hours=2, roll_hours=3)
    assert hours.topic_defaults == TopicSettings(retention_ms=2 * HOUR, segment_ms=3 * HOUR)
    minutes = BrokerSettings(retention_hours=2, retention_minutes=5)
    assert minutes.topic_defaults == TopicSettings(retention_ms=5 * MINUTE)
    own = BrokerSettings(retention_hours=2, own_topic_defaults=TopicSettings(retention_ms=-1))
    assert own.topic_defaults == TopicSettings(retention_ms=-1)


@pytest.mark.parametrize(
    ("longer", "shorter"),
    [
        ("session_timeout_ms", "heartbeat_ms"),
        ("member_session_ms", "member_heartbeat_ms"),
        ("replica_lag_ms", "replica_fetch_wait_ms"),
        ("replica_fetch_timeout_ms", "replica_fetch_wait_ms"),
    ],
)
def test_a_timeout_is_longer_than_the_interval_inside_it(longer: str, shorter: str) -> None:
    interval = getattr(BrokerSettings(), shorter)
    with pytest.raises(ValueError, match=f"{longer} must be longer than {shorter}"):
        BrokerSettings(**{longer: interval})
    assert BrokerSettings(**{longer: interval + 1})
