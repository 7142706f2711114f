"""Generates requests on topics with different settings for timestamps, segments and compaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.requests import fetch, init, list_offsets, produce, producer
from checkers.conform.steps import Send, Topic, now
from reference_impl.wire.messages.apis import Api

TOPIC: Final = "~t"
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
SET, DELETE = 0, 1
HOUR_MS: Final = 3_600_000
APPEND_TIME: Final = {"message.timestamp.type": "LogAppendTime"}
CONFIGS: Final[tuple[dict[str, str], ...]] = (
    APPEND_TIME,
    {**APPEND_TIME, "compression.type": "zstd"},
    {**APPEND_TIME, "message.timestamp.before.max.ms": "0"},
    {"message.timestamp.before.max.ms": "1200000"},
    {"message.timestamp.after.max.ms": "1200000"},
    {"message.timestamp.before.max.ms": "1200000", "cleanup.policy": "compact"},
)
OF_TOPIC: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("message.timestamp.type", ("LogAppendTime", "CreateTime", "logappendtime")),
    ("message.timestamp.before.max.ms", ("0", "1200000", "-1", "x")),
    ("message.timestamp.after.max.ms", ("0", "1200000", "-1")),
    ("segment.ms", ("1", "1200000", "0")),
    ("min.cleanable.dirty.ratio", ("0", "0.25", "1", "1.5", "-0.1", "half")),
    ("min.compaction.lag.ms", ("0", "5000", "-1")),
    ("max.compaction.lag.ms", ("1", "4000", "0")),
)
OF_BROKERS: Final = (
    "log.roll.ms",
    "log.roll.hours",
    "log.retention.ms",
    "log.cleaner.min.cleanable.ratio",
    "log.cleaner.min.compaction.lag.ms",
    "log.cleaner.max.compaction.lag.ms",
    "log.message.timestamp.type",
    "log.message.timestamp.before.max.ms",
    "log.message.timestamp.after.max.ms",
)
CONFLICTS: Final = (
    {"min.compaction.lag.ms": "6", "max.compaction.lag.ms": "5"},
    {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "5"},
    {"segment.ms": "0"},
    {"message.timestamp.type": "Now"},
)


@dataclass(slots=True)
class _Settings:
    draw: Draw
    configs: dict[str, str]
    sent: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    made: int = 0

    # ------------------------------------------------------------ records

    def append(self) -> None:
        note, cells = self.draw.case(
            ("a year ago", {"timestamp": now(-9_000 * HOUR_MS)}),
            ("no timestamp", {"timestamp": -1, "records": 1}),
            ("now", {"timestamp": now()}),
            ("in half an hour", {"timestamp": now(HOUR_MS // 2)}),
            ("in two hours", {"timestamp": now(2 * HOUR_MS)}),
            ("a quarter of an hour ago", {"timestamp": now(-HOUR_MS // 4)}),
            ("append-time bit", {"timestamp": now(), "damage": "append-time bit"}),
            ("append-time bit, no timestamp", {"timestamp": -1, "damage": "append-time bit"}),
        )
        codec = self.draw.one(("none", "none", "gzip", "lz4", "snappy", "zstd"))
        cells = {"records": 3, "compression": codec, "key": "k", **cells}
        self._send(f"{note}, {codec}", cells)

    def retry(self) -> None:
        if not self.sent:
            self.draw.add(init("idempotent producer", "p"))
            cells = {
                **producer("p"),
                "base_sequence": 0,
                "records": 2,
                "timestamp": now(),
                "key": "k",
            }
            self.sent.append(cells)
        self._send("batch of an idempotent producer", self.sent[0])

    def _send(self, note: str, cells: dict[str, Any]) -> None:
        version = self.draw.version(Api.PRODUCE, 3)
        self.draw.add(produce(f"{self._clock()}{note}", TOPIC, cells, version=version))

    def _clock(self) -> str:
        return "append time: " if APPEND_TIME.items() <= self.configs.items() else ""

    def read(self) -> None:
        version = self.draw.version(Api.FETCH, 4)
        self.draw.add(fetch("what was appended", TOPIC, 0, version=version))

    def list_by_time(self) -> None:
        note, timestamp = self.draw.case(
            ("largest timestamp", -3),
            ("any time", 0),
            ("a minute ago", now(-60_000)),
            ("in an hour", now(HOUR_MS)),
        )
        version = self.draw.version(Api.LIST_OFFSETS, 7)
        self.draw.add(list_offsets(f"{self._clock()}{note}", TOPIC, timestamp, version=version))

    # ------------------------------------------------------------ settings

    def alter(self) -> None:
        # Of another topic: a changed timestamp type would change what the notes above mean.
        name, values = self.draw.one(OF_TOPIC)
        value, operation = self.draw.one(values), self.draw.one((SET, SET, SET, DELETE))
        note = f"set {name}={value}" if operation == SET else f"delete {name}"
        change = {
            "name": name,
            "config_operation": operation,
            "value": value if operation == SET else None,
        }
        self._alter(note, TOPIC_RESOURCE, "~u", change, validate_only=self.draw.chance(20))
        self._describe(TOPIC_RESOURCE, "~u", [name for name, _ in OF_TOPIC])

    def alter_brokers(self) -> None:
        # Only validated: other sequences run on the same brokers.
        name = self.draw.one(OF_BROKERS)
        value = self.draw.one(("1", "0", "-1", "x"))
        change = {"name": name, "config_operation": SET, "value": value}
        note = f"validate {name}={value} of all brokers"
        self._alter(note, BROKER_RESOURCE, "", change, validate_only=True)

    def _alter(
        self, note: str, kind: int, name: str, change: dict[str, Any], *, validate_only: bool
    ) -> None:
        resource = {"resource_type": kind, "resource_name": name, "configs": [change]}
        body = {"resources": [resource], "validate_only": validate_only}
        api = Api.INCREMENTAL_ALTER_CONFIGS
        said = ", validated only" if validate_only and kind == TOPIC_RESOURCE else ""
        version, note = self.draw.version(api), f"{note}{said}"
        self.draw.add(Send(api=api, version=version, body=body, to="controller", note=note))

    def describe(self) -> None:
        self._describe(TOPIC_RESOURCE, TOPIC, [name for name, _ in OF_TOPIC])

    def describe_broker(self) -> None:
        self._describe(BROKER_RESOURCE, "1", [*OF_BROKERS])

    def _describe(self, kind: int, name: str, names: list[str]) -> None:
        resource = {"resource_type": kind, "resource_name": name, "configuration_keys": names}
        body = {"resources": [resource], "include_synonyms": False, "include_documentation": False}
        api = Api.DESCRIBE_CONFIGS
        version = self.draw.version(api)
        self.draw.add(Send(api=api, version=version, body=body, to="node 1", note="settings"))

    def create(self) -> None:
        settings = self.draw.one(CONFLICTS)
        self.made += 1
        new = {
            "name": f"~new{self.made}",
            "num_partitions": 1,
            "replication_factor": 3,
            "assignments": [],
            "configs": [{"name": name, "value": value} for name, value in settings.items()],
        }
        body = {"topics": [new], "timeout": 10_000, "validate_only": self.draw.chance(30)}
        note = f"create with {', '.join(f'{name}={value}' for name, value in settings.items())}"
        api = Api.CREATE_TOPICS
        version = self.draw.version(api)
        self.draw.add(Send(api=api, version=version, body=body, to="controller", note=note))


def topic_settings(draw: Draw) -> tuple[Topic, ...]:
    configs = draw.one(CONFIGS)
    it = _Settings(draw, configs)
    draw.repeat(
        18,
        (
            (12, it.append),
            (3, it.retry),
            (3, it.read),
            (5, it.list_by_time),
            (6, it.alter),
            (2, it.alter_brokers),
            (1, it.describe),
            (1, it.describe_broker),
            (2, it.create),
        ),
    )
    it.read()
    return Topic(name=TOPIC, configs=configs), Topic(name="~u")
