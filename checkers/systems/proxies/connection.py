"""Forwards the requests and responses of one proxied connection, and applies fault rules to both.

The correlation id of a response identifies its request. Kafka answers the requests of a connection
in order. When a response arrives, no earlier request can get a response any more, so those requests
are forgotten. An example is a produce request with acks=0, which has no response.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from functools import cache

from checkers.systems.proxies.active_rules import ActiveRule, ActiveRules, ReadContents
from checkers.systems.proxies.contents import FetchSession, contents_of
from checkers.systems.proxies.frames import (
    Header,
    correlation_id,
    framed,
    read_frame,
    request_header,
)
from checkers.systems.proxies.rules import DropRequest, DropResponse, Hold, SwapRequests
from reference_impl.wire.messages.apis import Api


class Closed(Exception):
    """Raised to close the connection, because a fault rule dropped one of its messages."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A forwarded request, and the fault rules that act on its response."""

    header: Header
    rules: tuple[ActiveRule, ...]


@dataclass(slots=True)
class Connection:
    """A proxied connection that the node `sender` opened to the node `receiver`."""

    sender: int
    receiver: int
    rules: ActiveRules
    _pending: dict[int, Pending] = field(default_factory=dict[int, Pending])
    _set_aside: bytes | None = None
    _session: FetchSession = field(default_factory=FetchSession)
    _deaf: bool = False  # responses are lost from now on
    _mute: bool = False  # requests are lost from now on

    async def requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (frame := await read_frame(reader)) is not None:
            header = request_header(frame)
            contents = self._contents(header, frame)
            selected = self.rules.of_request(self.sender, self.receiver, header, contents)
            await self._hold(selected, header, "request")
            await self.rules.passable((self.sender, self.receiver))
            self._drop_request(selected, header)
            if self._mute:
                continue
            self._pending[header.correlation_id] = Pending(header, selected)
            for each in self._in_order(frame, header, selected):
                writer.write(framed(each))
            await writer.drain()
        await self.rules.passable((self.sender, self.receiver))

    async def responses(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (frame := await read_frame(reader)) is not None:
            pending = self._answered(correlation_id(frame))
            if pending is not None:
                await self._hold(pending.rules, pending.header, "response")
            await self.rules.passable((self.receiver, self.sender))
            if pending is not None:
                self._drop_response(pending)
            if not self._deaf:
                writer.write(framed(frame))
                await writer.drain()
        await self.rules.passable((self.receiver, self.sender))

    def _contents(self, header: Header, frame: bytes) -> ReadContents:
        if header.api_key == Api.FETCH:
            # A Fetch is always parsed, to keep track of the partitions in the fetch session.
            fetched = self._session.of_request(header, frame)
            return lambda: fetched
        return cache(lambda: contents_of(header, frame))

    def _answered(self, number: int) -> Pending | None:
        if number not in self._pending:
            return None
        for earlier in [*self._pending]:
            pending = self._pending.pop(earlier)
            if earlier == number:
                return pending
        return None

    async def _hold(self, selected: tuple[ActiveRule, ...], header: Header, part: str) -> None:
        for active in selected:
            rule = active.rule
            if not isinstance(rule, Hold) or rule.part != part or active.lifted:
                continue
            self._acts(active, header)
            delay_s = None if rule.for_ms is None else rule.for_ms / 1_000
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay_s):
                    await self.rules.ends(active)

    def _drop_request(self, selected: tuple[ActiveRule, ...], header: Header) -> None:
        for active in selected:
            if isinstance(active.rule, DropRequest) and not active.lifted:
                self._acts(active, header)
                if active.rule.close:
                    raise Closed
                self._mute = True

    def _drop_response(self, pending: Pending) -> None:
        for active in pending.rules:
            if isinstance(active.rule, DropResponse) and not active.lifted:
                self._acts(active, pending.header)
                if active.rule.close:
                    raise Closed
                self._deaf = True

    def _in_order(
        self, frame: bytes, header: Header, selected: tuple[ActiveRule, ...]
    ) -> tuple[bytes, ...]:
        swaps = [active for active in selected if isinstance(active.rule, SwapRequests)]
        if not swaps:
            return (frame,)
        if self._set_aside is None:
            # waits for the second matching request
            self._set_aside = frame
            return ()
        first, self._set_aside = self._set_aside, None
        self._acts(swaps[0], header)
        return frame, first

    def _acts(self, active: ActiveRule, header: Header) -> None:
        self.rules.acts(active, self.sender, self.receiver, header)
