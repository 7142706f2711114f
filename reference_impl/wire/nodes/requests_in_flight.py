"""The requests of clients to the nodes of one process, until the nodes respond.

Each request has a future. The future gets the response, or an error if the node dies first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from model.vocabulary import BrokerId
from reference_impl.node.step import RequestReceived
from reference_impl.protocol.messages import FIRST_CLIENT, NodeId, Produce, Produced
from reference_impl.protocol.requests import Request, Response


class BrokerDown(ConnectionError):
    """Raised if the broker is down, or dies before it responds."""


@dataclass(slots=True)
class RequestsInFlight:
    is_up: Callable[[BrokerId], bool]
    step: Callable[[NodeId, RequestReceived], bool]  # False: the node raised an exception
    _sent: int = 0
    _owed: dict[tuple[NodeId, int], asyncio.Future[Response]] = field(default_factory=dict)

    async def call(self, broker_id: BrokerId, request: Request) -> Response:
        """Sends a request, and returns the response. Raises BrokerDown if the broker dies first."""
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        correlation = self._send(broker_id, request, future)
        try:
            return await future
        finally:
            self._owed.pop((NodeId(broker_id), correlation), None)

    async def call_all(self, broker_id: BrokerId, requests: Sequence[Request]) -> list[Response]:
        """Sends all requests at once, and returns their responses in the same order. Raises
        BrokerDown if the broker dies before the last response.
        """
        loop = asyncio.get_running_loop()
        futures: dict[int, asyncio.Future[Response]] = {}
        try:
            for request in requests:
                future: asyncio.Future[Response] = loop.create_future()
                futures[self._send(broker_id, request, future)] = future
            return [await future for future in futures.values()]
        finally:
            for correlation, future in futures.items():
                self._owed.pop((NodeId(broker_id), correlation), None)
                if future.done() and not future.cancelled():
                    future.exception()  # only the first exception is raised

    def send(self, broker_id: BrokerId, request: Produce) -> Produced | None:
        """Sends a produce request with acks=0. Returns the response if the broker rejects the
        request, and otherwise None.
        """
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        correlation = self._send(broker_id, request, future)
        self._owed.pop((NodeId(broker_id), correlation), None)
        response = future.result() if future.done() else None
        assert response is None or isinstance(response, Produced)
        return response

    def answer(self, node_id: NodeId, correlation: int, response: Response) -> None:
        """Passes a response to the client that waits for it. Does nothing if no client waits for
        it.
        """
        future = self._owed.get((node_id, correlation))
        if future is not None and not future.done():
            future.set_result(response)

    def fail(self, broker_id: BrokerId) -> None:
        """Raises BrokerDown in all calls that wait for a response of the broker."""
        for owing, correlation in [*self._owed]:
            if owing == NodeId(broker_id):
                future = self._owed.pop((owing, correlation))
                if not future.done():
                    future.set_exception(BrokerDown(f"broker {broker_id} died"))

    def count(self, broker_id: BrokerId) -> int:
        return sum(node_id == NodeId(broker_id) for node_id, _ in self._owed)

    def _send(self, broker_id: BrokerId, request: Request, future: asyncio.Future[Response]) -> int:
        if not self.is_up(broker_id):
            raise BrokerDown(f"broker {broker_id} is down")
        self._sent += 1
        correlation = self._sent
        self._owed[NodeId(broker_id), correlation] = future
        event = RequestReceived(FIRST_CLIENT, correlation, request)
        if not self.step(NodeId(broker_id), event):
            self._owed.pop((NodeId(broker_id), correlation), None)
            raise BrokerDown(f"broker {broker_id} raised an exception, see the log")
        return correlation
