"""Paused nodes, and network partitions between the nodes of a cluster.

The messages, timers and requests of a paused node wait until it resumes, as after SIGSTOP. A
network partition loses every message between the nodes that it separates.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from reference_impl.node.step import Input
from reference_impl.protocol.messages import NodeId

Waiting = list[tuple[Input, int | None]]  # each with the number of the node's start


@dataclass(slots=True)
class Interruptions:
    _paused: dict[NodeId, Waiting] = field(default_factory=dict[NodeId, Waiting])
    _split: set[frozenset[NodeId]] = field(default_factory=set[frozenset[NodeId]])
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    # ------------------------------------------------------------ pauses

    def is_paused(self, node: NodeId) -> bool:
        return node in self._paused

    def pause(self, node: NodeId) -> None:
        self._paused.setdefault(node, [])

    def resume(self, node: NodeId) -> Waiting:
        """Resumes a node, and returns the inputs that waited for it, in order. If the node was
        not paused, returns no inputs.
        """
        waiting = self._paused.pop(node, [])
        self._changed.set()  # wakes every waiter; each looks at its node again
        self._changed = asyncio.Event()
        return waiting

    def holds(self, node: NodeId, event: Input, life: int | None) -> bool:
        """Returns True if the node is paused. In this case, `event` and `life` are stored until the
        node resumes.

        The starts of a node are numbered. `life` is the number of the start to which the event
        belongs, or None if the event belongs to every start.
        """
        if node not in self._paused:
            return False
        self._paused[node].append((event, life))
        return True

    async def running(self, node: NodeId) -> None:
        """Waits until the node is not paused."""
        while node in self._paused:
            await self._changed.wait()

    # ------------------------------------------------------------ network partitions

    def split(self, one_side: Iterable[NodeId], other_side: Iterable[NodeId]) -> None:
        others = [*other_side]
        self._split |= {frozenset({one, other}) for one in one_side for other in others}

    def heal(self) -> None:
        self._split.clear()

    def is_split(self, one: NodeId, other: NodeId) -> bool:
        return bool(self._split) and frozenset({one, other}) in self._split
