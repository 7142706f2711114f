"""The clients' own configuration: what the workload sets, over it a .properties file of the user.

The file is how any cluster is reached (TLS, SASL): keys are librdkafka's, `#` and `!` begin a
comment, the first `=` or `:` parts key and value.

Source: java.util.Properties, for the notation; librdkafka's CONFIGURATION.md, for the keys.
Simplified: no escapes and no continued lines.
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

# Every setting that is not librdkafka's default, and why.
EVERY_CLIENT: Final[Mapping[str, Any]] = {
    "log_level": 0,  # a fault that drops connections would fill the terminal; the history tells
    "reconnect.backoff.ms": 10,  # many connections are cut: a recording takes seconds, not minutes
    "reconnect.backoff.max.ms": 200,
}
PRODUCER: Final[Mapping[str, Any]] = {
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 0,  # one operation, one request: the history has more of them
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 100,
    "message.timeout.ms": 20_000,  # then the operation is `info`
}
ACKS_1: Final[Mapping[str, Any]] = {
    **PRODUCER,
    "enable.idempotence": False,  # which asks for acks=all
    "acks": "1",
}
TRANSACTIONAL: Final[Mapping[str, Any]] = {
    **PRODUCER,
    "transaction.timeout.ms": 10_000,  # what nobody ends holds up readers for so long
    "message.timeout.ms": 8_000,  # has to be less
}
CONSUMER: Final[Mapping[str, Any]] = {
    "group.id": "urteil-assign-only",  # librdkafka wants one; nobody joins and nobody commits
    "enable.auto.commit": False,
    "auto.offset.reset": "error",  # a position that is gone is a fact, not to be jumped over
    "fetch.wait.max.ms": 100,
    "fetch.error.backoff.ms": 20,
}
MEMBER: Final[Mapping[str, Any]] = {
    **CONSUMER,
    "auto.offset.reset": "earliest",  # of a group that has committed nothing yet
    "isolation.level": "read_committed",
    "session.timeout.ms": 6_000,  # the least that a broker grants: a dead member is missed soon
    "heartbeat.interval.ms": 500,
}


class BadClientConfig(InputFault):
    """A client configuration that can't be used: names the file, the line and the key."""


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Properties of the user, and the line where each one stands."""

    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    path: Path | None = None
    lines: Mapping[str, int] = field(default_factory=dict[str, int])

    def merged(self, bootstrap_servers: str, kind: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of one client: ours, over them the user's; the address always wins."""
        return {
            **EVERY_CLIENT,
            **kind,
            **self.properties,
            "bootstrap.servers": bootstrap_servers,
        }

    def make(self, client: Callable[[dict[str, Any]], Any], settings: dict[str, Any]) -> Any:
        """A client with these settings; BadClientConfig when the library refuses one."""
        try:
            return client(settings)
        except (KafkaException, TypeError, ValueError) as error:
            reason = _reason(error)
            key = self._refused(client, reason)
            if key is None:
                raise BadClientConfig(f"the client library refuses: {reason}") from error
            raise BadClientConfig(
                f"{self.path}, line {self.lines[key]}: {key}: {reason}"
            ) from error

    def _refused(self, client: Callable[[dict[str, Any]], Any], reason: str) -> str | None:
        """The user's property that the reason names, else the first that is refused alone."""
        named = [key for key in self.properties if key in reason]
        for key, value in () if named else self.properties.items():
            try:
                client({"group.id": "", key: value})
            except (KafkaException, TypeError, ValueError):
                named.append(key)
        return max(named, key=len, default=None)


def read(path: Path) -> ClientConfig:
    """The properties in a file; BadClientConfig names what is wrong, and where."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadClientConfig(f"{path}: {error}; --client-config takes a text file") from error
    properties: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        key, separator, value = re.match(r"([^=:]*)([=:]?)(.*)", stripped).groups()  # type: ignore[union-attr]  # matches any line
        key = key.strip()
        if not separator or not key:
            raise BadClientConfig(f"{path}, line {number}: {stripped!r} is no key=value")
        if key in properties:
            raise BadClientConfig(
                f"{path}, line {number}: {key}: it stands already in line {lines[key]}"
            )
        properties[key], lines[key] = value.strip(), number
    return ClientConfig(properties, path, lines)


def _reason(error: BaseException) -> str:
    """What librdkafka says, without the wrapping."""
    told = error.args[0] if error.args else None
    return told.str() if isinstance(told, KafkaError) else str(error)
