"""Topic settings: their names in requests, and their effects on a broker over time."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
)
from confluent_kafka.cimpl import NewPartitions, NewTopic
from hypothesis import given
from hypothesis import strategies as st

from model.vocabulary import BrokerId
from model.vocabulary import TopicPartition as Place
from reference_impl.controller.cluster_state import ClusterState
from reference_impl.controller.topics import create_topic
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.topic_config import (
    CleanupPolicy,
    CompressionType,
    LogConfig,
    TimestampType,
)
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.requests.configs.topic_configs import (
    CONFIGS,
    alter_configs_fields,
    create_topic_fields,
    describe,
)
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving
from tests.reference_impl.wire.waiting import until


@dataclass
class Setting:
    name: str
    value: str | None


def test_each_setting_is_a_field_of_a_topic_or_of_its_log() -> None:
    values: dict[str, tuple[str, Any]] = {
        "min.insync.replicas": ("2", 2),
        "unclean.leader.election.enable": ("true", True),
        "cleanup.policy": ("compact", CleanupPolicy.COMPACT),
        "retention.ms": ("-1", -1),
        "retention.bytes": ("1000", 1000),
        "segment.bytes": ("100", 100),
        "delete.retention.ms": ("0", 0),
        "max.message.bytes": ("1000", 1000),
        "flush.messages": ("1", 1),
        "flush.ms": ("0", 0),
        "file.delete.delay.ms": ("0", 0),
        "compression.type": ("zstd", CompressionType.ZSTD),
        "compression.gzip.level": ("-1", -1),
        "compression.lz4.level": ("17", 17),
        "compression.zstd.level": ("-131072", -131_072),
        "segment.ms": ("1", 1),
        "min.cleanable.dirty.ratio": ("0.25", 0.25),
        "min.compaction.lag.ms": ("1", 1),
        "max.compaction.lag.ms": ("1", 1),
        "message.timestamp.type": ("LogAppendTime", TimestampType.LOG_APPEND_TIME),
        "message.timestamp.before.max.ms": ("0", 0),
        "message.timestamp.after.max.ms": ("0", 0),
    }
    assert values.keys() == CONFIGS.keys()
    for name, (value, meant) in values.items():
        found = create_topic_fields([Setting(name, value)])
        field = CONFIGS[name].field
        assert found.pop("configured") == {field}
        if field in found:
            assert found == {field: meant, "log_config": LogConfig()}
        else:
            assert found == {"log_config": replace(LogConfig(), **{field: meant})}


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("retention.ms", "soon", "retention.ms=soon: must be a number of at least -1"),
        ("retention.ms", "-2", "retention.ms=-2: must be a number of at least -1"),
        ("segment.bytes", None, "segment.bytes=None: must be a number of at least 14"),
        ("cleanup.policy", "both", "cleanup.policy=both: must be delete or compact"),
        ("compression.type", "none", "must be uncompressed or zstd or lz4 or snappy or gzip"),
        ("compression.gzip.level", "0", "must be a number between 1 and 9 or -1"),
        ("compression.lz4.level", "18", "must be a number between 1 and 17"),
        ("compression.zstd.level", "23", "must be a number between -131072 and 22"),
        ("preallocate", "true", "preallocate is not supported: files grow as they are written"),
        ("nonsense", "1", "Unknown topic config name: nonsense"),
        ("min.cleanable.dirty.ratio", "1.5", "must be a number between 0 and 1"),
        ("min.cleanable.dirty.ratio", "half", "must be a number between 0 and 1"),
        ("message.timestamp.type", "Now", "must be CreateTime or LogAppendTime"),
    ],
)
def test_an_invalid_setting_is_rejected_by_name(name: str, value: str | None, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        create_topic_fields([Setting(name, value)])


def test_the_two_limits_of_the_compaction_lag_must_not_cross() -> None:
    """Kafka: LogConfig.validateValues."""
    lags = [Setting("min.compaction.lag.ms", "6"), Setting("max.compaction.lag.ms", "5")]
    why = r"min.compaction.lag.ms \(6\) > max.compaction.lag.ms \(5\)"
    with pytest.raises(ValueError, match=why):
        create_topic_fields(lags)
    lags[0].value = "5"
    assert create_topic_fields(lags)["log_config"].conflict == ""


@dataclass
class Change(Setting):
    config_operation: int = 0


def test_a_deleted_setting_has_its_default_again() -> None:
    values = [Change("retention.ms", "7"), Change("min.insync.replicas", None, 1)]
    assert alter_configs_fields(values) == {
        "retention_ms": 7,
        "min_insync_replicas": 1,
        "deleted": {"min_insync_replicas"},
        "lists": (),
    }


def test_the_deletion_of_an_unsupported_setting_changes_nothing() -> None:
    """The deletion of a setting that no topic has is accepted, and changes nothing.

    Kafka: ConfigurationControlManager.incrementalAlterConfigResource.
    """
    nothing = {"deleted": frozenset(), "lists": ()}
    assert alter_configs_fields([Change("nonsense", None, 1)]) == nothing


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ([Change("retention.ms", "soon")], "retention.ms=soon: must be a number of at least -1"),
        ([Change("retention.ms", "1", 2)], "Can't APPEND to key retention.ms because its type is"),
        ([Change("preallocate", "1", 3)], "Can't SUBTRACT to key preallocate because its type is"),
        ([Change("preallocate", "true")], "preallocate is not supported"),
    ],
)
def test_an_invalid_change_is_rejected_by_name(changes: list[Change], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        alter_configs_fields(changes)


@given(
    st.fixed_dictionaries({
        "min.insync.replicas": st.integers(1, 3).map(str),
        "unclean.leader.election.enable": st.sampled_from(["true", "false"]),
        "cleanup.policy": st.sampled_from([one.value for one in CleanupPolicy]),
        "retention.ms": st.integers(-1, 10**12).map(str),
        "retention.bytes": st.integers(-1, 10**12).map(str),
        "segment.bytes": st.integers(14, 10**9).map(str),
        "delete.retention.ms": st.integers(0, 10**12).map(str),
        "max.message.bytes": st.integers(0, 2**31 - 1).map(str),
        "flush.messages": st.integers(1, 2**63 - 1).map(str),
        "flush.ms": st.integers(0, 2**63 - 1).map(str),
        "file.delete.delay.ms": st.integers(0, 2**63 - 1).map(str),
        "compression.type": st.sampled_from([one.value for one in CompressionType]),
        "compression.gzip.level": st.sampled_from(["-1", "1", "9"]),
        "compression.lz4.level": st.integers(1, 17).map(str),
        "compression.zstd.level": st.integers(-131_072, 22).map(str),
        "segment.ms": st.integers(1, 10**12).map(str),
        "min.cleanable.dirty.ratio": st.floats(0, 1).map(str),
        "min.compaction.lag.ms": st.integers(0, 9).map(str),
        "max.compaction.lag.ms": st.integers(9, 10**12).map(str),
        "message.timestamp.type": st.sampled_from([one.value for one in TimestampType]),
        "message.timestamp.before.max.ms": st.integers(0, 10**12).map(str),
        "message.timestamp.after.max.ms": st.integers(0, 10**12).map(str),
    })
)  # fmt: skip
def test_a_description_has_the_configured_values(values: dict[str, str]) -> None:
    assert values.keys() == CONFIGS.keys()
    request = CreateTopic(
        topic="t",
        replication_factor=1,
        **create_topic_fields(Setting(*one) for one in values.items()),
    )
    states, _ = create_topic(ClusterState(states={}, alive=(BrokerId(1),)), request)
    found = describe(states[Place("t", 0)])
    assert {one.name: one.value for one in found} == values
    assert not any(one.is_default for one in found)  # also those that were set to the default


def test_a_setting_that_was_never_set_is_described_as_a_default() -> None:
    request = CreateTopic(topic="t", replication_factor=1, min_insync_replicas=2)
    states, _ = create_topic(ClusterState(states={}, alive=(BrokerId(1),)), request)
    found = {one.name: one for one in describe(states[Place("t", 0)])}
    assert not found.pop("min.insync.replicas").is_default
    assert all(one.is_default for one in found.values())


def test_an_administrator_changes_a_topic_and_reads_the_change() -> None:
    with serving(
        ServeOptions(brokers=3, broker_settings=replace(SERVED, retention_check_ms=200))
    ) as served:
        servers = served.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([NewTopic("kept", 1, 3)])["kept"].result()
        producer = Producer({"bootstrap.servers": servers})
        producer.produce("kept", b"0", partition=0)
        assert producer.flush(10) == 0

        def settings() -> dict[str, str]:
            topic = ConfigResource(ConfigResource.Type.TOPIC, "kept")
            found = admin.describe_configs([topic])[topic].result(10)
            return {
                name: entry.value
                for name, entry in found.items()
                if entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
            }

        def change(name: str, operation: AlterConfigOpType, value: str | None = None) -> None:
            entry = ConfigEntry(name, value, incremental_operation=operation)
            topic = ConfigResource(ConfigResource.Type.TOPIC, "kept", incremental_configs=[entry])
            admin.incremental_alter_configs([topic])[topic].result(10)

        assert settings() == {}
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "nobody"})
        change("retention.ms", AlterConfigOpType.SET, "500")
        change("min.insync.replicas", AlterConfigOpType.SET, "3")
        until(lambda: settings() == {"retention.ms": "500", "min.insync.replicas": "3"})
        place = TopicPartition("kept", 0)
        until(lambda: consumer.get_watermark_offsets(place, 10, cached=False) == (1, 1))
        change("retention.ms", AlterConfigOpType.DELETE)
        until(lambda: settings() == {"min.insync.replicas": "3"})
        with pytest.raises(KafkaException, match="must be a number of at least -1"):
            change("retention.ms", AlterConfigOpType.SET, "soon")

        admin.create_partitions([NewPartitions("kept", 3)])["kept"].result(10)
        with pytest.raises(KafkaException, match="has 3 partitions already"):
            admin.create_partitions([NewPartitions("kept", 2)])["kept"].result(10)
        until(lambda: len(admin.list_topics("kept", 10).topics["kept"].partitions) == 3)
        late = Producer({"bootstrap.servers": servers})
        late.produce("kept", b"new", partition=2)
        assert late.flush(10) == 0
        consumer.assign([TopicPartition("kept", 2, 0)])
        message = consumer.poll(20)
        assert message is not None
        assert (message.partition(), message.value()) == (2, b"new")
        consumer.close()


def test_expired_records_are_deleted() -> None:
    with serving(
        ServeOptions(brokers=1, broker_settings=replace(SERVED, retention_check_ms=200))
    ) as served:
        servers = served.bootstrap_servers
        new = NewTopic("brief", 1, 1, config={"retention.ms": "500"})
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([new])["brief"].result()
        producer = Producer({"bootstrap.servers": servers})
        producer.produce("brief", b"0")
        producer.produce("brief", b"1")
        assert producer.flush(10) == 0
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "nobody"})
        place, deadline_s = TopicPartition("brief", 0), time.monotonic() + 20
        while (marks := consumer.get_watermark_offsets(place, 10, cached=False))[0] == 0:
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
        assert marks == (2, 2)
        consumer.close()
