"""Settings of brokers: their values, new defaults for topics, and the changes that are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving
from reference_impl.wire.serving.start_configs import started_with
from tests.reference_impl.wire.one_topic import produce
from tests.reference_impl.wire.single_requests import versions
from tests.reference_impl.wire.waiting import until

Connection = Any  # of conftest
Connect = Callable[..., Connection]
TOPIC, BROKER = 2, 4  # types of resources
SET, DELETE, APPEND = 0, 1, 2
OF_TOPIC, FOR_ALL, STATIC, DEFAULT = 1, 3, 4, 5  # config sources


def settings(broker: Connection, kind: int, name: str, version: int = 4) -> dict[str, Any]:
    """Returns the settings of a resource: value, source, and whether it is read-only."""
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
    body = {"include_synonyms": False, "include_documentation": False}
    (found,) = broker.call(Api.DESCRIBE_CONFIGS, version, resources=[resource], **body).results
    assert found.error_code == 0, found.error_message
    return {one.name: (one.value, one.config_source, one.read_only) for one in found.configs}


def altered(
    broker: Connection,
    name: str,
    value: str | None,
    *,
    resource: str = "",
    operation: int = SET,
    kind: int = BROKER,
    validate_only: bool = False,
) -> tuple[int, str]:
    change = {"name": name, "value": value, "config_operation": operation}
    wanted = [{"resource_type": kind, "resource_name": resource, "configs": [change]}]
    answer = broker.call(
        Api.INCREMENTAL_ALTER_CONFIGS, 1, resources=wanted, validate_only=validate_only
    )
    return answer.responses[0].error_code, answer.responses[0].error_message or ""


def created(broker: Connection, topic: str, **configs: str) -> None:
    own = [{"name": name.replace("_", "."), "value": value} for name, value in configs.items()]
    new = {"name": topic, "num_partitions": 1, "replication_factor": 1, "configs": own}
    answer = broker.call(Api.CREATE_TOPICS, 7, topics=[new], timeout=5000)
    assert answer.topics[0].error_code == 0


def of_topic(broker: Connection, topic: str, setting: str) -> tuple[str, int]:
    value, source, _ = settings(broker, TOPIC, topic)[setting]
    return value, source


@versions(Api.DESCRIBE_CONFIGS)
def test_a_broker_describes_the_settings_that_it_has(
    version: int, connect: Connect, cluster: Any
) -> None:
    broker = connect(cluster.bootstrap_servers)
    found = settings(broker, BROKER, "1", version)
    assert found["broker.id"] == ("1", STATIC, True)
    assert found["log.retention.bytes"] == ("-1", DEFAULT, False)
    assert found["log.retention.ms"] == (None, DEFAULT, False)
    assert found["log.flush.interval.ms"] == (None, DEFAULT, False)
    assert found["log.flush.scheduler.interval.ms"] == (str(2**63 - 1), DEFAULT, True)
    assert found["auto.create.topics.enable"] == ("false", STATIC, True)
    assert found["min.insync.replicas"] == ("1", FOR_ALL, False)
    assert found["transactional.id.expiration.ms"] == ("604800000", DEFAULT, True)
    assert settings(broker, BROKER, "", version) == {"min.insync.replicas": ("1", FOR_ALL, False)}


def test_the_timeouts_are_those_of_the_broker(connect: Connect) -> None:
    options = ServeOptions(brokers=1, auto_creates_topics=True)
    with serving(options) as served:
        found = settings(connect(served.bootstrap_servers), BROKER, "1")
        broker_settings = options.broker_settings
        assert found["broker.session.timeout.ms"][0] == str(broker_settings.session_timeout_ms)
        assert found["replica.lag.time.max.ms"][0] == str(broker_settings.replica_lag_ms)
        assert found["auto.create.topics.enable"] == ("true", DEFAULT, True)
        assert found["default.replication.factor"][0] == "1"


def test_a_changed_default_applies_to_topics_without_the_setting_and_survives_a_restart(
    connect: Connect, tmp_path: Path
) -> None:
    options = ServeOptions(brokers=1, data_dir=tmp_path)
    with serving(options) as served:
        broker = connect(served.bootstrap_servers)
        created(broker, "plain")
        created(broker, "own", retention_ms="7")
        assert altered(broker, "log.retention.ms", "5000", validate_only=True) == (0, "")
        assert altered(broker, "log.retention.ms", "6000") == (0, "")
        until(lambda: of_topic(broker, "plain", "retention.ms") == ("6000", FOR_ALL))
        assert of_topic(broker, "own", "retention.ms") == ("7", OF_TOPIC)
        created(broker, "later")
        until(lambda: of_topic(broker, "later", "retention.ms") == ("6000", FOR_ALL))
        forgotten: dict[str, Any] = {"kind": TOPIC, "resource": "own", "operation": DELETE}
        assert altered(broker, "retention.ms", None, **forgotten) == (0, "")
        until(lambda: of_topic(broker, "own", "retention.ms") == ("6000", FOR_ALL))
    with serving(options) as served:
        broker = connect(served.bootstrap_servers)
        assert settings(broker, BROKER, "1")["log.retention.ms"] == ("6000", FOR_ALL, False)
        assert of_topic(broker, "later", "retention.ms") == ("6000", FOR_ALL)
        assert altered(broker, "log.retention.ms", None, operation=DELETE) == (0, "")
        until(lambda: of_topic(broker, "plain", "retention.ms") == ("604800000", DEFAULT))


def test_settings_of_a_start_are_not_kept_at_the_next_start(
    connect: Connect, tmp_path: Path
) -> None:
    """As in Kafka, a setting has the value of the first source that has one.

    The sources are the topic's own config, the dynamic default of all brokers, the settings with
    which the cluster was started this time, and the built-in default. min.insync.replicas is an
    exception. Its value at a start becomes a dynamic default, which the next start keeps.
    """
    at_start = ["log.retention.ms=5000", "log.roll.hours=2", "min.insync.replicas=2"]
    first = ServeOptions(brokers=1, data_dir=tmp_path, broker_settings=started_with(at_start))
    with serving(first) as served:
        broker = connect(served.bootstrap_servers)
        created(broker, "plain")
        created(broker, "own", retention_ms="7")
        until(lambda: of_topic(broker, "plain", "retention.ms") == ("5000", STATIC))
        assert of_topic(broker, "plain", "segment.ms") == ("7200000", STATIC)
        assert of_topic(broker, "plain", "min.insync.replicas") == ("2", FOR_ALL)
        assert of_topic(broker, "own", "retention.ms") == ("7", OF_TOPIC)
        found = settings(broker, BROKER, "1")
        assert found["log.retention.ms"] == ("5000", STATIC, False)
        assert found["log.roll.ms"] == (None, DEFAULT, False)
        assert found["log.roll.hours"] == ("2", STATIC, True)
        assert altered(broker, "log.retention.ms", "6000") == (0, "")
        until(lambda: of_topic(broker, "plain", "retention.ms") == ("6000", FOR_ALL))
        assert altered(broker, "log.retention.ms", None, operation=DELETE) == (0, "")
        until(lambda: of_topic(broker, "plain", "retention.ms") == ("5000", STATIC))
    with serving(replace(first, broker_settings=SERVED)) as served:
        broker = connect(served.bootstrap_servers)
        until(lambda: of_topic(broker, "plain", "retention.ms") == ("604800000", DEFAULT))
        assert of_topic(broker, "plain", "segment.ms") == ("604800000", DEFAULT)
        assert of_topic(broker, "plain", "min.insync.replicas") == ("2", FOR_ALL)
        assert of_topic(broker, "own", "retention.ms") == ("7", OF_TOPIC)


def test_changed_defaults_take_effect_in_the_broker(connect: Connect) -> None:
    with serving(ServeOptions(brokers=1)) as served:
        broker = connect(served.bootstrap_servers)
        created(broker, "t")
        until(lambda: settings(broker, TOPIC, "t") != {})

        def error(value: bytes) -> int:
            answer = broker.call(Api.PRODUCE, 9, **produce("t", value))
            return int(answer.responses[0].partition_responses[0].error_code)

        until(lambda: error(bytes(500)) == 0)
        assert altered(broker, "message.max.bytes", "300") == (0, "")
        until(lambda: of_topic(broker, "t", "max.message.bytes")[0] == "300")
        assert error(bytes(501)) == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize(
    ("name", "value", "options", "error", "message"),
    [
        ("broker.id", "9", {}, ErrorCode.INVALID_REQUEST, "dynamically: [broker.id]"),
        ("num.partitions", "2", {}, ErrorCode.INVALID_REQUEST, "dynamically: [num.partitions]"),
        ("log.dirs", "/x", {"resource": "1"}, ErrorCode.INVALID_REQUEST, "[log.dirs]"),
        ("message.max.bytes", "-1", {}, ErrorCode.INVALID_REQUEST, "Invalid value -1 for"),
        ("log.segment.bytes", "1", {}, ErrorCode.INVALID_REQUEST, "at least 1048576"),
        ("log.retention.ms", None, {}, ErrorCode.INVALID_REQUEST, "Null value not supported"),
        (
            "min.insync.replicas",
            None,
            {"operation": DELETE},
            ErrorCode.INVALID_CONFIG,
            "Cluster-level min.insync.replicas cannot be removed",
        ),
        (
            "min.insync.replicas",
            "2",
            {"resource": "1"},
            ErrorCode.INVALID_CONFIG,
            "Broker-level min.insync.replicas cannot be altered",
        ),
        (
            "min.insync.replicas",
            "2",
            {"operation": APPEND},
            ErrorCode.INVALID_CONFIG,
            "append is not allowed for config key: min.insync.replicas",
        ),
        ("log.retention.ms", "5", {"resource": "9"}, ErrorCode.INVALID_REQUEST, "received 9"),
        ("log.retention.ms", "5", {"resource": "x"}, ErrorCode.INVALID_REQUEST, "an integer"),
        ("log.retention.ms", "5", {"resource": "1"}, ErrorCode.INVALID_CONFIG, "for all brokers"),
        ("num.io.threads", "5", {}, ErrorCode.INVALID_CONFIG, "all its work in one thread"),
        ("nonsense", "5", {}, ErrorCode.INVALID_CONFIG, "no setting of brokers has this name"),
    ],
)
def test_a_refused_change_has_the_error_of_kafka_or_names_the_reason(
    name: str,
    value: str | None,
    options: dict[str, Any],
    error: int,
    message: str,
    connect: Connect,
    cluster: Any,
) -> None:
    broker = connect(cluster.bootstrap_servers)
    before = settings(broker, BROKER, "")
    found = altered(broker, name, value, **options)
    assert found[0] == error
    assert message in found[1]
    assert settings(broker, BROKER, "") == before


@versions(Api.ALTER_CONFIGS)
def test_the_defaults_are_replaced_as_a_whole(version: int, connect: Connect) -> None:
    with serving(ServeOptions(brokers=1)) as served:
        broker = connect(served.bootstrap_servers)
        assert altered(broker, "log.retention.bytes", "9") == (0, "")

        def replaced(**values: str) -> int:
            configs = [{"name": name.replace("_", "."), "value": of} for name, of in values.items()]
            resource = {"resource_type": BROKER, "resource_name": "", "configs": configs}
            answer = broker.call(
                Api.ALTER_CONFIGS, version, resources=[resource], validate_only=False
            )
            return int(answer.responses[0].error_code)

        assert replaced(log_retention_ms="5") == ErrorCode.INVALID_CONFIG  # without min.insync
        assert replaced(log_retention_ms="5", min_insync_replicas="2") == 0
        found = {"min.insync.replicas": "2", "log.retention.ms": "5"}
        until(lambda: {n: one[0] for n, one in settings(broker, BROKER, "").items()} == found)
