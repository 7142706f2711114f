"""The runtime of simulated nodes. It delivers messages, fires timers, and advances virtual time.

The runtime fulfils the contract of `reference_impl.node.step`. The *life* of a node is the time
from its start to its stop. A message that was sent to an earlier life of a node does not reach the
node. Neither does a timer that was set in an earlier life.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from random import Random
from typing import Final

from model.histories import Operation
from reference_impl.broker.broker import Broker
from reference_impl.controller.controller import Controller
from reference_impl.node.step import (
    Input,
    Reply,
    RequestReceived,
    ResponseReceived,
    Send,
    SetTimer,
    Stopped,
    TimerFired,
)
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.armed_faults import ArmedFaults, Exchange
from reference_impl.simulation.clients import NS_PER_MS, ClientEffects, Observed
from reference_impl.simulation.consumer import Consumer
from reference_impl.simulation.faults import Die, Hold, Lose, On
from reference_impl.simulation.network import Conditions, Link, Network
from reference_impl.simulation.producer import Producer
from reference_impl.simulation.programs import ProgramClient
from reference_impl.simulation.scheduler import Scheduler
from reference_impl.simulation.trace import Trace

NS_PER_EVENT: Final = 100  # room for what one client does at once


class NoProgress(Exception):
    """Raised if the cluster does not recover in time after the end of the faults."""


class World(ABC):
    """All nodes and clients of a cluster, and the scheduler of their events."""

    def __init__(self, seed: int, conditions: Conditions) -> None:
        # One generator for each purpose: one more delay does not change the order of events.
        self._scheduler: Scheduler[tuple[NodeId, int, Input]] = Scheduler(Random(f"order {seed}"))
        self._network = Network(Random(f"network {seed}"), conditions)
        self._armed = ArmedFaults()
        self._nodes: dict[NodeId, Broker | Controller] = {}
        self._clients: dict[NodeId, Producer | Consumer | ProgramClient] = {}
        self._lives: dict[NodeId, int] = {}
        self._observed: list[Operation] = []
        self._now_ns = 0
        self.steps = 0  # of brokers and the controller
        self.trace = Trace()

    @property
    def now_ms(self) -> int:
        return self._scheduler.now_ms

    def run_for(self, duration_ms: int) -> None:
        """Handles all events that are due within the next `duration_ms` of virtual time."""
        end_ms = self.now_ms + duration_ms
        while self._next(end_ms):
            pass

    def run_until(self, condition: Callable[[], bool], within_ms: int) -> bool:
        """Handles events until the condition is true, and returns True.

        Returns False if the condition is still false after `within_ms` of virtual time.
        """
        end_ms = self.now_ms + within_ms
        while not condition():
            if not self._next(end_ms):
                return condition()
        return True

    def _until(self, condition: Callable[[], bool], within_ms: int) -> None:
        if not self.run_until(condition, within_ms):
            raise NoProgress(f"not within {within_ms} ms of virtual time, at {self.now_ms} ms")

    def _next(self, end_ms: int) -> bool:
        due = self._scheduler.next_before(end_ms)
        if due is None:
            return False
        target, life, event = due
        if self._lives.get(target, 0) == life:
            self._deliver_now(target, event)
        return True

    def _deliver_now(self, target: NodeId, event: Input) -> None:
        client = self._clients.get(target)
        if client is not None:
            after, effects = client.step(self._tick_ns(), event)
            self._clients[target] = after
            self.trace.add(self.now_ms, target, event, after)
            self._carry_out(target, effects)
            return
        node = self._nodes.get(target)
        if node is None:
            return  # the node is down: the message is lost
        killed_by = self._killed_by(target, event)
        if killed_by is not None and killed_by.moment == "before":
            self._die(target, killed_by)
            return
        self.steps += 1
        self._nodes[target], effects = node.step(self.now_ms, event)
        self.trace.add(self.now_ms, target, event, self._nodes[target])
        if killed_by is not None:
            self._die(target, killed_by)
            return
        self._carry_out(target, effects)

    def _killed_by(self, target: NodeId, event: Input) -> On | None:
        if not (self._armed.met and isinstance(event, RequestReceived)):
            return None
        return self._armed.fatal_fault(Exchange(event.sender, target, event.correlation))

    @abstractmethod
    def _die(self, node: NodeId, fault: On) -> None: ...

    @abstractmethod
    def _stop(self, node: NodeId) -> None: ...

    def _tick_ns(self) -> int:
        self._now_ns = max(self._now_ns + NS_PER_EVENT, self.now_ms * NS_PER_MS)
        return self._now_ns

    def _carry_out(self, source: NodeId, effects: ClientEffects) -> None:
        for effect in effects:
            match effect:
                case Send(to, correlation, request):
                    self._deliver(source, to, RequestReceived(source, correlation, request))
                case Reply(to, correlation, response):
                    self._deliver(source, to, ResponseReceived(source, correlation, response))
                case SetTimer(timer, at_ms):
                    life = self._lives.get(source, 0)
                    self._scheduler.schedule(at_ms, (source, life, TimerFired(timer)))
                case Observed(operation):
                    self._observed.append(operation)
                case Stopped():
                    self._stop(source)
                case _:
                    pass  # Readable is for runtimes that implement long polls themselves

    def _deliver(
        self, source: NodeId, target: NodeId, event: RequestReceived | ResponseReceived
    ) -> None:
        link = Link(source, target)
        life = self._lives.get(target, 0)
        delays_ms = self._network.delays_ms(link, is_response=isinstance(event, ResponseReceived))
        if self._armed.waiting or self._armed.met:
            match self._fault_on(link, event):
                case Lose():
                    return
                case Hold(for_ms):
                    if self._network.is_connection(link):
                        delays_ms = tuple(delay_ms + for_ms for delay_ms in delays_ms)
                    else:
                        for delay_ms in delays_ms:
                            at_ms = self.now_ms + delay_ms + for_ms
                            self._scheduler.schedule(at_ms, (target, life, event))
                        return
                case _:
                    pass
        for delay_ms in delays_ms:
            due = self._scheduler.schedule(
                self.now_ms + delay_ms,
                (target, life, event),
                after=self._network.last_due.get(link),
            )
            if not self._network.overtakes(link):
                self._network.last_due[link] = due

    def _fault_on(
        self, link: Link, event: RequestReceived | ResponseReceived
    ) -> Lose | Hold | Die | None:
        if isinstance(event, ResponseReceived):
            fault = self._armed.fault_on_response(
                Exchange(link.target, link.source, event.correlation)
            )
            return None if fault is None else fault.does
        fault = self._armed.fault_on_request(Exchange(*link, event.correlation), event.request)
        return None if fault is None or fault.moment == "after" else fault.does

    def _end_life(self, node: NodeId) -> None:
        self._lives[node] = self._lives.get(node, 0) + 1
