"""Runs proxies between nodes in a thread of this process. Each ordered pair of nodes has one
listener.

    with Proxies() as proxies:
        port = proxies.open(1, 2, "127.0.11.12", 9092, "127.0.0.1", 40192)
        with proxies.during(Cut(sender=1, receiver=2)):
            ...  # node 2 receives nothing from node 1
        lost = proxies.add(DropResponse(of=Match(api=Api.PRODUCE, count=1)))
        ...
        assert proxies.await_acted(lost)

Node 1 must connect to the proxy's address instead of the address of node 2. In a JVM, the option
`-Djdk.net.hosts.file` achieves this. For clients, the address of a proxy is the advertised listener
of the broker. If a connection fails with an error, the error is raised when the proxies close.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Generator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from checkers.systems.proxies.active_rules import ActiveRule, ActiveRules, Happened
from checkers.systems.proxies.connection import Closed, Connection
from checkers.systems.proxies.rules import Rule
from model.faults import InputFault
from reference_impl.wire.connections.listening import Address, close_listener

OPENS_WITHIN_S: Final = 10.0
ACTS_WITHIN_S: Final = 10.0
T = TypeVar("T")


class CannotListen(InputFault):
    """Raised if a proxy cannot listen. The message has the two nodes of the proxy and
    its address.
    """


@dataclass(slots=True)
class Proxies:
    rules: ActiveRules = field(init=False)
    failures: list[Exception] = field(default_factory=list[Exception])
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _thread: threading.Thread = field(init=False)
    _servers: list[asyncio.Server] = field(default_factory=list[asyncio.Server])
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    _closed: bool = False

    def __post_init__(self) -> None:
        self.rules = ActiveRules(self._loop)
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxies", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if self.failures and error is None:
            raise self.failures[0]

    def open(
        self,
        sender: int,
        receiver: int,
        listen_host: str,
        listen_port: int,
        target_host: str,
        target_port: int,
    ) -> int:
        """Opens a proxy for the connections from `sender` to `receiver`, and returns the port at
        which the proxy listens. If `listen_port` is 0, this is a free port. The proxy connects to
        the target address. Raises CannotListen if the proxy cannot listen at the listen address.
        """
        at, target = (listen_host, listen_port), (target_host, target_port)
        try:
            return self._await(self._listen((sender, receiver), at, target))
        except OSError as problem:
            raise CannotListen(
                f"the proxy from {sender} to {receiver} cannot listen at "
                f"{listen_host}:{listen_port}: {problem.strerror}; choose another port"
            ) from problem

    def add(self, rule: Rule) -> ActiveRule:
        return self.rules.add(rule)

    def lift(self, *active: ActiveRule) -> None:
        """Ends the fault rules. The proxies then deliver the bytes that the rules have held back,
        in their original order.
        """
        for each in active:
            self.rules.lift(each)

    @contextlib.contextmanager
    def during(self, *rules: Rule) -> Generator[tuple[ActiveRule, ...]]:
        """Adds the fault rules, and ends them when the `with` block ends. Yields the rules with
        their counts.
        """
        active = tuple(self.add(rule) for rule in rules)
        try:
            yield active
        finally:
            self.lift(*active)

    def await_acted(
        self, active: ActiveRule, count: int = 1, within_s: float = ACTS_WITHIN_S
    ) -> bool:
        """Waits until the fault rule has acted `count` times, and returns True. Returns False if
        this takes longer than `within_s` seconds.
        """
        return self.rules.await_acted(active, count, within_s)

    def requests(self, sender: int, receiver: int, api: int) -> int:
        return self.rules.requests[sender, receiver, api]

    @property
    def log(self) -> tuple[Happened, ...]:
        return tuple(self.rules.log)

    def close(self) -> None:
        """Closes all listeners and connections. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._await(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # ------------------------------------------------------------ in the event loop

    def _await(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(OPENS_WITHIN_S)

    async def _listen(self, pair: tuple[int, int], at: Address, target: Address) -> int:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = self._loop.create_task(self._converse(pair, target, reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._ended)
            task.add_done_callback(lambda _: writer.transport.abort())  # even if it never ran

        server = await asyncio.start_server(accept, *at)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def _converse(
        self,
        pair: tuple[int, int],
        target: Address,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        sender, receiver = pair
        connection = Connection(sender, receiver, self.rules)
        upstream: asyncio.StreamWriter | None = None
        try:
            await self.rules.passable(pair, (receiver, sender))  # the handshake needs both ways
            answers, upstream = await asyncio.open_connection(*target)
            async with asyncio.TaskGroup() as both:
                both.create_task(_pumped(connection.requests(reader, upstream), upstream))
                both.create_task(_pumped(connection.responses(answers, writer), writer))
            await asyncio.gather(writer.wait_closed(), upstream.wait_closed())
        except* (Closed, OSError):
            pass  # a rule closed it, an end broke it, or the target does not listen
        finally:
            if upstream is not None:
                upstream.transport.abort()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, ExceptionGroup):
            self.failures.extend(error.exceptions)
        elif isinstance(error, Exception):
            self.failures.append(error)

    async def _end(self) -> None:
        for server in self._servers:
            await close_listener(server)
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pumped(pump: Coroutine[Any, Any, None], writer: asyncio.StreamWriter) -> None:
    try:
        await pump
    finally:
        writer.close()
