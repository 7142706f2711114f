"""Faults that wait for requests: which request meets which, and what has become of its answer.

An armed fault counts the requests that are like it, as they are sent; those from its occurrence on
meet it, as many as it counts. What a fault does to an answer, or to the broker that was asked, is
kept under the correlation of the request until that comes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from model.vocabulary import TopicPartition
from reference_impl.protocol.messages import NodeId
from reference_impl.protocol.requests import Request
from reference_impl.simulation.faults import Die, On
from reference_impl.simulation.network import Link


class Exchange(NamedTuple):
    """A request and its answer: who asked whom, under which correlation."""

    asks: NodeId
    asked: NodeId
    correlation: int


@dataclass(slots=True)
class ArmedFault:
    """A fault that waits for requests, and how many that are like it were sent."""

    fault: On
    seen: int = 0

    def takes(self, link: Link, request: Request) -> bool:
        """Counts a request that is like the fault's; whether it is one of those meant."""
        if not matches(self.fault, link, request):
            return False
        self.seen += 1
        return self.seen >= self.fault.occurrence

    @property
    def spent(self) -> bool:
        """Nothing more can happen to it."""
        return self.seen >= self.fault.occurrence + self.fault.count - 1


def matches(fault: On, link: Link, request: Request) -> bool:
    """The request is of the kind that the fault names."""
    told = (type(request).__name__, link.source, link.target)
    meant = (fault.api, fault.source, fault.target)
    if any(name not in {None, is_} for name, is_ in zip(meant, told, strict=True)):
        return False
    return (fault.topic is None and fault.partition is None) or any(
        fault.topic in {None, place.topic} and fault.partition in {None, place.index}
        for place in places(request)
    )


def places(request: Request) -> tuple[TopicPartition, ...]:
    """The topic partitions that a request names."""
    one: TopicPartition | None = getattr(request, "topic_partition", None)
    some: tuple[TopicPartition, ...] | None = getattr(request, "topic_partitions", None)
    if one is not None:
        return (one,)
    if isinstance(some, tuple):
        return some
    return tuple(place for place, _ in getattr(request, "offsets", ()))


@dataclass(slots=True)
class ArmedFaults:
    """The faults that wait, and those that were met and have still to happen."""

    waiting: list[ArmedFault] = field(default_factory=list[ArmedFault])
    met: dict[Exchange, On] = field(default_factory=dict[Exchange, On])

    def arm(self, fault: On) -> None:
        """The fault waits for its requests from now on."""
        self.waiting.append(ArmedFault(fault))

    def meets(self, exchange: Exchange, request: Request) -> On | None:
        """The fault that a request meets as it is sent; of several the one that was armed first.

        What is to happen to it later, is remembered.
        """
        if not self.waiting:
            return None
        link = Link(exchange.asks, exchange.asked)
        met = [armed for armed in self.waiting if armed.takes(link, request)]
        self.waiting = [armed for armed in self.waiting if not armed.spent]
        if not met:
            return None
        if met[0].fault.moment == "after" or isinstance(met[0].fault.does, Die):
            self.met[exchange] = met[0].fault
        return met[0].fault

    def kills(self, exchange: Exchange) -> On | None:
        """The fault by which the broker dies as this request arrives, or when it was applied."""
        fault = self.met.get(exchange)
        return self.met.pop(exchange) if fault is not None and isinstance(fault.does, Die) else None

    def to_answer(self, exchange: Exchange) -> On | None:
        """What becomes of the answer."""
        return self.met.pop(exchange, None)

    def disarm(self) -> None:
        """Nothing waits any more."""
        self.waiting.clear()
        self.met.clear()
