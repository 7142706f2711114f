"""The simulated network. It has one link for each direction between two nodes.

By default, messages on a link arrive in order, as on TCP. Faults delay, lose, duplicate or reorder
messages. A network partition loses all messages of the cut links. The loss of a request and the
loss of a response are separate faults.

Simplified: a lost message does not affect later messages, whereas TCP would close the connection.
Links to and from the controller do not duplicate or reorder messages, because the controller's
protocol has only one request in flight at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, NamedTuple

from reference_impl.protocol.messages import CONTROLLER, FIRST_CLIENT, NodeId
from reference_impl.simulation.scheduler import Due


class Link(NamedTuple):
    source: NodeId
    target: NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The delays of messages, and the percentages of messages that are lost, duplicated and
    reordered.
    """

    delay_ms: int = 1
    jitter_ms: int = 0  # a random extra delay of up to this
    loss: int = 0
    doubling: int = 0
    overtaking: int = 0  # messages that later ones may overtake
    connects_clients: bool = False  # clients have connections, as on TCP


CALM: Final = Conditions()


@dataclass(slots=True)
class Network:
    """The links between the nodes of a cluster. Nothing else uses the random generator `coins`, so
    random decisions of other parts do not change its numbers.
    """

    coins: Random
    conditions: Conditions = CALM
    split: dict[Link, None] = field(default_factory=dict[Link, None])
    responses_to_drop: dict[NodeId, int] = field(default_factory=dict[NodeId, int])
    last_due: dict[Link, Due] = field(default_factory=dict[Link, Due])

    def overtakes(self, link: Link) -> bool:
        """Returns True if the next message on the link may arrive before earlier messages. A
        random number decides.
        """
        overtaking = self.conditions.overtaking
        if not overtaking or CONTROLLER in link or self.is_connection(link):
            return False
        return self.coins.randrange(100) < overtaking

    def is_connection(self, link: Link) -> bool:
        """Returns True if the link preserves the order of its messages and never duplicates them,
        as a TCP connection.

        On such a link, a delayed message also delays all later messages.
        """
        return self.conditions.connects_clients and any(node >= FIRST_CLIENT for node in link)

    def delays_ms(self, link: Link, *, is_response: bool) -> tuple[int, ...]:
        """Returns one delay in ms for each copy of the next message on the link. The result is
        () if the message is lost.
        """
        if link in self.split:
            return ()
        if is_response and self.responses_to_drop.get(link.target, 0) > 0:
            self.responses_to_drop[link.target] -= 1
            return ()
        conditions = self.conditions
        if conditions.loss and self.coins.randrange(100) < conditions.loss:
            return ()
        doubled = conditions.doubling and self.coins.randrange(100) < conditions.doubling
        copies = 2 if doubled and not (CONTROLLER in link or self.is_connection(link)) else 1
        return tuple(self._delay_ms() for _ in range(copies))

    def _delay_ms(self) -> int:
        jitter_ms = self.conditions.jitter_ms
        return self.conditions.delay_ms + (self.coins.randrange(jitter_ms + 1) if jitter_ms else 0)

    def split_one_way(self, source: NodeId, target: NodeId) -> None:
        self.split[Link(source, target)] = None

    def heal(self) -> None:
        self.split.clear()
        self.responses_to_drop.clear()

    def calm_down(self) -> None:
        self.heal()
        self.conditions = replace(self.conditions, loss=0, doubling=0, overtaking=0)
