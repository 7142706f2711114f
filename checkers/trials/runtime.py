"""Runs the clients of the simulation in real time.

All clients run in one event loop. A Hypothesis state machine controls the clients. The event loop
runs only while the state machine waits for the clients. If a fault delays a request, the request is
sent on its own connection, so that later requests can overtake it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from checkers.trials.connections import Addresses, Connection
from checkers.trials.pace import Pace
from model.histories import History, Operation
from model.vocabulary import BrokerId
from reference_impl.node.step import Input, ResponseReceived, Send, SetTimer, TimerFired
from reference_impl.protocol.messages import NodeId
from reference_impl.protocol.requests import Request, Response
from reference_impl.simulation.armed_faults import ArmedFaults, Exchange
from reference_impl.simulation.clients import TICK, ClientEffects, Observed
from reference_impl.simulation.consumer import Consumer
from reference_impl.simulation.faults import Hold, Lose
from reference_impl.simulation.network import Link
from reference_impl.simulation.producer import Producer
from reference_impl.simulation.programs import ProgramClient
from reference_impl.wire.clients.dialogue import Names

LOOK_AGAIN_S: Final = 0.02  # how often a condition is evaluated, at most

Client = Producer | Consumer | ProgramClient


@dataclass(slots=True)
class Runtime:
    pace: Pace
    names: Names
    addresses: Addresses
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    clients: dict[NodeId, Client] = field(default_factory=dict[NodeId, Client])
    cut: set[Link] = field(default_factory=set[Link])
    armed: ArmedFaults = field(default_factory=ArmedFaults)
    responses_to_drop: dict[NodeId, int] = field(default_factory=dict[NodeId, int])
    steps: int = 0
    _observed: list[Operation] = field(default_factory=list[Operation])
    _dead: set[NodeId] = field(default_factory=set[NodeId])
    _connections: dict[Link, Connection] = field(default_factory=dict[Link, Connection])
    _open: list[Connection] = field(default_factory=list[Connection])
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])
    _faults: list[Exception] = field(default_factory=list[Exception])
    _stepped: asyncio.Event = field(default_factory=asyncio.Event)

    # ------------------------------------------------------------ time

    def run_for(self, duration_ms: int) -> None:
        self._run(asyncio.sleep(self.pace.real_s(duration_ms)))

    def run_until(self, condition: Callable[[], bool], within_ms: int) -> bool:
        """Runs the clients until the condition is true, and returns True. Returns False if the
        condition is still false after `within_ms` virtual milliseconds.
        """
        end_s = self.loop.time() + self.pace.real_s(within_ms)
        while not condition():
            if self.loop.time() >= end_s:
                return False
            self._run(self._next_step())
        return True

    def in_background(self, blocking: Callable[[], None]) -> asyncio.Future[None]:
        return self.loop.run_in_executor(None, blocking)

    def close(self) -> None:
        self._dead.update(self.clients)
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    def _run(self, something: Coroutine[Any, Any, Any]) -> None:
        self.loop.run_until_complete(something)
        if self._faults:
            raise self._faults[0]

    async def _next_step(self) -> None:
        self._stepped.clear()
        try:
            async with asyncio.timeout(LOOK_AGAIN_S):
                await self._stepped.wait()
        except TimeoutError:
            pass

    # ------------------------------------------------------------ clients

    def add(self, client: Client) -> None:
        """Adds a client. Its first timer fires immediately."""
        self.clients[client.client_id] = client
        self._later(0, client.client_id, TimerFired(TICK))

    def kill(self, client_id: NodeId) -> None:
        """Kills a client. Its connections are closed, and it receives no more events."""
        client = self.clients[client_id]
        assert isinstance(client, ProgramClient)
        client.close()
        self._dead.add(client_id)
        for link in [link for link in self._connections if link.source == client_id]:
            self._run(self._connections.pop(link).close())

    def history(self) -> History:
        """Returns the operations of all clients. Completed operations are in the order of their
        completion, and operations without a completion follow.
        """
        unfinished = (operation for c in self.clients.values() for operation in c.unfinished())
        return (*self._observed, *unfinished)

    def carry_out(self, client_id: NodeId, effects: ClientEffects) -> None:
        for effect in effects:
            match effect:
                case Send(to, correlation, request):
                    self._request(Link(client_id, to), correlation, request)
                case SetTimer(timer, at_ms):
                    wait_ms = max(0, at_ms - self.pace.now_ms)
                    # one virtual ms more: the loop's clock may be a little ahead
                    self._later(wait_ms + 1, client_id, TimerFired(timer))
                case Observed(operation):
                    self._observed.append(operation)
                case _:
                    raise AssertionError(f"{effect} is no effect of a client")

    def _step(self, client_id: NodeId, event: Input) -> None:
        if client_id in self._dead:
            return
        self.steps += 1
        try:
            self.clients[client_id], effects = self.clients[client_id].step(
                self.pace.tick_ns(), event
            )
        except Exception as fault:
            self._faults.append(fault)
            return
        self.carry_out(client_id, effects)
        self._stepped.set()

    def _later(self, wait_ms: float, client_id: NodeId, event: Input) -> None:
        self.loop.call_later(self.pace.real_s(wait_ms), self._step, client_id, event)

    # ------------------------------------------------------------ requests

    def _request(self, link: Link, correlation: int, request: Request) -> None:
        if link in self.cut:
            return
        exchange = Exchange(link.source, link.target, correlation)
        fault = self.armed.fault_on_request(exchange, request)
        if fault is None or fault.moment == "after":
            self._connection(link).send(
                self.pace.paced(request), lambda it: self._response(exchange, it)
            )
        elif isinstance(fault.does, Hold):
            self._task(self._send_late(fault.does.for_ms, link, exchange, request))

    async def _send_late(
        self, for_ms: int, link: Link, exchange: Exchange, request: Request
    ) -> None:
        await asyncio.sleep(self.pace.real_s(for_ms))
        self._new_connection(link).send(
            self.pace.paced(request), lambda it: self._response(exchange, it)
        )

    def _response(self, exchange: Exchange, response: Response) -> None:
        client = exchange.sender
        if Link(exchange.receiver, client) in self.cut:
            return
        if self.responses_to_drop.get(client, 0) > 0:
            self.responses_to_drop[client] -= 1
            return
        received = ResponseReceived(exchange.receiver, exchange.correlation, response)
        fault = self.armed.fault_on_response(exchange)
        match None if fault is None else fault.does:
            case Lose():
                pass
            case Hold(for_ms):
                self._later(for_ms, client, received)
            case _:
                self._step(client, received)

    def _connection(self, link: Link) -> Connection:
        kept = self._connections.get(link)
        gives_up = isinstance(self.clients[link.source], ProgramClient)
        if kept is not None and not kept.is_closed and (kept.is_idle or not gives_up):
            return kept
        self._connections[link] = self._new_connection(link)
        return self._connections[link]

    def _new_connection(self, link: Link) -> Connection:
        address = self.addresses[BrokerId(link.target)]
        connection = Connection(address, self.names, self.addresses, self._faults.append)
        # the event loop refers to its tasks weakly, so every open connection is kept here
        self._open = [*(it for it in self._open if not it.is_closed), connection]
        return connection

    def _task(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
