"""Reads a user's .properties file with settings for the clients, which override the settings of the
workload.

The file has the settings that a cluster requires, such as those for TLS and SASL. Its keys are the
configuration keys of librdkafka.

Source: java.util.Properties, for the notation; librdkafka's CONFIGURATION.md, for the keys.
Simplified: a value cannot contain an escape sequence, and a line cannot continue on the next line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from confluent_kafka import KafkaError, KafkaException

from model.faults import InputFault

Acks = Literal["all", "1"]

# Every setting that differs from librdkafka's default, with the reason.
EVERY_CLIENT: Final[Mapping[str, Any]] = {
    "log_level": 0,  # dropped connections would fill the terminal; the history has them
    "reconnect.backoff.ms": 10,  # faults drop many connections
    "reconnect.backoff.max.ms": 200,
}
PRODUCER: Final[Mapping[str, Any]] = {
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 0,  # one request for each operation, so that the history has more requests
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 100,
    "message.timeout.ms": 20_000,  # after this the operation is `info`
}
ACKS_1: Final[Mapping[str, Any]] = {
    **PRODUCER,
    "enable.idempotence": False,  # an idempotent producer requires acks=all
    "acks": "1",
}
TRANSACTIONAL: Final[Mapping[str, Any]] = {
    **PRODUCER,
    "transaction.timeout.ms": 10_000,  # an abandoned transaction blocks readers for this long
    "message.timeout.ms": 8_000,  # must be less than transaction.timeout.ms
}
CONSUMER: Final[Mapping[str, Any]] = {
    "group.id": "urteil-assign-only",  # required by librdkafka; no client joins or commits
    "enable.auto.commit": False,
    "auto.offset.reset": "error",  # a lost position must appear in the history
    "fetch.wait.max.ms": 100,
    "fetch.error.backoff.ms": 20,
}
MEMBER: Final[Mapping[str, Any]] = {
    **CONSUMER,
    "auto.offset.reset": "earliest",  # if the group lost its first offsets
    "isolation.level": "read_committed",
    "session.timeout.ms": 6_000,  # the minimum of a broker: a dead member is removed soon
    "heartbeat.interval.ms": 500,
}


class BadClientConfig(InputFault):
    """Raised for an invalid client configuration. The message names the file, the line
    and the key.
    """


@dataclass(frozen=True, slots=True)
class ClientConfig:
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    path: Path | None = None
    lines: Mapping[str, int] = field(default_factory=dict[str, int])

    def merged(self, bootstrap_servers: str, kind: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the settings of a client. `kind` has the settings that all clients of its type
        have, such as all producers. The user's properties override every setting except the address
        of the cluster.
        """
        return {
            **EVERY_CLIENT,
            **kind,
            **self.properties,
            "bootstrap.servers": bootstrap_servers,
        }

    def make(self, client: Callable[[dict[str, Any]], Any], settings: dict[str, Any]) -> Any:
        """Creates a client by calling `client` with `settings`. Raises BadClientConfig if the
        client library rejects a setting.
        """
        try:
            return client(settings)
        except (KafkaException, TypeError, ValueError) as error:
            reason = _reason(error)
            key = self._refused(client, reason)
            if key is None:
                raise BadClientConfig(
                    f"{self.path}: the client library rejects these settings: {reason}"
                ) from error
            raise BadClientConfig(
                f"{self.path}, line {self.lines[key]}: {key}: {reason}"
            ) from error

    def _refused(self, client: Callable[[dict[str, Any]], Any], reason: str) -> str | None:
        named = [key for key in self.properties if key in reason]
        for key, value in () if named else self.properties.items():
            try:
                client({"group.id": "", key: value})
            except (KafkaException, TypeError, ValueError):
                named.append(key)
        return max(named, key=len, default=None)


def read(path: Path) -> ClientConfig:
    """Returns the properties in a client configuration file. Raises BadClientConfig if the file
    is unreadable, if a line is malformed, or if a line sets a key that an earlier line has set.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadClientConfig(
            f"{path}: {error}; --client-config needs a text file of key=value lines"
        ) from error
    properties: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        key, separator, value = re.match(r"([^=:]*)([=:]?)(.*)", stripped).groups()  # type: ignore[union-attr]  # matches any line
        key = key.strip()
        if not separator or not key:
            raise BadClientConfig(f"{path}, line {number}: write key=value, not {stripped!r}")
        if key in properties:
            raise BadClientConfig(
                f"{path}, line {number}: {key} is already set in line {lines[key]}; remove one"
            )
        properties[key], lines[key] = value.strip(), number
    return ClientConfig(properties, path, lines)


def _reason(error: BaseException) -> str:
    cause = error.args[0] if error.args else None
    return cause.str() if isinstance(cause, KafkaError) else str(error)
