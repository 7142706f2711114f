"""Subscriptions to metrics of clients are stored, described and listed (KIP-714)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving
from tests.reference_impl.wire.waiting import until

CLIENT_METRICS = 16
SET, DELETE, APPEND = 0, 1, 2
OWN, DEFAULT = 7, 5  # config sources
INT, LIST = 3, 7  # types
ABSENT = {
    "metrics": ("", DEFAULT, LIST),
    "interval.ms": ("300000", DEFAULT, INT),
    "match": ("", DEFAULT, LIST),
}


class Client:
    """Changes, describes and lists subscriptions over one connection."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def alter(self, name: str, *changes: tuple[str, int, str | None]) -> tuple[str, str]:
        configs = [
            {"name": key, "config_operation": operation, "value": value}
            for key, operation, value in changes
        ]
        return self._altered(Api.INCREMENTAL_ALTER_CONFIGS, 1, name, configs)

    def replace(self, name: str, **values: str) -> tuple[str, str]:
        configs = [{"name": key, "value": value} for key, value in values.items()]
        return self._altered(Api.ALTER_CONFIGS, 2, name, configs)

    def _altered(self, api: Api, version: int, name: str, configs: Any) -> tuple[str, str]:
        resource = {"resource_type": CLIENT_METRICS, "resource_name": name, "configs": configs}
        answer = self.connection.call(api, version, resources=[resource], validate_only=False)
        (one,) = answer.responses
        return ErrorCode(one.error_code).name, one.error_message or ""

    def describe(self, name: str) -> dict[str, Any]:
        wanted = {"resource_type": CLIENT_METRICS, "resource_name": name}
        answer = self.connection.call(
            Api.DESCRIBE_CONFIGS,
            4,
            resources=[{**wanted, "configuration_keys": None}],
            include_synonyms=False,
            include_documentation=False,
        )
        (found,) = answer.results
        assert found.error_code == 0, found.error_message
        return {one.name: (one.value, one.config_source, one.config_type) for one in found.configs}

    def listed(self) -> list[str]:
        answer = self.connection.call(Api.LIST_CONFIG_RESOURCES, 0)
        return [one.resource_name for one in answer.config_resources]


def test_a_subscription_is_changed_described_and_listed_until_its_last_setting_is_removed(
    connect: Callable[..., Any], tmp_path: Path
) -> None:
    options = ServeOptions(brokers=1, data_dir=tmp_path)
    with serving(options) as served:
        client = Client(connect(served.bootstrap_servers))
        assert client.describe("s") == ABSENT
        created = (("metrics", SET, "a.b , c, a.b"), ("interval.ms", SET, " 5000"))
        assert client.alter("s", *created) == ("NONE", "")
        own = {**ABSENT, "metrics": ("a.b,c", OWN, LIST), "interval.ms": ("5000", OWN, INT)}
        until(lambda: client.describe("s") == own)
        assert client.listed() == ["s"]
        refused = client.alter("s", ("metrics", SET, "*"), ("match", SET, "rack=a"))
        assert refused == ("INVALID_CONFIG", "Illegal client matching pattern: rack=a")
        refused = client.alter("s", ("metrics", APPEND, "d"))
        assert refused == (
            "INVALID_CONFIG",
            "Can't APPEND to key metrics because its type is not LIST.",
        )
        refused = client.alter("s", ("metrics", SET, None))
        assert refused == ("INVALID_REQUEST", "Null value not supported for : metrics")
    with serving(options) as served:
        client = Client(connect(served.bootstrap_servers))
        assert client.describe("s") == own
        assert client.replace("s", match="client_id=app.*") == ("NONE", "")
        until(lambda: client.describe("s") == {**ABSENT, "match": ("client_id=app.*", OWN, LIST)})
        assert client.alter("s", ("match", DELETE, None)) == ("NONE", "")
        until(lambda: client.listed() == [])
        assert client.describe("s") == ABSENT
