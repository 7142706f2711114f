"""Generates requests that inspect brokers: producers, transactions, log sizes, the quorum and
elections.

Some sequences send a transaction marker directly to the partition leader. The transaction
coordinator does not know of this marker, so the transaction is still open for the coordinator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from checkers.conform import requests
from checkers.conform.families.draw import Case, Draw
from checkers.conform.steps import Send, Topic, bound, now
from reference_impl.wire.messages.apis import Api

TOPIC, NOWHERE = "~t", "~nowhere"
OPEN, UNKNOWN = "~x", "~y"
LEADER: Final = f"leader {TOPIC} 0"
FOLLOWER: Final = f"follower {TOPIC} 0"


@dataclass(slots=True)
class _Inspection:
    draw: Draw
    sequence: int = 0

    def send(self, api: Api, note: str, body: Any, *, to: str = "node 1", first: int = 0) -> None:
        version = self.draw.version(api, first)
        self.draw.add(Send(api=api, version=version, body=body, to=to, note=note))

    def begin(self) -> None:
        self.draw.add(
            requests.init("init", "p", OPEN),
            requests.add_partitions("add partition", OPEN, TOPIC, "p"),
        )

    def produce(self) -> None:
        batch = {
            **requests.producer("p"),
            "base_sequence": self.sequence,
            "records": 1,
            "value": "v",
            "timestamp": now(),
            "transactional": True,
        }
        self.sequence += 1
        self.draw.add(requests.produce("a batch", TOPIC, batch, version=9, transaction=OPEN))

    # ------------------------------------------------------------ producers and markers

    def producers(self) -> None:
        note, topic, index, to = self.draw.one(
            (
                ("of the leader", TOPIC, 0, LEADER),
                ("of a follower", TOPIC, 0, FOLLOWER),
                ("of no partition", TOPIC, 9, LEADER),
                ("of no topic", NOWHERE, 0, LEADER),
                ("of an invalid topic", "a b", 0, LEADER),
            )
        )
        body = {"topics": [{"name": topic, "partition_indexes": [index]}]}
        self.send(Api.DESCRIBE_PRODUCERS, f"producers {note}", body, to=to)

    def marker(self) -> None:
        note, topic, epoch, to = self.draw.one(
            (
                ("", TOPIC, 0, LEADER),
                (", at a follower", TOPIC, 0, FOLLOWER),
                (", no topic", NOWHERE, 0, LEADER),
            )
        )
        commits = self.draw.chance(50)
        marker = {
            **requests.producer("p", epoch=epoch),
            "transaction_result": commits,
            "topics": [{"name": topic, "partition_indexes": [0]}],
            "coordinator_epoch": self.draw.one((0, 0, 3)),
            "transaction_version": 1,
        }
        self.send(Api.WRITE_TXN_MARKERS, f"marker{note}", {"markers": [marker]}, to=to)

    # ------------------------------------------------------------ transactions

    def describe(self) -> None:
        note, name = self.draw.one((("open", OPEN), ("unknown", UNKNOWN), ("empty id", "")))
        to = f"transaction {name}" if name else "node 1"
        body = {"transactional_ids": [name]}
        self.send(Api.DESCRIBE_TRANSACTIONS, f"describe {note}", body, to=to)

    def list(self) -> None:
        version = self.draw.version(Api.LIST_TRANSACTIONS)
        cases: tuple[Case, ...] = (
            ("all", {}),
            ("Ongoing", {"state_filters": ["Ongoing"]}),
            ("no such state", {"state_filters": ["Odd", "Empty"]}),
            ("of the producer", {"producer_id_filters": [bound("p.id")]}),
            ("of another producer", {"producer_id_filters": [7]}),
        )
        if version >= 1:
            cases += (("old ones", {"duration_filter": 600_000}),)
        if version >= 2:
            cases += (
                ("by pattern", {"transactional_id_pattern": ".*-x"}),
                ("by another pattern", {"transactional_id_pattern": "x"}),
                ("by a broken pattern", {"transactional_id_pattern": "("}),
            )
        note, options = self.draw.case(*cases)
        body: dict[str, Any] = {
            "state_filters": [],
            "producer_id_filters": [],
            "duration_filter": -1,
            "transactional_id_pattern": None,
            **options,
        }
        to, note = f"transaction {OPEN}", f"list {note}"
        send = Send(api=Api.LIST_TRANSACTIONS, version=version, body=body, to=to, note=note)
        self.draw.add(send)

    # ------------------------------------------------------------ logs, quorum, elections

    def logs(self) -> None:
        note, topics = self.draw.one(
            (
                ("a topic", [{"topic": TOPIC, "partitions": [0]}]),
                ("no partition", [{"topic": TOPIC, "partitions": [9]}]),
                ("no topic", [{"topic": NOWHERE, "partitions": [0]}]),
                ("nothing", []),
            )
        )
        self.send(Api.DESCRIBE_LOG_DIRS, f"logs of {note}", {"topics": topics}, to=LEADER)

    def quorum(self) -> None:
        """Adds a DescribeQuorum request for an ordinary topic. Brokers reject this request."""
        # A correct request is useless here: its answer, the voters and the leader, differs between
        # clusters.
        body = {"topics": [{"topic_name": TOPIC, "partitions": [{"partition_index": 0}]}]}
        self.send(Api.DESCRIBE_QUORUM, "quorum of a topic", body)

    def elect(self) -> None:
        topic, kind = self.draw.one(((TOPIC, 0), (TOPIC, 0), (TOPIC, 1), (NOWHERE, 0)))
        body = {
            "election_type": kind,
            "topic_partitions": [{"topic": topic, "partitions": [0]}],
            "timeout": 10_000,
        }
        note = f"elect, type {kind}, {topic}"
        self.send(Api.ELECT_LEADERS, note, body, to="controller", first=kind)


def inspection(draw: Draw) -> tuple[Topic, ...]:
    it = _Inspection(draw)
    it.begin()
    it.produce()
    draw.repeat(
        14,
        (
            (4, it.producers),
            (2, it.marker),
            (1, it.produce),
            (2, it.describe),
            (4, it.list),
            (2, it.logs),
            (1, it.quorum),
            (2, it.elect),
        ),
    )
    return (Topic(name=TOPIC),)
