"""Faults that wait for requests: how a fault matches a request, and which messages it affects.

An armed fault counts the requests that match it. The fault applies to `count` of these requests,
beginning with the request number `occurrence`. Some faults affect the response, or kill the
receiver. Such a fault is stored under the sender, the receiver and the correlation id of the
request until it takes effect.
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
    """A fault that waits for requests. `seen` is the number of matching requests so far."""

    fault: On
    seen: int = 0

    def applies_to(self, link: Link, request: Request) -> bool:
        """Returns True if the request is the matching request number `occurrence` or a later
        matching request. Adds 1 to `seen` for each matching request.
        """
        if not matches(self.fault, link, request):
            return False
        self.seen += 1
        return self.seen >= self.fault.occurrence

    @property
    def spent(self) -> bool:
        return self.seen >= self.fault.occurrence + self.fault.count - 1


def matches(fault: On, link: Link, request: Request) -> bool:
    """Returns True if the request has the API, the sender, the receiver and the topic partition of
    the fault.

    A field of the fault that is None matches every request. If a request has several topic
    partitions, one matching topic partition is enough.
    """
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
    """All armed faults of the type `On`: each waits for a matching request, or for the response
    to a matched request.
    """

    waiting: list[ArmedFault] = field(default_factory=list[ArmedFault])
    met: dict[Exchange, On] = field(default_factory=dict[Exchange, On])

    def arm(self, fault: On) -> None:
        self.waiting.append(ArmedFault(fault))

    def fault_on_request(self, exchange: Exchange, request: Request) -> On | None:
        """Returns the first armed fault that applies to a request, or None if no fault applies.

        The method is called when the request is sent. If the fault takes effect later, the method
        also stores the fault for `fatal_fault` or `fault_on_response`.
        """
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
        """Returns the fault that kills the receiver of the request, or None if there is no such
        fault.

        The returned fault is removed, so a second call returns None.
        """
        fault = self.met.get(exchange)
        return self.met.pop(exchange) if fault is not None and isinstance(fault.does, Die) else None

    def fault_on_response(self, exchange: Exchange) -> On | None:
        return self.met.pop(exchange, None)

    def disarm(self) -> None:
        self.waiting.clear()
        self.met.clear()
