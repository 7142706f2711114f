"""The scenarios that every client runs, and what the driver prepares for each.

A program gets the name of a scenario, the bootstrap servers, a topic and a number of records. The
driver creates the topics, and plans the crash of a broker at a request of the program.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from checkers.testing.broker import Broker, InjectedFault
from reference_impl.wire import plain_messages
from reference_impl.wire.apis import Api

GROUP, TRANSACTION = 0, 1  # the types of a coordinator's key
RETURNS_AFTER: Final = 400  # requests to the others, while one broker is down


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A scenario that every client library or program runs against a served broker.

    If it plans the crash of a broker, it fails unless the crash happens.
    """

    name: str
    title: str
    meaning: str
    limit_s: float = 60
    topics: Mapping[str, tuple[int, Mapping[str, str]]] = field(default_factory=lambda: ONE)
    crash: Callable[[Broker, str], InjectedFault] | None = None


ONE: Final[Mapping[str, tuple[int, Mapping[str, str]]]] = {"": (1, {})}


def _crash_of_leader(broker: Broker, topic: str) -> InjectedFault:
    when = {"api": "Produce", "topic": topic, "applied": True, "nth": 5}
    return _crash(broker, broker.leader(topic), when)


def _crash_of_group_coordinator(broker: Broker, topic: str) -> InjectedFault:
    return _crash(broker, coordinator(broker, topic, GROUP), {"api": "OffsetCommit", "nth": 3})


def _crash_of_transaction_coordinator(broker: Broker, topic: str) -> InjectedFault:
    place = coordinator(broker, topic, TRANSACTION)
    return _crash(broker, place, {"api": "EndTxn", "applied": True, "nth": 3})


def _crash(broker: Broker, place: int, when: Mapping[str, object]) -> InjectedFault:
    back = {"do": "start", "broker": place, "when": {"nth": RETURNS_AFTER}}
    return broker.fault("crash", when=when, broker=place, then=back)


SCENARIOS: Final = (
    Scenario(
        name="metadata",
        title="Metadata",
        meaning="The client finds 3 brokers, and a topic with 3 partitions of 3 replicas.",
        topics={"": (3, {})},
    ),
    Scenario(
        name="administration",
        title="Admin",
        meaning="The admin creates a topic of 4 partitions, finds it, and deletes it.",
        topics={},
    ),
    Scenario(
        name="records",
        title="Records",
        meaning=(
            "An idempotent producer writes 10,000 records with each codec that the client knows."
            " A group reads each record once, and commits."
        ),
        limit_s=180,
        topics={"": (3, {})},
    ),
    Scenario(
        name="rebalance-classic",
        title="Classic rebalance",
        meaning=(
            "A second member joins a group of one, and both share 4 partitions. Each record is read"
            " once. One member leaves, and the other gets all partitions. The assignment is eager."
        ),
        topics={"": (4, {})},
    ),
    Scenario(
        name="rebalance-cooperative",
        title="Cooperative rebalance",
        meaning="The same with a cooperative assignment.",
        topics={"": (4, {})},
    ),
    Scenario(
        name="rebalance-consumer",
        title="KIP-848 rebalance",
        meaning="The same with the consumer group protocol of KIP-848.",
        topics={"": (4, {})},
    ),
    Scenario(
        name="transaction",
        title="Transaction",
        meaning=(
            "Transactions copy 12 records and commit the group's offsets. The first one is aborted."
            " A read_committed reader finds each record once."
        ),
        topics={"": (1, {}), "-out": (1, {})},
    ),
    Scenario(
        name="abort-after-commit",
        title="Abort after commit",
        meaning=(
            "Twenty times a transaction commits, and the next one aborts at once. A read_committed"
            " reader finds the records of the committed ones alone."
        ),
    ),
    Scenario(
        name="unknown-topic",
        title="Unknown topic",
        meaning="A write to a topic that does not exist ends with UNKNOWN_TOPIC_OR_PARTITION.",
        topics={},
    ),
    Scenario(
        name="too-large",
        title="Too large",
        meaning=(
            "A record of 1.1 MB ends with MESSAGE_TOO_LARGE, one of 0.9 MB is accepted. Two topics"
            " with another max.message.bytes, 2,000 and 3,000,000, have their own limit."
        ),
        topics={
            "": (1, {}),
            "-small": (1, {"max.message.bytes": "2000"}),
            "-large": (1, {"max.message.bytes": "3000000"}),
        },
    ),
    Scenario(
        name="crash-of-leader",
        title="Leader crashes",
        meaning=(
            "The leader crashes after the fifth of 60 single writes of an idempotent producer."
            " Each record is in the log once, and in order."
        ),
        limit_s=90,
        crash=_crash_of_leader,
    ),
    Scenario(
        name="crash-of-group-coordinator",
        title="Group coordinator crashes",
        meaning=(
            "The coordinator crashes at the third commit of a group. The group reads on, and"
            " commits the end."
        ),
        limit_s=120,
        crash=_crash_of_group_coordinator,
    ),
    Scenario(
        name="crash-of-transaction-coordinator",
        title="Transaction coordinator crashes",
        meaning=(
            "The coordinator crashes after the third of 20 commits. Each transaction is"
            " committed once."
        ),
        limit_s=90,
        crash=_crash_of_transaction_coordinator,
    ),
)
BY_NAME: Final = {scenario.name: scenario for scenario in SCENARIOS}


def prepare(scenario: Scenario, broker: Broker, topic: str) -> InjectedFault | None:
    """Creates the scenario's topics, and plans its crash; returns None if it has no crash."""
    new = [
        NewTopic(topic + suffix, partitions, 3, config=dict(settings))
        for suffix, (partitions, settings) in scenario.topics.items()
    ]
    if new:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for created in admin.create_topics(new).values():
            created.result(20)
    return None if scenario.crash is None else scenario.crash(broker, topic)


def coordinator(broker: Broker, key: str, key_type: int) -> int:
    """Returns the broker that coordinates a group or a transactional id."""
    host, _, port = broker.bootstrap_servers.split(",")[0].rpartition(":")
    body = {"key": key, "key_type": key_type}
    with socket.create_connection((host, int(port)), timeout=20) as stream:
        while True:
            stream.sendall(plain_messages.encode(Api.FIND_COORDINATOR, 3, 1, body))
            answer = plain_messages.receive(stream)
            found = plain_messages.decode(Api.FIND_COORDINATOR, 3, answer)
            if found["node_id"] > 0:
                return int(found["node_id"])
            time.sleep(0.05)  # the coordinator has no leader yet
