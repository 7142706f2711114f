"""APPEND and SUBTRACT change single words of a setting that is a list (KIP-339)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving

Connect = Callable[..., Any]
TOPIC, BROKER = 2, 4
OPERATIONS: Final[Mapping[str, int]] = {"=": 0, "delete": 1, "+": 2, "-": 3}
POLICY, OF_BROKERS = "cleanup.policy", "log.cleanup.policy"


@pytest.fixture(scope="module")
def one_broker() -> Any:
    with serving(ServeOptions(brokers=1)) as served:
        yield served


@pytest.fixture
def connection(one_broker: Served, connect: Connect) -> Any:
    """Returns a connection to a broker that has a new topic `t` with all defaults."""
    admin = AdminClient({"bootstrap.servers": one_broker.bootstrap_servers})
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result(10)
    yield connect(one_broker.bootstrap_servers)
    admin.delete_topics(["t"])["t"].result(10)


def altered(connection: Any, *changes: tuple[str, str, str | None], **fields: Any) -> Any:
    """Sends changes, each an operation with a name and a value; returns the answer."""
    resource = {"resource_type": TOPIC, "resource_name": "t", **fields}
    resource["configs"] = [
        {"name": name, "config_operation": OPERATIONS[operation], "value": value}
        for operation, name, value in changes
    ]
    body: dict[str, Any] = {"resources": [resource], "validate_only": False}
    return connection.call(Api.INCREMENTAL_ALTER_CONFIGS, 1, **body).responses[0]


def described(connection: Any, name: str = POLICY, **fields: Any) -> tuple[str, int]:
    """Returns the value of a setting, and its source: 1 for the topic, 5 for Kafka's default."""
    resource = {"resource_type": TOPIC, "resource_name": "t", "configuration_keys": [name]}
    body: dict[str, Any] = {"resources": [resource | fields], "include_synonyms": False}
    (entry,) = connection.call(Api.DESCRIBE_CONFIGS, 4, **body).results[0].configs
    return entry.value, entry.config_source


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([("+", "compact")], ("delete,compact", 1)),
        ([("+", "compact"), ("+", "compact")], ("delete,compact", 1)),
        ([("+", "delete")], ("delete", 1)),
        ([("-", "delete")], ("", 1)),
        ([("-", "nonsense")], ("delete", 1)),
        ([("+", "compact"), ("-", "delete")], ("compact", 1)),
        ([("-", "delete"), ("+", "compact,delete")], ("compact,delete", 1)),
        ([("=", "compact, delete"), ("-", "compact")], ("delete", 1)),
        ([("+", "compact"), ("delete", None)], ("delete", 5)),
    ],
)
def test_words_are_added_and_removed(
    connection: Any, changes: Sequence[tuple[str, str | None]], expected: tuple[str, int]
) -> None:
    for operation, words in changes:
        assert altered(connection, (operation, POLICY, words)).error_code == 0
    assert described(connection) == expected


@pytest.mark.parametrize(
    ("changes", "error", "why"),
    [
        ([("+", POLICY, "nonsense")], "INVALID_CONFIG", "String must be one of: compact, delete"),
        (
            [("+", "retention.ms", "1")],
            "INVALID_CONFIG",
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        ([("+", POLICY, None)], "INVALID_REQUEST", "Null value not supported for : cleanup.policy"),
        (
            [("+", POLICY, "compact"), ("-", POLICY, "delete")],
            "INVALID_REQUEST",
            "Error due to duplicate config keys",
        ),
    ],
)
def test_a_change_that_cannot_be_applied_is_refused(
    connection: Any, changes: Sequence[tuple[str, str, str | None]], error: str, why: str
) -> None:
    """Kafka: ConfigAdminManager.preprocess, then ConfigurationControlManager."""
    answer = altered(connection, *changes)
    assert (ErrorCode(answer.error_code).name, why in answer.error_message) == (error, True)
    assert described(connection) == ("delete", 5)


def test_the_default_of_all_brokers_is_a_list_too(connection: Any) -> None:
    every: dict[str, Any] = {"resource_type": BROKER, "resource_name": ""}
    assert altered(connection, ("+", OF_BROKERS, "compact"), **every).error_code == 0
    assert described(connection) == ("delete,compact", 3)
    assert described(connection, OF_BROKERS, **every) == ("delete,compact", 3)
    assert altered(connection, ("-", OF_BROKERS, "delete"), **every).error_code == 0
    assert described(connection) == ("compact", 3)
    # The topic has no policy of its own yet: the words are added to Kafka's default.
    assert altered(connection, ("+", POLICY, "compact")).error_code == 0
    assert described(connection) == ("delete,compact", 1)
    assert altered(connection, ("delete", OF_BROKERS, None), **every).error_code == 0
