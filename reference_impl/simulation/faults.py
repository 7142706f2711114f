"""Faults as data. A plan (a list of faults with their times) can be printed, stored and shrunk.

The fault `On` waits for certain requests. For example, it waits for the third EndTxn to broker 2,
and then loses the response or kills broker 2. A crashed broker is down until the fault `Restart`.

Source: docs/kafka-rules.md B9 (the kinds of crashes); TigerBeetle's and FoundationDB's simulators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.messages import NodeId


@dataclass(frozen=True, slots=True)
class Crash:
    """Kills the process of a broker. The data that the process has written survives, because the
    operating system has it.
    """

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class ShutDown:
    """Shuts a broker down cleanly. The broker hands over its partitions, flushes all logs, and
    stops.
    """

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class PowerLoss:
    """Cuts the power of a broker's host. Only `kept_percent` of the unflushed bytes of each log
    reach the disk.

    If `garbled`, the final bytes that reach the disk are corrupted.
    """

    broker: BrokerId
    kept_percent: int = 0
    garbled: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceDisk:
    """Kills the process of a broker, and replaces the broker's disk by an empty one."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class Restart:
    broker: BrokerId


@dataclass(frozen=True, slots=True)
class Reassign:
    """Moves the topic partition to the brokers `replicas`. If `replicas` is None, cancels the
    reassignment in progress.
    """

    topic_partition: TopicPartition
    replicas: tuple[BrokerId, ...] | None


@dataclass(frozen=True, slots=True)
class Isolate:
    """Cuts a broker off from the controller and from all other brokers. Clients can still reach
    the broker.
    """

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class Split:
    """Cuts the links between two nodes in both directions."""

    one: NodeId
    other: NodeId


@dataclass(frozen=True, slots=True)
class OneWaySplit:
    """Cuts the link from `source` to `target`. The link in the opposite direction still works."""

    source: NodeId
    target: NodeId


@dataclass(frozen=True, slots=True)
class Heal:
    """Restores every link that a fault has cut."""


@dataclass(frozen=True, slots=True)
class DropResponses:
    """Drops the next `count` responses to a client. The cluster has applied the requests of these
    responses.
    """

    client: NodeId
    count: int = 1


@dataclass(frozen=True, slots=True)
class Lose:
    """An effect of the fault `On`: the request or its response is lost."""


@dataclass(frozen=True, slots=True)
class Hold:
    """An effect of the fault `On`: the request or its response arrives `for_ms` later. Later
    messages may arrive before it.
    """

    for_ms: int


@dataclass(frozen=True, slots=True)
class Die:
    """An effect of the fault `On`: the process of the receiver is killed, or the receiver's
    machine loses power.
    """

    # If the machine dies, this percentage of the unflushed bytes remains.
    kept_percent: int | None = None  # None: the process alone


@dataclass(frozen=True, slots=True, kw_only=True)
class On:
    """A fault that waits for requests with a certain API, sender, receiver and topic partition.

    A field that is None matches every request. `moment` is the time of the effect:

    - "before": the request is lost or late, or the receiver dies before it handles the request.
    - "after": the response is lost or late, or the receiver dies before it responds.
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
