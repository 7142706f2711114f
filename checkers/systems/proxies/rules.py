"""Fault rules, represented as data. A rule describes how a proxy holds, delays, drops or reorders
the bytes between two nodes.

Each example of a rule below is followed by its effect:

    Cut(sender=1, receiver=2)
        holds every byte from node 1 to node 2 until the cut is lifted; then all bytes arrive in
        order, as after a network failure during which TCP repeats its packets
    DropResponse(of=Match(receiver=1, api=Api.PRODUCE, count=1))
        the first produce request to node 1 is applied, but its response is lost
    DropRequest(of=...)
        the request never arrives
    Hold(of=..., part="request", for_ms=500)
        the request arrives 500 ms later; without `for_ms`, it arrives when the rule is lifted
    SwapRequests(of=...)
        the first matching request of a connection arrives after the next matching request

A `Match` selects requests by their nodes, API and client id. It also selects requests by the
partitions and producers in their bodies. For example:

    Match(api=Api.PRODUCE, topic="orders", partition=0)
    Match(api=Api.FETCH, topic="orders", topic_id=UUID("4ac2..."), partition=0)
    Match(api=Api.WRITE_TXN_MARKERS, producer_id=2000)
    Match(transactional_id="payments")

A rule for one partition also affects the other partitions in the same request. In newer versions of
some APIs, a request has the id of a topic instead of its name. Such a request does not match a rule
that has a `topic` and no `topic_id`. `ActiveRule.undecided` is the number of requests on which a
rule does not act because the proxy cannot find out their partitions or producers.

`sender` is the node that sends the request, even if the rule acts on the response. A `Cut` is
different: it holds all bytes that `sender` sends to `receiver`, in requests and in responses.

A TCP stream cannot lose bytes in its middle, so the connection is closed after a message is
dropped. With `close=False`, the connection remains open, but transports no more bytes in the
direction of the rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NewType
from uuid import UUID

from checkers.systems.proxies.contents import Contents
from checkers.systems.proxies.frames import Header
from reference_impl.wire.messages.named_partitions import Place

Node = NewType("Node", int)
CLIENT: Final = Node(-1)  # every client; brokers and controllers have their node ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Selects the requests on which a fault rule acts. A field that is None matches every request.

    If a request has several partitions or producers, it is sufficient that one of them matches. The
    matching requests are numbered 1, 2, 3 and so on, from the time at which the rule is added. The
    rule selects at most `count` of them, from the number `first` on.
    """

    sender: int | None = None
    receiver: int | None = None
    api: int | None = None
    client_id: str | None = None  # the beginning of the client id
    topic: str | None = None
    topic_id: UUID | None = None  # of the topic, for requests that do not have its name
    partition: int | None = None
    producer_id: int | None = None
    transactional_id: str | None = None
    first: int = 1
    count: int | None = None

    def selects(self, sender: int, receiver: int, header: Header) -> bool:
        """Returns True if the sender, the receiver, the API and the client id of a request match.
        The contents of the request are not compared.
        """
        client_id = header.client_id or ""
        return (
            self.sender in (None, sender)
            and self.receiver in (None, receiver)
            and self.api in (None, header.api_key)
            and (self.client_id is None or client_id.startswith(self.client_id))
        )

    @property
    def reads_bodies(self) -> bool:
        """True if the match depends on the partitions or the producers in the body of a request."""
        fields = (self.topic, self.topic_id, self.partition, self.producer_id)
        return any(field is not None for field in (*fields, self.transactional_id))

    def selects_contents(self, contents: Contents | None) -> bool | None:
        """Returns True if the partitions and producers of a request match, or if this `Match` has
        no condition on partitions and producers.

        Returns None if the proxy cannot find out the result, for example because `contents` is
        None.
        """
        if contents is None:
            return None if self.reads_bodies else True
        names = contents.transactional_ids
        if self.producer_id is not None and self.producer_id not in contents.producer_ids:
            return False
        if self.transactional_id is not None and self.transactional_id not in names:
            return False
        return self._selects_places(contents)

    def _selects_places(self, contents: Contents) -> bool | None:
        if (self.topic, self.topic_id, self.partition) == (None, None, None):
            return True
        found = [self._selects_place(place) for place in contents.places]
        if True in found:
            return True
        return False if contents.is_complete and None not in found else None

    def _selects_place(self, place: Place) -> bool | None:
        topic, index = place
        if self.partition not in (None, index):
            return False
        wanted = self.topic_id if isinstance(topic, UUID) else self.topic
        if wanted is None and (self.topic, self.topic_id) != (None, None):
            return None
        return wanted in (None, topic)

    def selects_occurrence(self, number: int) -> bool:
        """Returns True if the rule acts on the matching request with this number. The first
        matching request has the number 1.
        """
        last = None if self.count is None else self.first + self.count - 1
        return number >= self.first and (last is None or number <= last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A fault rule that holds all bytes from `sender` to `receiver` until the rule is lifted."""

    sender: int
    receiver: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DropResponse:
    """A fault rule that drops the response to a request. The receiver has applied the request."""

    of: Match
    close: bool = True  # False: the client waits for its own timeout


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRequest:
    of: Match
    close: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A fault rule that delays a request or its response. All later data on the same connection in
    the same direction is delayed, too.
    """

    of: Match
    part: Literal["request", "response"] = "request"
    for_ms: int | None = None  # None: until the rule is lifted


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapRequests:
    """A fault rule that delivers a request after the next matching request of the same
    connection.
    """

    of: Match


Rule = Cut | DropResponse | DropRequest | Hold | SwapRequests
