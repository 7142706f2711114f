"""The scenarios that every client runs, and the topics and crashes that each scenario needs.

The program of a client receives the name of a scenario, the bootstrap servers, a topic and a number
of records. `prepare` creates the topics, and plans the crashes of brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from checkers.testing.broker import Broker, InjectedFault

When = Mapping[str, Any]  # the requests that a fault of the control port selects
OWN: Final = "the scenario's topic"
RETURNS_AFTER: Final = 400  # requests after which a crashed broker restarts


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic that a scenario needs. Its name is the topic name of the scenario, followed by
    `suffix`.
    """

    suffix: str = ""
    partitions: int = 1
    settings: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A scenario for all clients. It fails if it takes longer than `limit_s` seconds.

    Each entry of `crashes` selects a request, such as the third commit. The broker that receives
    this request crashes. The scenario fails unless at least one of these crashes happens.
    """

    name: str
    title: str
    meaning: str
    limit_s: float = 90
    topics: tuple[Topic, ...] = (Topic(),)
    crashes: tuple[When, ...] = ()


SCENARIOS: Final = (
    Scenario(
        name="metadata",
        title="Metadata",
        meaning="The client finds 3 brokers, and a topic with 3 partitions of 3 replicas.",
        topics=(Topic(partitions=3),),
    ),
    Scenario(
        name="administration",
        title="Admin",
        meaning="The admin creates a topic of 4 partitions, finds it, and deletes it.",
        topics=(),
    ),
    Scenario(
        name="records",
        title="Records",
        meaning=(
            "An idempotent producer writes 10,000 records with each codec that the client knows."
            " A group reads each record once, and commits."
        ),
        limit_s=180,
        topics=(Topic(partitions=3),),
    ),
    Scenario(
        name="rebalance-classic",
        title="Classic rebalance",
        meaning=(
            "A second member joins a group of one, and both share 4 partitions. Each record is read"
            " once. One member leaves, and the other gets all partitions. The assignment is eager."
        ),
        topics=(Topic(partitions=4),),
    ),
    Scenario(
        name="rebalance-cooperative",
        title="Cooperative rebalance",
        meaning="The same with a cooperative assignment.",
        topics=(Topic(partitions=4),),
    ),
    Scenario(
        name="rebalance-consumer",
        title="KIP-848 rebalance",
        meaning="The same with the consumer group protocol of KIP-848.",
        topics=(Topic(partitions=4),),
    ),
    Scenario(
        name="transaction",
        title="Transaction",
        meaning=(
            "Transactions copy 12 records and commit the group's offsets. The first one is aborted."
            " A read_committed reader finds each record once."
        ),
        topics=(Topic(), Topic(suffix="-out")),
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
        meaning="A write to a topic that does not exist fails.",
        topics=(),
    ),
    Scenario(
        name="too-large",
        title="Too large",
        meaning=(
            "A record of 1.1 MB ends with MESSAGE_TOO_LARGE, one of 0.9 MB is accepted. Two topics"
            " with another max.message.bytes, 2,000 and 3,000,000, have their own limit."
        ),
        topics=(
            Topic(),
            Topic(suffix="-small", settings={"max.message.bytes": "2000"}),
            Topic(suffix="-large", settings={"max.message.bytes": "3000000"}),
        ),
    ),
    Scenario(
        name="crash-of-leader",
        title="Leader crashes",
        meaning=(
            "The leader crashes after the fifth of 60 single writes of an idempotent producer."
            " Each record is in the log once, and in order."
        ),
        crashes=({"api": "Produce", "topic": OWN, "applied": True, "nth": 5},),
    ),
    Scenario(
        name="crash-of-group-coordinator",
        title="Group coordinator crashes",
        meaning=(
            "The coordinator crashes at the third commit of a group. The group reads on, and"
            " commits the end."
        ),
        limit_s=120,
        crashes=({"api": "OffsetCommit", "nth": 3}, {"api": "TxnOffsetCommit", "nth": 3}),
    ),
    Scenario(
        name="crash-of-transaction-coordinator",
        title="Transaction coordinator crashes",
        meaning=(
            "The coordinator crashes after the third of 20 commits. Each transaction is"
            " committed once."
        ),
        crashes=({"api": "EndTxn", "applied": True, "nth": 3},),
    ),
)
BY_NAME: Final = {scenario.name: scenario for scenario in SCENARIOS}


def prepare(scenario: Scenario, broker: Broker, topic: str) -> list[InjectedFault]:
    """Creates the scenario's topics, plans the crashes of brokers, and returns the planned
    crashes.
    """
    new = [
        NewTopic(topic + one.suffix, one.partitions, 3, config=dict(one.settings or {}))
        for one in scenario.topics
    ]
    if new:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for created in admin.create_topics(new).values():
            created.result(20)
    back = {"do": "start", "when": {"nth": RETURNS_AFTER}}
    return [
        broker.fault("crash", when=_with_topic(when, topic), then=back) for when in scenario.crashes
    ]


def _with_topic(when: When, topic: str) -> When:
    return {name: topic if value == OWN else value for name, value in when.items()}
