"""Generates requests that create topics with chosen replicas, delete topics, or describe topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.steps import Send, Topic, topic_id
from reference_impl.wire.messages.apis import Api

TOPICS: Final = ("~t", "~u")
NEW, NOWHERE = "~new", "~nowhere"
NAMES: Final = (*TOPICS, NEW, NOWHERE)
TOPIC_RESOURCE: Final = 2
TO_CONTROLLER: Final = frozenset(
    {Api.CREATE_TOPICS, Api.CREATE_PARTITIONS, Api.DELETE_TOPICS, Api.ALTER_CONFIGS}
)
Replicas = Sequence[tuple[int, list[int]]]


@dataclass(slots=True)
class _Topics:
    draw: Draw

    def send(self, api: Api, note: str, body: Any, first: int = 0) -> None:
        to = "controller" if api in TO_CONTROLLER else "node 1"
        version = self.draw.version(api, first)
        self.draw.add(Send(api=api, version=version, body=body, to=to, note=note))

    # ------------------------------------------------------------ creation

    def create(self) -> None:
        note, options = self.draw.case(
            ("create", {}),
            ("create, validated only", {"validate_only": True}),
            ("create twice in a request", {"times": 2}),
        )
        self.create_one(note, **options)

    def create_placed(self) -> None:
        note, replicas, options = self.draw.one(PLACEMENTS)
        self.create_one(f"create placed: {note}", replicas, **options)

    def create_one(
        self,
        note: str,
        replicas: Replicas = (),
        *,
        partitions: int | None = None,
        factor: int | None = None,
        validate_only: bool = False,
        times: int = 1,
    ) -> None:
        by_default = (-1, -1) if replicas else (1, 3)
        new = {
            "name": self.draw.one((NEW, NEW, "~t")),
            "num_partitions": by_default[0] if partitions is None else partitions,
            "replication_factor": by_default[1] if factor is None else factor,
            "assignments": [
                {"partition_index": index, "broker_ids": brokers} for index, brokers in replicas
            ],
            "configs": [],
        }
        body = {"topics": [new] * times, "timeout": 10_000, "validate_only": validate_only}
        self.send(Api.CREATE_TOPICS, note, body)

    def grow(self) -> None:
        note, count, replicas = self.draw.one(
            (
                ("2", 2, None),
                ("2, placed", 2, [[1, 2, 3]]),
                ("2, too few placed", 3, [[1, 2, 3]]),
                ("2, other factor", 2, [[1, 2]]),
            )
        )
        placed = None if replicas is None else [{"broker_ids": one} for one in replicas]
        new = {"name": self.draw.one(TOPICS), "count": count, "assignments": placed}
        validate_only = self.draw.chance(40)
        body = {"topics": [new], "timeout": 10_000, "validate_only": validate_only}
        said = ", validated only" if validate_only else ""
        self.send(Api.CREATE_PARTITIONS, f"partitions: {note}{said}", body)

    # ------------------------------------------------------------ deletion

    def delete(self) -> None:
        names = self.draw.one((["~t"], ["~u"], [NEW], [NOWHERE], ["~t", "~t"], ["~u", NOWHERE]))
        topics = [{"name": name, "topic_id": None} for name in names]
        body = {"topic_names": names, "topics": topics, "timeout": 10_000}
        self.send(Api.DELETE_TOPICS, f"delete {', '.join(names)}", body)

    def delete_by_id(self) -> None:
        note, topics = self.draw.case(
            ("by id", [{"name": None, "topic_id": topic_id("~u")}]),
            ("by unknown id", [{"name": None, "topic_id": topic_id(NOWHERE)}]),
            ("by name and id", [{"name": "~t", "topic_id": topic_id("~t")}]),
            ("without name and id", [{"name": None, "topic_id": None}]),
            ("by id twice", [{"name": None, "topic_id": topic_id("~t")}] * 2),
        )
        body = {"topics": topics, "timeout": 10_000}
        self.send(Api.DELETE_TOPICS, f"delete {note}", body, first=6)

    # ------------------------------------------------------------ settings

    def replace_settings(self) -> None:
        note, resources = self.draw.case(
            ("retention.ms", [("~t", {"retention.ms": "1000"})]),
            ("none", [("~t", {})]),
            ("retention.ms=x", [("~t", {"retention.ms": "x"})]),
            ("of no topic", [(NOWHERE, {})]),
        )
        validate_only = self.draw.chance(30)
        body = {
            "resources": [
                {
                    "resource_type": TOPIC_RESOURCE,
                    "resource_name": name,
                    "configs": [{"name": key, "value": value} for key, value in settings.items()],
                }
                for name, settings in resources
            ],
            "validate_only": validate_only,
        }
        said = ", validated only" if validate_only else ""
        self.send(Api.ALTER_CONFIGS, f"replace settings: {note}{said}", body)
        self.describe_settings()

    def describe_settings(self) -> None:
        resource = {
            "resource_type": TOPIC_RESOURCE,
            "resource_name": "~t",
            "configuration_keys": ["retention.ms", "segment.bytes"],
        }
        body = {"resources": [resource], "include_synonyms": False, "include_documentation": False}
        self.send(Api.DESCRIBE_CONFIGS, "settings", body)

    def resources(self) -> None:
        types = self.draw.one(([], [2], [4], [4, 8], [16, 32], [7]))
        body = {"resource_types": types}
        self.send(Api.LIST_CONFIG_RESOURCES, f"resources of types {types}", body)

    # ------------------------------------------------------------ descriptions

    def partitions(self) -> None:
        names, limit, cursor = self.draw.one(
            (
                (NAMES, 100, None),
                (TOPICS, 1, None),
                (TOPICS, 0, None),
                (TOPICS, 100, ("~u", 0)),
                (TOPICS, 100, ("~t", 7)),
                (("~u",), 100, ("~t", 0)),
                (("~u",), 100, ("~u", -1)),
            )
        )
        place = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
        body = {
            "topics": [{"name": name} for name in names],
            "response_partition_limit": limit,
            "cursor": place,
        }
        note = f"{len(names)} topics, {limit} partitions, cursor {cursor}"
        self.send(Api.DESCRIBE_TOPIC_PARTITIONS, note, body)

    def cluster(self) -> None:
        kind = self.draw.one((1, 1, 2, 3))
        body = {
            "include_cluster_authorized_operations": False,
            "endpoint_type": kind,
            "include_fenced_brokers": False,
        }
        first = 0 if kind == 1 else 1
        self.send(Api.DESCRIBE_CLUSTER, f"cluster, endpoint type {kind}", body, first)

    def metadata(self) -> None:
        names = [{"name": name} for name in NAMES]
        body = {"topics": names, "allow_auto_topic_creation": False}
        self.send(Api.METADATA, "all topics of the sequence", body, first=4)


PLACEMENTS: Final[tuple[tuple[str, Replicas, dict[str, Any]], ...]] = (
    ("two partitions", ((0, [2, 1]), (1, [3, 1])), {}),
    ("with a factor", ((0, [2, 1]),), {"factor": 2}),
    ("with a count", ((0, [2, 1]),), {"partitions": 1}),
    ("the same partition twice", ((0, [1]), (0, [2])), {}),
    ("a gap", ((0, [1]), (2, [2])), {}),
    ("a broker twice", ((0, [1, 1]),), {}),
    ("no broker", ((0, []),), {}),
    ("an unknown broker", ((0, [77]),), {}),
    ("uneven", ((0, [1]), (1, [1, 2])), {}),
)


def topics(draw: Draw) -> tuple[Topic, ...]:
    it = _Topics(draw)
    draw.repeat(
        18,
        (
            (3, it.create),
            (4, it.create_placed),
            (2, it.grow),
            (3, it.delete),
            (2, it.delete_by_id),
            (3, it.replace_settings),
            (1, it.resources),
            (4, it.partitions),
            (1, it.cluster),
            (3, it.metadata),
        ),
    )
    return tuple(Topic(name=name) for name in TOPICS)
