"""What topics are told to keep: settings by name, and a broker that obeys them by the clock."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from reference_impl.log_config import CleanupPolicy, LogConfig
from reference_impl.wire.hosting import SERVED
from reference_impl.wire.serve import ServeOptions, serving
from reference_impl.wire.topic_configs import CONFIGS, configured


@dataclass
class Told:
    """A setting of a request."""

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
    }
    assert values.keys() == CONFIGS.keys()
    for name, (value, meant) in values.items():
        found = configured([Told(name, value)])
        field = CONFIGS[name].field
        if field in found:
            assert found == {field: meant, "log_config": LogConfig()}
        else:
            assert found == {"log_config": replace(LogConfig(), **{field: meant})}


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("retention.ms", "soon", "retention.ms=soon: a number from -1 on is needed"),
        ("retention.ms", "-2", "retention.ms=-2: a number from -1 on is needed"),
        ("segment.bytes", None, "segment.bytes=None: a number from 14 on is needed"),
        ("cleanup.policy", "both", "cleanup.policy=both: delete or compact is needed"),
        ("compression.type", "zstd", "are served, not compression.type=zstd"),
    ],
)
def test_a_setting_that_means_nothing_is_refused_by_name(
    name: str, value: str | None, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        configured([Told(name, value)])


def test_records_go_when_their_time_is_over() -> None:
    with serving(
        ServeOptions(brokers=1, patience=replace(SERVED, retention_check_ms=200))
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
