"""Generates requests that change or describe client metrics subscriptions (KIP-714)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.steps import Send, Topic
from reference_impl.wire.messages.apis import Api

CLIENT_METRICS: Final = 16  # a type of resources
SET, DELETE, APPEND, SUBTRACT = range(4)
OPERATIONS: Final = ("set", "delete", "append to", "subtract from")
NAMES: Final = ("~s", "~s", "~s", "~other", "")
VALUES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("metrics", ("*", "org.apache.kafka.producer. , org.apache.kafka.consumer.", "")),
    ("metrics", ("a,a", "a,,b")),
    ("interval.ms", ("100", "3600000", " 5000 ", "+500")),
    ("interval.ms", ("99", "3600001", "soon", "2147483648", "")),
    ("match", ("client_id=app.*", "client_software_name = x, client_id=y", "client_id=a,b")),
    ("match", ("client_id", "client_id=", "=x", "client_id=a=b", "rack=a", "client_id=(")),
    ("push.ms", ("1",)),
)


@dataclass(slots=True)
class _Subscriptions:
    draw: Draw

    def send(self, api: Api, note: str, body: Any, to: str) -> None:
        self.draw.add(Send(api=api, version=self.draw.version(api), body=body, to=to, note=note))

    def _change(self) -> tuple[str, dict[str, Any]]:
        key, values = self.draw.one(VALUES)
        operation = self.draw.one((SET, SET, SET, SET, DELETE, DELETE, APPEND, SUBTRACT))
        value = None if operation == DELETE else self.draw.one(values)
        note = f"{OPERATIONS[operation]} {key}" + ("" if value is None else f" {value!r}")
        return note, {"name": key, "config_operation": operation, "value": value}

    def alter(self) -> None:
        note, change = self._change()
        _, other = self._change()
        changes = [change] if other["name"] == change["name"] else [change, other]
        self._alter(Api.INCREMENTAL_ALTER_CONFIGS, note, changes)

    def replace(self) -> None:
        key, values = self.draw.one(VALUES)
        value = self.draw.one(values)
        change = {"name": key, "value": value}
        self._alter(Api.ALTER_CONFIGS, f"replace all by {key} {value!r}", [change])

    def null(self) -> None:
        change = {"name": "metrics", "config_operation": SET, "value": None}
        self._alter(Api.INCREMENTAL_ALTER_CONFIGS, "set metrics to null", [change])

    def _alter(self, api: Api, note: str, changes: list[dict[str, Any]]) -> None:
        resource = {
            "resource_type": CLIENT_METRICS,
            "resource_name": self.draw.one(NAMES),
            "configs": changes,
        }
        body = {"resources": [resource], "validate_only": self.draw.chance(15)}
        self.send(api, note, body, "controller")

    def describe(self) -> None:
        name = self.draw.one(NAMES)
        keys = self.draw.one((None, None, ["metrics"], ["interval.ms", "push.ms"]))
        resource = {
            "resource_type": CLIENT_METRICS,
            "resource_name": name,
            "configuration_keys": keys,
        }
        body = {"resources": [resource], "include_synonyms": False, "include_documentation": False}
        self.send(Api.DESCRIBE_CONFIGS, f"settings of {name or 'no name'}", body, "node 1")


def client_metrics(draw: Draw) -> tuple[Topic, ...]:
    it = _Subscriptions(draw)
    draw.repeat(20, ((10, it.alter), (2, it.replace), (1, it.null), (7, it.describe)))
    it.describe()
    return ()
