"""Faults as data: a plan says what goes wrong and when, and can be printed, stored and shrunk.

Most faults come at a time. `On` comes with a request instead: the third EndTxn that reaches broker
2, say, whose answer is lost, or right after which that broker dies. It waits from its time on until
as many as it counts have come.

A broker that crashes starts again by a fault of its own, `Restart`: how long it is away is part of
the plan.

Source: protocol rule B9 (the kinds of crashes); TigerBeetle's and FoundationDB's simulators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.vocabulary import BrokerId
from reference_impl.protocol.messages import NodeId


@dataclass(frozen=True, slots=True)
class Crash:
    """The process of a broker dies; the operating system keeps what it had written."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class ShutDown:
    """A broker is asked to stop: it hands over what it leads, writes everything, and ends."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class PowerLoss:
    """A machine loses power: of the bytes of each log that were not flushed, `kept_percent` stay,
    which may tear a batch; garbled, the last of them are not what was written.
    """

    broker: BrokerId
    kept_percent: int = 0
    garbled: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceDisk:
    """A broker dies, and comes back with an empty disk."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class Restart:
    """A broker that is down starts again."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class Isolate:
    """A broker and all other brokers and the controller no longer hear each other; clients reach
    it.
    """

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class Split:
    """Two nodes no longer hear each other."""

    one: NodeId
    other: NodeId


@dataclass(frozen=True, slots=True)
class OneWaySplit:
    """What the source sends no longer reaches the target; the way back works."""

    source: NodeId
    target: NodeId


@dataclass(frozen=True, slots=True)
class Heal:
    """Every split ends."""


@dataclass(frozen=True, slots=True)
class DropResponses:
    """The next responses to a client are lost, after their requests were applied."""

    client: NodeId
    count: int = 1


@dataclass(frozen=True, slots=True)
class Lose:
    """The message never arrives."""


@dataclass(frozen=True, slots=True)
class Hold:
    """The message arrives so much later, and others overtake it."""

    for_ms: int


@dataclass(frozen=True, slots=True)
class Die:
    """The broker that was asked dies: its process, or its machine with so much unflushed kept."""

    kept_percent: int | None = None  # None: the process alone


@dataclass(frozen=True, slots=True, kw_only=True)
class On:
    """What becomes of requests that are like this; a field that is None is like any.

    `before`: the request is lost, late, or kills as it arrives, and was not applied. `after`: it
    was applied; its answer is lost or late, or nothing of what followed leaves the broker.
    """

    api: str | None = None  # the request's name: "Produce", "EndTxn", ...
    topic: str | None = None
    partition: int | None = None
    source: NodeId | None = None
    target: NodeId | None = None
    occurrence: int = 1  # the first that counts, among those that are like this
    count: int = 1
    moment: Literal["before", "after"] = "after"
    does: Lose | Hold | Die = Lose()


Fault = (
    Crash
    | ShutDown
    | PowerLoss
    | ReplaceDisk
    | Restart
    | Isolate
    | Split
    | OneWaySplit
    | Heal
    | DropResponses
    | On
)


@dataclass(frozen=True, slots=True)
class At:
    """A fault and its time."""

    at_ms: int
    fault: Fault


Plan = tuple[At, ...]
