"""Generates requests for metadata, for topics and their settings, for coordinators, and for
supported versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.steps import Send, Topic, topic_id
from reference_impl.wire.messages.apis import Api

TOPIC: Final = "~t"
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
SET, DELETE, APPEND = 0, 1, 2
ADMINISTRATION: Final = frozenset(
    {Api.CREATE_TOPICS, Api.CREATE_PARTITIONS, Api.INCREMENTAL_ALTER_CONFIGS}
)
SETTINGS: Final = (
    ("min.insync.replicas", "2"),
    ("min.insync.replicas", "0"),
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "never"),
    ("retention.ms", "1000"),
    ("retention.ms", "-1"),
    ("retention.ms", "-2"),
    ("retention.ms", "x"),
    ("retention.bytes", "-1"),
    ("segment.bytes", "1048576"),
    ("segment.bytes", "13"),
    ("delete.retention.ms", "-1"),
    ("unclean.leader.election.enable", "true"),
    ("unclean.leader.election.enable", "maybe"),
    ("nonsense", "1"),
)
NAMES: Final = (
    ("a new name", "~new"),
    ("an existing topic", TOPIC),
    ("an empty name", ""),
    ("a space in the name", "a b"),
    ("a dot", "."),
    ("two dots", ".."),
    ("250 characters", "x" * 250),
    ("a name that collides", "~new_a"),
    ("a name that collides", "~new.a"),
)


@dataclass(slots=True)
class _Metadata:
    draw: Draw
    made: int = 0

    def send(self, api: Api, version: int, note: str, body: Any, **options: Any) -> None:
        to = "controller" if api in ADMINISTRATION else "node 1"
        self.draw.add(Send(api=api, version=version, body=body, to=to, note=note, **options))

    # ------------------------------------------------------------ topics

    def create(self) -> None:
        note, name = self.draw.one(NAMES)
        self.create_one(note, name)

    def create_shapes(self) -> None:
        self.made += 1
        note, partitions, replicas = self.draw.one(
            (
                ("2 partitions", 2, 3),
                ("no partition", 0, 3),
                ("-2 partitions", -2, 3),
                ("default counts", -1, -1),
                ("4 replicas", 1, 4),
                ("no replica", 1, 0),
                ("-2 replicas", 1, -2),
            )
        )
        self.create_one(note, f"~m{self.made}", partitions=partitions, replicas=replicas)

    def create_with_setting(self) -> None:
        self.made += 1
        name, value = self.draw.one(SETTINGS)
        self.create_one(f"{name}={value}", f"~m{self.made}", settings=((name, value),))
        self.describe(f"~m{self.made}", (name,))

    def create_one(
        self,
        note: str,
        name: str,
        *,
        partitions: int = 1,
        replicas: int = 3,
        settings: Sequence[tuple[str, str]] = (),
    ) -> None:
        version = self.draw.version(Api.CREATE_TOPICS)
        new = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": replicas,
            "assignments": [],
            "configs": [{"name": one, "value": value} for one, value in settings],
        }
        body = {"topics": [new], "timeout": 10_000, "validate_only": False}
        self.send(Api.CREATE_TOPICS, version, f"create: {note}", body)

    def grow(self) -> None:
        name = self.draw.one((TOPIC, TOPIC, "~nowhere"))
        count = self.draw.one((1, 2, 3, 0, -1))
        version = self.draw.version(Api.CREATE_PARTITIONS)
        new = {"name": name, "count": count, "assignments": None}
        body = {"topics": [new], "timeout": 10_000, "validate_only": False}
        self.send(Api.CREATE_PARTITIONS, version, f"{count} partitions", body)

    # ------------------------------------------------------------ settings

    def alter(self) -> None:
        name, value = self.draw.one(SETTINGS)
        operation = self.draw.one((SET, SET, SET, DELETE))
        topic = self.draw.one((TOPIC, TOPIC, TOPIC, "~nowhere"))
        change = {
            "name": name,
            "config_operation": operation,
            "value": value if operation == SET else None,
        }
        resource = {"resource_type": TOPIC_RESOURCE, "resource_name": topic, "configs": [change]}
        note = f"set {name}={value}" if operation == SET else f"delete {name}"
        version = self.draw.version(Api.INCREMENTAL_ALTER_CONFIGS)
        body = {"resources": [resource], "validate_only": False}
        self.send(Api.INCREMENTAL_ALTER_CONFIGS, version, note, body)
        self.describe(TOPIC, (name,))

    def describe(self, topic: str, names: Sequence[str]) -> None:
        resource = {
            "resource_type": TOPIC_RESOURCE,
            "resource_name": topic,
            "configuration_keys": list(names),
        }
        body = {"resources": [resource], "include_synonyms": False, "include_documentation": False}
        version = self.draw.version(Api.DESCRIBE_CONFIGS)
        self.send(Api.DESCRIBE_CONFIGS, version, "settings", body)

    def describe_topic(self) -> None:
        self.describe(self.draw.one((TOPIC, "~nowhere")), ("retention.ms", "cleanup.policy"))

    # ------------------------------------------------------------ metadata of brokers

    def metadata(self) -> None:
        note, name, least = self.draw.one(
            (
                ("a topic", TOPIC, 0),
                ("a topic", TOPIC, 0),
                ("an unknown topic", "~nowhere", 0),
                ("an invalid name", "a b", 0),
                ("an empty name", "", 0),
            )
        )
        version = self.draw.version(Api.METADATA, least)
        body = {"topics": [{"name": name}], "allow_auto_topic_creation": False}
        self.send(Api.METADATA, version, note, body)

    def metadata_by_id(self) -> None:
        note, topic = self.draw.one((("a topic by id", TOPIC), ("an unknown id", "~nowhere")))
        version = self.draw.version(Api.METADATA, 12)
        body = {"topics": [{"name": None, "topic_id": topic_id(topic)}]}
        self.send(Api.METADATA, version, note, body)

    def metadata_twice(self) -> None:
        version = self.draw.version(Api.METADATA, 1)
        body = {"topics": [{"name": TOPIC}, {"name": TOPIC}], "allow_auto_topic_creation": False}
        self.send(Api.METADATA, version, "the same topic twice", body)

    def coordinator(self) -> None:
        key_type = self.draw.one((0, 0, 1, 1, 7))
        key = self.draw.one(("~key", "~other", ""))
        least = 1 if key_type else 0
        version = self.draw.version(Api.FIND_COORDINATOR, least)
        body = {"key": key, "key_type": key_type, "coordinator_keys": [key]}
        note = f"coordinator of type {key_type}{'' if key else ', empty key'}"
        self.send(Api.FIND_COORDINATOR, version, note, body)

    def api_versions(self) -> None:
        version = self.draw.version(Api.API_VERSIONS)
        note, name = self.draw.one((("versions", "urteil"), ("invalid client name", "")))
        body = {"client_software_name": name, "client_software_version": "1"}
        self.send(Api.API_VERSIONS, version, note, body)


def metadata(draw: Draw) -> tuple[Topic, ...]:
    it = _Metadata(draw)
    draw.repeat(
        20,
        (
            (4, it.create),
            (2, it.create_shapes),
            (3, it.create_with_setting),
            (2, it.grow),
            (4, it.alter),
            (3, it.describe_topic),
            (8, it.metadata),
            (2, it.metadata_by_id),
            (1, it.metadata_twice),
            (6, it.coordinator),
            (2, it.api_versions),
        ),
    )
    return (Topic(name=TOPIC),)
