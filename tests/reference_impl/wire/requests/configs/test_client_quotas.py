"""Client quotas are stored, described and kept in the data directory (KIP-546)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving

Connect = Callable[..., Any]
Names = Mapping[str, str | None]
EXACT, DEFAULT, SPECIFIED = 0, 1, 2
RATE = "producer_byte_rate"


@pytest.fixture
def connection(connect: Connect) -> Iterator[Any]:
    with serving(ServeOptions(brokers=1)) as served:
        yield connect(served.bootstrap_servers)


def altered(
    connection: Any, *changes: tuple[Names, Mapping[str, float | None]], validate_only: bool = False
) -> list[tuple[str, str | None]]:
    """Sets quotas of entities, or removes those that are None; returns each error and message."""
    entries = [
        {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in names.items()],
            "ops": [
                {"key": key, "value": value or 0.0, "remove": value is None}
                for key, value in values.items()
            ],
        }
        for names, values in changes
    ]
    answer = connection.call(
        Api.ALTER_CLIENT_QUOTAS, 1, entries=entries, validate_only=validate_only
    )
    return [(ErrorCode(one.error_code).name, one.error_message) for one in answer.entries]


def described(
    connection: Any, *components: tuple[str, int, str | None], strict: bool = False
) -> list[tuple[Names, Mapping[str, float]]]:
    wanted = [
        {"entity_type": kind, "match_type": match_type, "match": name}
        for kind, match_type, name in components
    ]
    body: dict[str, Any] = {"components": wanted, "strict": strict}
    answer = connection.call(Api.DESCRIBE_CLIENT_QUOTAS, 1, **body)
    assert answer.error_code == 0, answer.error_message
    return [
        (
            {part.entity_type: part.entity_name for part in one.entity},
            {value.key: value.value for value in one.values},
        )
        for one in answer.entries
    ]


def test_quotas_are_set_replaced_and_removed(connection: Any) -> None:
    assert described(connection) == []
    values = {RATE: 1024.0, "request_percentage": 12.5}
    assert altered(connection, ({"user": "ada"}, values)) == [("NONE", None)]
    assert described(connection) == [({"user": "ada"}, values)]
    altered(connection, ({"user": "ada"}, {RATE: 2048.0, "request_percentage": None}))
    assert described(connection) == [({"user": "ada"}, {RATE: 2048.0})]
    altered(connection, ({"user": "ada"}, {RATE: None}), validate_only=True)
    assert described(connection) == [({"user": "ada"}, {RATE: 2048.0})]
    altered(connection, ({"user": "ada"}, {RATE: None, "consumer_byte_rate": None}))
    assert described(connection) == []


def test_a_filter_matches_names_defaults_and_types(connection: Any) -> None:
    entities: Sequence[Names] = (
        {"user": "ada"},
        {"user": None},
        {"user": "ada", "client-id": "app"},
        {"ip": "10.0.0.1"},
    )
    for names in entities:
        key = "connection_creation_rate" if "ip" in names else RATE
        assert altered(connection, (names, {key: 7.0})) == [("NONE", None)]

    def found(*components: tuple[str, int, str | None], strict: bool = False) -> list[Names]:
        return [names for names, _ in described(connection, *components, strict=strict)]

    ada = ("user", EXACT, "ada")
    assert len(found()) == 4
    assert found(ada) == [{"client-id": "app", "user": "ada"}, {"user": "ada"}]
    assert found(ada, strict=True) == [{"user": "ada"}]
    assert found(ada, ("client-id", SPECIFIED, None)) == [{"client-id": "app", "user": "ada"}]
    assert found(("user", DEFAULT, None)) == [{"user": None}]
    assert found(("ip", SPECIFIED, None)) == [{"ip": "10.0.0.1"}]
    assert found(strict=True) == []


@pytest.mark.parametrize(
    ("names", "values", "why"),
    [
        ({}, {RATE: 1.0}, "Invalid empty client quota entity"),
        ({"group": "g"}, {RATE: 1.0}, "Unhandled client quota entity type: group"),
        ({"user": ""}, {RATE: 1.0}, "Empty user not supported"),
        ({"ip": "10.0.0.1", "user": "ada"}, {RATE: 1.0}, "IP entity should"),
        ({"ip": "nowhere at all"}, {}, "is not a valid IP or resolvable host."),
        ({"ip": "10.0.0.1"}, {RATE: 1.0}, f"Invalid configuration key {RATE}"),
        ({"user": "ada"}, {"connection_creation_rate": 1.0}, "Invalid configuration key conn"),
        ({"user": "ada"}, {RATE: -1.0}, f"Quota {RATE} must be greater than 0"),
        ({"user": "ada"}, {RATE: 1.5}, f"{RATE} cannot be a fractional value."),
        ({"user": "ada"}, {RATE: 1e19}, f"Proposed value for {RATE} is too large for a LONG."),
        (
            {"ip": None},
            {"connection_creation_rate": 2.0**31},
            "Proposed value for connection_creation_rate is too large for a INT.",
        ),
    ],
)
def test_an_invalid_change_changes_nothing_of_its_entity(
    connection: Any, names: Names, values: Mapping[str, float], why: str
) -> None:
    """Kafka: ClientQuotaControlManager.alterClientQuotaEntity."""
    good = {"client-id": "app"}
    (refused, accepted) = altered(
        connection, (names, {"request_percentage": None, **values}), (good, {RATE: 9.0})
    )
    assert (refused[0], why in (refused[1] or "")) == ("INVALID_REQUEST", True)
    assert accepted == ("NONE", None)
    assert described(connection) == [(good, {RATE: 9.0})]


def test_an_entity_may_occur_only_once(connection: Any) -> None:
    """If a request changes an entity twice, only the first change is applied.

    The response has the error INVALID_REQUEST. Kafka: ClientQuotaControlManager.
    """
    one = {"user": "ada"}
    ((error, message),) = altered(connection, (one, {RATE: 1.0}), (one, {RATE: 2.0}))
    assert (error, "Ignoring duplicate entity" in (message or "")) == ("INVALID_REQUEST", True)
    assert described(connection) == [(one, {RATE: 1.0})]


@pytest.mark.parametrize(
    ("components", "error", "why"),
    [
        ([("", EXACT, "a")], 42, "Invalid empty entity type."),
        ([("user", EXACT, "a"), ("user", DEFAULT, None)], 42, "more than once in the filter"),
        ([("group", EXACT, "a")], 35, "Unsupported entity type group"),
        ([("user", EXACT, None)], 42, "but set match string to null."),
        ([("user", SPECIFIED, "a")], 42, "but also specified a match string."),
        ([("user", 3, None)], 42, "Unknown match type 3"),
        ([("user", EXACT, "a"), ("ip", DEFAULT, None)], 42, "should not be used with"),
    ],
)
def test_an_invalid_filter_is_refused(
    connection: Any, components: Sequence[tuple[str, int, str | None]], error: int, why: str
) -> None:
    """Kafka: ClientQuotasImage.describe."""
    names = ("entity_type", "match_type", "match")
    body: dict[str, Any] = {
        "components": [dict(zip(names, one, strict=True)) for one in components],
        "strict": False,
    }
    answer = connection.call(Api.DESCRIBE_CLIENT_QUOTAS, 1, **body)
    assert (answer.error_code, why in answer.error_message) == (error, True)


def test_quotas_survive_a_restart(connect: Connect, tmp_path: Path) -> None:
    options = ServeOptions(brokers=1, data_dir=tmp_path / "data")
    with serving(options) as served:
        altered(connect(served.bootstrap_servers), ({"user": None}, {RATE: 1.0}))
    with serving(options) as served:
        assert described(connect(served.bootstrap_servers)) == [({"user": None}, {RATE: 1.0})]
