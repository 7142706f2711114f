"""The clock of a cluster and the timers of its nodes, driven by the event loop.

The drawing shows the states of a timer:

    set -> due -> would it change something? -- yes --> fires
                             | no
                             v
                          it rests -> the replicas have changed -> set again

The timers SESSIONS and REPLICA_LAG look for silent nodes. They fire a few turns of the event loop
after they are due. So if the loop has stalled, late messages come before these timers. Otherwise
all brokers would be fenced.

The timers of an idle topic partition rest (module `rest`). Otherwise the timers of 500 idle topic
partitions would keep one CPU core busy.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from reference_impl.node.settings import BrokerSettings
from reference_impl.node.step import Timer, TimerKind
from reference_impl.protocol.messages import NodeId
from reference_impl.wire.nodes import rest

CLOCK_STEP_MS: Final = 100  # when the clock advances: below every timeout between nodes
_CLOCK_CYCLES: Final = 20  # of the loop in each step: a message and its answer take some
_OF_SILENCE: Final = frozenset({TimerKind.SESSIONS, TimerKind.REPLICA_LAG})
_TURNS: Final = 8  # of the loop: a timer, its message, the answer, and the next message


@dataclass(slots=True)
class Timers:
    """The clock and the timers of the nodes in one process.

    The starts of a node are numbered. When a timer is due, `fire` is called with three arguments:
    the node, the timer, and the number of the start after which the node set the timer.
    """

    broker_settings: BrokerSettings
    nodes: rest.Nodes
    lives: dict[NodeId, int]
    fire: Callable[[NodeId, Timer, int], object]
    link_ms: int = 0  # from node to node, one way
    _ahead_s: float = 0.0  # wall clock minus the loop's clock
    _set: dict[tuple[NodeId, Timer], asyncio.TimerHandle] = field(default_factory=dict)
    _resting: dict[tuple[NodeId, Timer], rest.Reason] = field(default_factory=dict)
    _changes: rest.ReplicaChanges = field(default_factory=rest.ReplicaChanges)
    _elsewhere: frozenset[NodeId] = frozenset()

    def start(
        self, elsewhere: frozenset[NodeId] = frozenset(), ahead_s: float | None = None
    ) -> None:
        """Starts the nodes' clock, which is `ahead_s` seconds ahead of the event loop's clock. The
        event loops of all processes have the same clock.

        If `ahead_s` is None, the nodes' clock begins at the wall-clock time. Later jumps of the
        wall clock do not matter. `elsewhere` contains the nodes that may run in other processes.
        """
        self._elsewhere = elsewhere
        now_s = asyncio.get_running_loop().time()
        self._ahead_s = time.time() - now_s if ahead_s is None else ahead_s
        self._wake_resting()

    @property
    def now_ms(self) -> int:
        """The wall-clock time in milliseconds, as in the timestamps of producers. It never
        decreases.
        """
        return int((asyncio.get_running_loop().time() + self._ahead_s) * 1000)

    @property
    def resting(self) -> Counter[TimerKind]:
        """The number of resting timers of each kind. A resting timer is due, but does not fire,
        because it would change nothing.
        """
        return Counter(timer.kind for _, timer in self._resting)

    def set(self, node_id: NodeId, timer: Timer, at_ms: int) -> None:
        """Sets a timer of a running node. If the same timer is set already, its earlier time is
        cancelled.
        """
        earlier = self._set.get((node_id, timer))
        if earlier is not None:
            earlier.cancel()
        self._resting.pop((node_id, timer), None)
        self._call_at((at_ms + 1) / 1000 - self._ahead_s, node_id, timer)

    async def advance(self, ms: int) -> None:
        """Advances the clock by `ms` milliseconds in small steps. Between two steps, the nodes
        exchange messages.
        """
        for passed in range(0, ms, CLOCK_STEP_MS):
            step_s = min(CLOCK_STEP_MS, ms - passed) / 1000
            self._ahead_s += step_s
            for (node_id, timer), handle in [*self._set.items()]:
                handle.cancel()
                self._call_at(handle.when() - step_s, node_id, timer)
            for _ in range(_CLOCK_CYCLES):
                await asyncio.sleep(0)

    def _call_at(self, at_s: float, node_id: NodeId, timer: Timer) -> None:
        self._set[node_id, timer] = asyncio.get_running_loop().call_at(
            at_s, self._due, node_id, timer, self.lives[node_id]
        )

    def _due(self, node_id: NodeId, timer: Timer, life: int) -> None:
        del self._set[node_id, timer]
        reason = rest.reason_to_rest(self.nodes, node_id, timer, self._elsewhere)
        if reason is not None and life == self.lives[node_id]:
            # it would change nothing, so it waits until a replica changes
            self._resting[node_id, timer] = reason
        elif timer.kind in _OF_SILENCE:
            delay_s = 3 * self.link_ms / 1000  # as many messages as in the turns
            asyncio.get_running_loop().call_later(
                delay_s, self._fire_later, _TURNS, node_id, timer, life
            )
        else:
            self.fire(node_id, timer, life)

    def _fire_later(self, turns: int, node_id: NodeId, timer: Timer, life: int) -> None:
        if turns:
            loop = asyncio.get_running_loop()
            loop.call_soon(self._fire_later, turns - 1, node_id, timer, life)
        else:
            self.fire(node_id, timer, life)

    def _wake_resting(self) -> None:
        places = self._changes.since_last_call(self.nodes)
        changed = [
            (node_id, timer)
            for (node_id, timer), reason in (self._resting.items() if places else ())
            if timer.topic_partition in places
            and not rest.is_unchanged(self.nodes, node_id, timer, reason)
        ]
        for node_id, timer in changed:
            lags = timer.kind is TimerKind.REPLICA_LAG
            # No fetch has come for a long time: the followers must have time to fetch first.
            delay_ms = self.broker_settings.replica_lag_ms // 2 if lags else 0
            self.set(node_id, timer, self.now_ms + delay_ms)
        asyncio.get_running_loop().call_later(
            self.broker_settings.replica_fetch_wait_ms / 1000, self._wake_resting
        )
