"""Faults as data: a plan says what goes wrong and when, and can be printed, stored and shrunk.

A broker that crashes starts again by a fault of its own, `Restart`: how long it is away is part of
the plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.vocabulary import BrokerId
from reference_impl.messages import NodeId


@dataclass(frozen=True, slots=True)
class Crash:
    """The process of a broker dies; the operating system keeps what it had written."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class PowerLoss:
    """A machine loses power: of the offsets that were not flushed, `kept_percent` stay."""

    broker: BrokerId
    kept_percent: int = 0


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


Fault = Crash | PowerLoss | Restart | Isolate | Split | OneWaySplit | Heal | DropResponses


@dataclass(frozen=True, slots=True)
class At:
    """A fault and its time."""

    at_ms: int
    fault: Fault


Plan = tuple[At, ...]
