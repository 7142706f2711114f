"""The network: every pair of nodes has a link in each direction, in order like a TCP connection,
and losing like none.

A message is delayed, lost, doubled, or held back by a split of one direction or both. What crosses
a link arrives in the order in which it was sent, unless it is overtaken: as between the connections
that a client has one after the other. Two kinds of loss are told apart, because clients must not
tell them apart: a request that never arrived, and a response that was dropped after the request was
applied.

Simplified: a lost message loses nothing that was sent after it, where a connection of TCP would be
closed. Links to and from the controller double and reorder nothing: its protocol relies on one
request at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, NamedTuple

from reference_impl.protocol.messages import CONTROLLER, NodeId
from reference_impl.simulation.scheduler import Due


class Link(NamedTuple):
    """One direction between two nodes."""

    source: NodeId
    target: NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """How the network treats each message; chances are percentages."""

    delay_ms: int = 1
    jitter_ms: int = 0  # up to so much more
    loss: int = 0
    doubling: int = 0
    overtaking: int = 0  # a message that what is sent behind it may overtake


CALM: Final = Conditions()


@dataclass(slots=True)
class Network:
    """The links, their faults, and a coin of their own."""

    coins: Random
    conditions: Conditions = CALM
    split: dict[Link, None] = field(default_factory=dict[Link, None])
    responses_to_drop: dict[NodeId, int] = field(default_factory=dict[NodeId, int])
    last_due: dict[Link, Due] = field(default_factory=dict[Link, Due])

    def overtakes(self, link: Link) -> bool:
        """The next message of this link need not wait for those before it."""
        overtaking = self.conditions.overtaking
        if not overtaking or CONTROLLER in link:
            return False
        return self.coins.randrange(100) < overtaking

    def delays_ms(self, link: Link, *, is_response: bool) -> tuple[int, ...]:
        """After how long the copies of a message arrive: of a lost one there is none."""
        if link in self.split:
            return ()
        if is_response and self.responses_to_drop.get(link.target, 0) > 0:
            self.responses_to_drop[link.target] -= 1
            return ()
        conditions = self.conditions
        if conditions.loss and self.coins.randrange(100) < conditions.loss:
            return ()
        doubled = conditions.doubling and self.coins.randrange(100) < conditions.doubling
        copies = 2 if doubled and CONTROLLER not in link else 1
        return tuple(self._delay_ms() for _ in range(copies))

    def _delay_ms(self) -> int:
        jitter_ms = self.conditions.jitter_ms
        return self.conditions.delay_ms + (self.coins.randrange(jitter_ms + 1) if jitter_ms else 0)

    def split_one_way(self, source: NodeId, target: NodeId) -> None:
        """Nothing that the source sends reaches the target any more."""
        self.split[Link(source, target)] = None

    def heal(self) -> None:
        """Every link works again; what was lost stays lost."""
        self.split.clear()
        self.responses_to_drop.clear()

    def calm_down(self) -> None:
        """Nothing is lost or doubled any more."""
        self.heal()
        self.conditions = replace(self.conditions, loss=0, doubling=0, overtaking=0)
