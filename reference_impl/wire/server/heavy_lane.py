"""Handles requests with many elements in a separate thread, so that other requests do not wait.

Python needs up to a second for a request of 10,000 elements. The number of a request's elements
decides which thread handles it:

    few elements    handled in the event loop of the brokers
    many elements   decoded, handled and encoded in the separate thread; only the handler's calls
                    to the broker run in the event loop of the brokers

All large requests share this one thread.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.messages import Produce, Produced
from reference_impl.protocol.requests import Request, Response
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.requests.broker.fetch_sessions import FetchSessions
from reference_impl.wire.requests.broker.served_broker import ServedBroker
from reference_impl.wire.security.credentials import Changes, Credentials

R = TypeVar("R")

SWITCH_S: Final = 0.001  # Python's default of 5 ms would delay each receive and send of the others
CALLS: Final = 8  # how many calls of one request go to the event loop of the brokers at once


@dataclass(slots=True)
class HeavyLane:
    """The thread for large requests, with its own event loop. The thread starts with the first
    large request.
    """

    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None
    _switch_s: float = 0.0

    async def run(self, work: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Calls `work`, runs the coroutine that it returns in the thread of this lane, and returns
        the coroutine's result. If the caller is cancelled, the coroutine is cancelled, too.
        """
        loop = self._loop or self._start()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), loop))

    def _start(self) -> asyncio.AbstractEventLoop:
        self._switch_s = sys.getswitchinterval()
        sys.setswitchinterval(min(self._switch_s, SWITCH_S))
        loop = self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=loop.run_forever, name="large requests")
        self._thread.start()
        return loop

    async def close(self) -> None:
        if self._loop is None or self._thread is None:
            return
        await self.run(_cancel_others)
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)
        self._loop.close()
        self._loop = self._thread = None
        sys.setswitchinterval(self._switch_s)


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@dataclass(slots=True)
class BrokerFromLane:
    """The broker, for handlers that run in the thread for large requests. If a handler calls the
    broker, the call runs in the broker's event loop.
    """

    broker: ServedBroker
    loop: asyncio.AbstractEventLoop  # of the broker
    _calls: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CALLS))

    @property
    def broker_id(self) -> BrokerId:
        return self.broker.broker_id

    @property
    def addresses(self) -> Mapping[BrokerId, Address]:
        return self.broker.addresses

    @property
    def auto_creates_topics(self) -> bool:
        return self.broker.auto_creates_topics

    @property
    def credentials(self) -> Credentials:
        return self.broker.credentials

    async def change_credentials(self, changes: Changes) -> None:
        await self._there(self.broker.change_credentials(changes))

    @property
    def default_partitions(self) -> int:
        return self.broker.default_partitions

    @property
    def fetch_sessions(self) -> FetchSessions:
        return self.broker.fetch_sessions

    def replica(self, topic_partition: TopicPartition) -> object:
        return self.broker.replica(topic_partition)

    async def call(self, request: Request) -> Response:
        async with self._calls:
            return await self._there(self.broker.call(request))

    async def call_all(self, requests: Sequence[Request]) -> list[Response]:
        async def some(first: int) -> list[Response]:
            async with self._calls:
                return await self._there(self.broker.call_all(requests[first : first + CALLS]))

        parts = await asyncio.gather(*(some(at) for at in range(0, len(requests), CALLS)))
        return [response for part in parts for response in part]

    def send(self, request: Produce) -> Produced | None:
        async def sent() -> Produced | None:
            return self.broker.send(request)

        return asyncio.run_coroutine_threadsafe(sent(), self.loop).result()

    async def readable(
        self,
        topic_partitions: Collection[TopicPartition],
        timeout_ms: int,
        is_unchanged: Callable[[], bool],
    ) -> None:
        await self._there(self.broker.readable(topic_partitions, timeout_ms, is_unchanged))

    async def apart(self, work: Callable[[], R]) -> R:
        return work()

    async def _there(self, work: Coroutine[Any, Any, R]) -> R:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))
