"""Faults as data: a plan of faults and their times can be printed, stored and shrunk.

The fault `On` waits for certain requests, for example the third EndTxn to broker 2, and then loses
the response or kills broker 2. A crashed broker stays down until the fault `Restart`.

Source: docs/kafka-rules.md B9 (the kinds of crashes); TigerBeetle's and FoundationDB's simulators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.messages import NodeId


@dataclass(frozen=True, slots=True)
class Crash:
    """Kills the process of a broker; the operating system keeps all written data."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class ShutDown:
    """Shuts a broker down cleanly: it hands over its partitions, flushes all logs, and stops."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class PowerLoss:
    """Keeps `kept_percent` of the unflushed bytes of each log, the last corrupted if `garbled`."""

    broker: BrokerId
    kept_percent: int = 0
    garbled: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceDisk:
    """Kills a broker and empties its disk."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class Restart:
    broker: BrokerId


@dataclass(frozen=True, slots=True)
class Reassign:
    """Moves the topic partition to these replicas; None cancels the reassignment in progress."""

    topic_partition: TopicPartition
    replicas: tuple[BrokerId, ...] | None


@dataclass(frozen=True, slots=True)
class Isolate:
    """Cuts a broker off from the controller and the other brokers; clients still reach it."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class Split:
    """Cuts both directions of the connection between two nodes."""

    one: NodeId
    other: NodeId


@dataclass(frozen=True, slots=True)
class OneWaySplit:
    """Cuts the direction from `source` to `target`."""

    source: NodeId
    target: NodeId


@dataclass(frozen=True, slots=True)
class Heal:
    """Restores every link."""


@dataclass(frozen=True, slots=True)
class DropResponses:
    """Drops the next responses to a client, after the cluster has applied the requests."""

    client: NodeId
    count: int = 1


@dataclass(frozen=True, slots=True)
class Lose:
    """An effect of the fault `On`: the request or its response is lost."""


@dataclass(frozen=True, slots=True)
class Hold:
    """An effect of the fault `On`: the message is late by `for_ms`, and may be overtaken."""

    for_ms: int


@dataclass(frozen=True, slots=True)
class Die:
    """An effect of the fault `On`: kills the receiver of the request, or its machine."""

    # If the machine dies, this percentage of the unflushed bytes remains.
    kept_percent: int | None = None  # None: the process alone


@dataclass(frozen=True, slots=True, kw_only=True)
class On:
    """A fault that waits for requests with a certain API, sender, receiver and topic partition;
    None matches all.

    If `moment` is "before", the request is lost or late, or the receiver dies before it handles the
    request. If "after", the response is lost or late, or the receiver dies before it responds.
    """

    api: str | None = None  # the request's name: "Produce", "EndTxn", ...
    topic: str | None = None
    partition: int | None = None
    source: NodeId | None = None
    target: NodeId | None = None
    occurrence: int = 1  # the first affected one of the matching requests
    count: int = 1
    moment: Literal["before", "after"] = "after"
    does: Lose | Hold | Die = Lose()


OfLinks = Isolate | Split | OneWaySplit | Heal | DropResponses
Fault = Crash | ShutDown | PowerLoss | ReplaceDisk | Restart | Reassign | OfLinks | On


@dataclass(frozen=True, slots=True)
class At:
    at_ms: int
    fault: Fault


Plan = tuple[At, ...]
