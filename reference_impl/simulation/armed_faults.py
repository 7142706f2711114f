"""Faults that wait for requests: how they match requests, and which messages they affect.

An armed fault counts the matching requests, and applies to `count` of them from the one numbered
`occurrence` on. A fault of the response or the receiver waits under the request's correlation id.
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
    """The sender, receiver and correlation id of a request and its response."""

    sender: NodeId
    receiver: NodeId
    correlation: int


@dataclass(slots=True)
class ArmedFault:
    """`seen` counts the matching requests so far."""

    fault: On
    seen: int = 0

    def applies_to(self, link: Link, request: Request) -> bool:
        """Counts the request if it matches; True if the fault applies to it."""
        if not matches(self.fault, link, request):
            return False
        self.seen += 1
        return self.seen >= self.fault.occurrence

    @property
    def spent(self) -> bool:
        return self.seen >= self.fault.occurrence + self.fault.count - 1


def matches(fault: On, link: Link, request: Request) -> bool:
    """True if the request has the API, the nodes and the topic partition of the fault."""
    actual = (type(request).__name__, link.source, link.target)
    meant = (fault.api, fault.source, fault.target)
    if any(name not in {None, is_} for name, is_ in zip(meant, actual, strict=True)):
        return False
    return (fault.topic is None and fault.partition is None) or any(
        fault.topic in {None, place.topic} and fault.partition in {None, place.index}
        for place in places(request)
    )


def places(request: Request) -> tuple[TopicPartition, ...]:
    one: TopicPartition | None = getattr(request, "topic_partition", None)
    some: tuple[TopicPartition, ...] | None = getattr(request, "topic_partitions", None)
    if one is not None:
        return (one,)
    if isinstance(some, tuple):
        return some
    return tuple(place for place, _ in getattr(request, "offsets", ()))


@dataclass(slots=True)
class ArmedFaults:
    """The faults of type `On` that wait for a matching request, or for its response."""

    waiting: list[ArmedFault] = field(default_factory=list[ArmedFault])
    met: dict[Exchange, On] = field(default_factory=dict[Exchange, On])

    def arm(self, fault: On) -> None:
        self.waiting.append(ArmedFault(fault))

    def fault_on_request(self, exchange: Exchange, request: Request) -> On | None:
        """The first armed fault that applies to a request when it is sent, or None."""
        if not self.waiting:
            return None
        link = Link(exchange.sender, exchange.receiver)
        met = [armed for armed in self.waiting if armed.applies_to(link, request)]
        self.waiting = [armed for armed in self.waiting if not armed.spent]
        if not met:
            return None
        if met[0].fault.moment == "after" or isinstance(met[0].fault.does, Die):
            # It takes effect later: `fault_on_response` or `fatal_fault` returns it then.
            self.met[exchange] = met[0].fault
        return met[0].fault

    def fatal_fault(self, exchange: Exchange) -> On | None:
        """The fault that kills the receiver of this request, or None."""
        fault = self.met.get(exchange)
        return self.met.pop(exchange) if fault is not None and isinstance(fault.does, Die) else None

    def fault_on_response(self, exchange: Exchange) -> On | None:
        return self.met.pop(exchange, None)

    def disarm(self) -> None:
        self.waiting.clear()
        self.met.clear()
