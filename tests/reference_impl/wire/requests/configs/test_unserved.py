"""Each setting that Kafka 4.3 has for topics is served, or its refusal has a reason."""

from __future__ import annotations

import pytest

from reference_impl.wire.requests.configs.broker_configs import DYNAMIC
from reference_impl.wire.requests.configs.topic_configs import CONFIGS
from reference_impl.wire.requests.configs.unserved import OF_TOPICS, of_brokers, of_topic

# LogConfig.nonInternalConfigNames of Apache Kafka 4.3.0
KAFKA = """
cleanup.policy compression.gzip.level compression.lz4.level compression.type compression.zstd.level
delete.retention.ms file.delete.delay.ms flush.messages flush.ms
follower.replication.throttled.replicas index.interval.bytes leader.replication.throttled.replicas
local.retention.bytes local.retention.ms max.compaction.lag.ms max.message.bytes
message.timestamp.after.max.ms message.timestamp.before.max.ms message.timestamp.type
min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas preallocate
remote.log.copy.disable remote.log.delete.on.disable remote.storage.enable retention.bytes
retention.ms segment.bytes segment.index.bytes segment.jitter.ms segment.ms
unclean.leader.election.enable
"""
# The defaults of topics in DynamicBrokerConfig.ALL_DYNAMIC_CONFIGS of Apache Kafka 4.3.0
OF_BROKERS = """
compression.gzip.level compression.lz4.level compression.type compression.zstd.level
log.cleaner.delete.retention.ms log.cleaner.max.compaction.lag.ms log.cleaner.min.cleanable.ratio
log.cleaner.min.compaction.lag.ms log.cleanup.policy log.flush.interval.messages
log.flush.interval.ms log.index.interval.bytes log.index.size.max.bytes log.local.retention.bytes
log.local.retention.ms log.message.timestamp.after.max.ms log.message.timestamp.before.max.ms
log.message.timestamp.type log.preallocate log.retention.bytes log.retention.ms log.roll.jitter.ms
log.roll.ms log.segment.bytes log.segment.delete.delay.ms message.max.bytes min.insync.replicas
unclean.leader.election.enable
"""


def test_each_setting_of_a_topic_is_served_or_refused_with_a_reason() -> None:
    assert CONFIGS.keys() | OF_TOPICS.keys() == set(KAFKA.split())
    assert not CONFIGS.keys() & OF_TOPICS.keys()


@pytest.mark.parametrize("name", OF_BROKERS.split())
def test_each_default_of_topics_is_served_or_refused_with_a_reason(name: str) -> None:
    assert (name in DYNAMIC) == of_brokers(name).endswith("no setting of brokers has this name")


def test_an_unknown_setting_of_a_topic_has_the_message_of_kafka() -> None:
    assert of_topic("nonsense") == "Unknown topic config name: nonsense"
