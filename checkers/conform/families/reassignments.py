"""Generates requests that start, cancel and list reassignments. Some of the requests are invalid.

A sequence pauses after each reassignment, so that even a slow cluster completes the reassignment
before the next request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.steps import Pause, Send, Topic
from reference_impl.wire.messages.apis import Api

TOPIC, NOWHERE = "~t", "~nowhere"
PLACED: Final = ((0, [1, 2]), (1, [2, 3]))
MOVES_WITHIN_MS: Final = 600
TARGETS: Final = ([3, 2], [2, 1], [1, 2], [1, 3], [2, 3], [3, 1], [1], [2], [3], [1, 2, 3])

Move = tuple[str, int, list[int] | None]  # topic, partition, target; None cancels
REFUSED: Final[tuple[tuple[str, list[Move]], ...]] = (
    ("cancel nothing", [(TOPIC, 0, None)]),
    ("no replica", [(TOPIC, 0, [])]),
    ("a broker twice", [(TOPIC, 0, [1, 1])]),
    ("an unknown broker", [(TOPIC, 0, [1, 77])]),
    ("an unknown broker twice", [(TOPIC, 0, [77, 77, 1])]),
    ("a negative broker", [(TOPIC, 0, [-1])]),
    ("no partition", [(TOPIC, 9, [1])]),
    ("no topic", [(NOWHERE, 0, [1])]),
    ("cancel no topic", [(NOWHERE, 0, None)]),
    ("several", [(TOPIC, 1, None), (NOWHERE, 0, [1]), (TOPIC, 0, [])]),
    ("nothing", []),
)


@dataclass(slots=True)
class _Reassignments:
    draw: Draw

    def send(self, api: Api, note: str, body: Any, first: int = 0) -> None:
        version = self.draw.version(api, first)
        self.draw.add(Send(api=api, version=version, body=body, to="controller", note=note))

    def create(self) -> None:
        new = {
            "name": TOPIC,
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": [
                {"partition_index": index, "broker_ids": brokers} for index, brokers in PLACED
            ],
            "configs": [],
        }
        body = {"topics": [new], "timeout": 10_000, "validate_only": False}
        self.send(Api.CREATE_TOPICS, "create", body)
        self.describe()

    def alter(self, note: str, *moves: Move, same_factor: bool = False) -> None:
        body = {
            "timeout": 10_000,
            "allow_replication_factor_change": not same_factor,
            "topics": [
                {"name": topic, "partitions": [{"partition_index": index, "replicas": target}]}
                for topic, index, target in moves
            ],
        }
        first = 1 if same_factor else 0
        self.send(Api.ALTER_PARTITION_REASSIGNMENTS, note, body, first)

    def move(self) -> None:
        target, index = self.draw.one(TARGETS), self.draw.one((0, 0, 1))
        same_factor = self.draw.chance(25)
        said = ", same factor" if same_factor else ""
        self.alter(f"move to {target}{said}", (TOPIC, index, target), same_factor=same_factor)
        self.draw.add(Pause(ms=MOVES_WITHIN_MS))
        self.list_all()
        self.describe()

    def refuse(self) -> None:
        note, moves = self.draw.one(REFUSED)
        self.alter(note, *moves)

    def list_all(self) -> None:
        self.list("all", None)

    def list_some(self) -> None:
        note, topics = self.draw.case(
            ("a topic", [{"name": TOPIC, "partition_indexes": [0, 1, 9]}]),
            ("no topic", [{"name": NOWHERE, "partition_indexes": [0]}]),
            ("no partition", [{"name": TOPIC, "partition_indexes": []}]),
            ("nothing", []),
        )
        self.list(note, topics)

    def list(self, note: str, topics: Any) -> None:
        body = {"timeout": 10_000, "topics": topics}
        self.send(Api.LIST_PARTITION_REASSIGNMENTS, f"list {note}", body)

    def describe(self) -> None:
        body = {
            "topics": [{"name": TOPIC}],
            "response_partition_limit": 100,
            "cursor": None,
        }
        self.send(Api.DESCRIBE_TOPIC_PARTITIONS, "replicas", body)


def reassignments(draw: Draw) -> tuple[Topic, ...]:
    it = _Reassignments(draw)
    it.create()
    draw.repeat(10, ((4, it.move), (5, it.refuse), (2, it.list_some)))
    return ()
