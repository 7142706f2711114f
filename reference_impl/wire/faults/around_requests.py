"""Carries out the faults that act on each request, before and after the broker handles it.

The lines show the steps in the order of time:

    before    a fault rule may delay the request, refuse it with an error, or prevent its handling
    applied   the broker handles the request
    after     a rule may delay the response, replace it, or lose it
    logged    the request is written to the log of requests, if there is one

A rule acts in the step `after` if its field `applied` is true, and otherwise in the step `before`.

If a rule with `applied` crashes a broker, the crash begins only after the response is sent. To lose
the response as well, add a second rule: `disconnect` with `applied`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from reference_impl.wire.faults.error_answers import refusal, with_error
from reference_impl.wire.faults.faults_in_force import Acting, Faults
from reference_impl.wire.faults.request_log import logged
from reference_impl.wire.faults.rule import (
    Crash,
    Delay,
    Disconnect,
    Drop,
    Error,
    LosePower,
    OfCluster,
    Request,
)
from reference_impl.wire.faults.session_partitions import with_session_partitions
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.named_partitions import TopicName, named
from reference_impl.wire.requests.broker.served_broker import ServedBroker, topic_ids
from reference_impl.wire.requests.handled import Handled

Handle: TypeAlias = Callable[[Call], Awaitable[Handled]]


@dataclass(slots=True)
class AroundRequests:
    faults: Faults
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_needed(self) -> bool:
        return self.faults.are_possible

    def stop(self) -> None:
        """Closes the connections that a fault holds open. It is called when the brokers stop."""
        self._stopped.set()

    async def carry_out(self, broker: ServedBroker, call: Call, handle: Handle) -> Handled:
        named_call = with_session_partitions(call, broker.fetch_sessions)
        request = await self._facts(broker, named_call)
        at_ms, started_s = int(time.time() * 1000), time.monotonic()
        acting = await self.faults.acting_on(request, applied=False)
        handled = await self._before(acting, request, call, named_call, handle)
        last: list[OfCluster] = []
        if handled.is_answered and handled.is_applied:
            after = await self.faults.acting_on(request, applied=True)
            acting = [*acting, *after]
            last = [one.fault for one in after if isinstance(one.fault, Crash | LosePower)]
            handled = await self._after(after, call, handled)
        if self.faults.log_requests:
            took_ms = (time.monotonic() - started_s) * 1000
            acted = [one.rule for one in acting]
            await self.faults.add_to_log(logged(request, call, handled, at_ms, took_ms, acted))
        for fault in last:
            self.faults.begin_after_response(fault)
        return handled

    async def _facts(self, broker: ServedBroker, call: Call) -> Request:
        partitions: tuple[tuple[str, int | None], ...] = ()
        if self.faults.read_partitions:
            partitions = await _by_name(broker, named(call.body))
        return Request(
            broker=broker.broker_id,
            api=call.api,
            client_id=call.client_id,
            partitions=partitions,
        )

    async def _before(
        self,
        acting: list[Acting],
        request: Request,
        call: Call,
        named_call: Call,
        handle: Handle,
    ) -> Handled:
        for rule, planned in acting:
            match planned:
                case Delay(ms=ms):
                    await asyncio.sleep(ms / 1000)
                case Drop():
                    return self._silent(rule)
                case Disconnect():
                    return Handled(None, closes=True, is_answered=False)
                case Error(error=error):
                    return await self._refused(named_call, error, handle)
                case fault:
                    await self.faults.begin(fault)
                    if _ends(fault, request):
                        return self._silent(None)
        return await handle(call)

    async def _after(self, acting: list[Acting], call: Call, handled: Handled) -> Handled:
        for rule, planned in acting:
            match planned:
                case Delay(ms=ms):
                    await asyncio.sleep(ms / 1000)
                case Drop():
                    return self._silent(rule, handled)
                case Disconnect():
                    return replace(handled, frame=None, closes=True, is_answered=False)
                case Error(error=error):
                    if handled.frame is not None:
                        return replace(handled, frame=with_error(call, handled.frame, error))
                case Crash() | LosePower():
                    pass  # begins after the response
                case fault:
                    await self.faults.begin(fault)
        return handled

    async def _refused(self, call: Call, error: str, handle: Handle) -> Handled:
        if call.api is Api.METADATA:  # reads only; its response needs the brokers
            handled = await handle(call)
            assert handled.frame is not None, "a Metadata request has a response"
            return replace(handled, frame=with_error(call, handled.frame, error), is_answered=False)
        if call.api is Api.PRODUCE and call.body.acks == 0:
            return Handled(None, closes=True, is_answered=False)
        return Handled(refusal(call, error), is_answered=False)

    def _silent(self, rule: int | None, handled: Handled | None = None) -> Handled:
        async def silence() -> None:
            ended = asyncio.create_task(
                self._stopped.wait() if rule is None else self.faults.ends(rule)
            )
            stopped = asyncio.create_task(self._stopped.wait())
            try:
                await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
            finally:
                ended.cancel()
                stopped.cancel()

        appended = () if handled is None else handled.appended
        return Handled(None, appended, closes=True, is_answered=False, silence=silence)


def _ends(fault: OfCluster, request: Request) -> bool:
    return isinstance(fault, Crash | LosePower) and fault.broker == request.broker


async def _by_name(
    broker: ServedBroker, found: list[tuple[TopicName, int | None]]
) -> tuple[tuple[str, int | None], ...]:
    if all(isinstance(topic, str) for topic, _ in found):
        return tuple((str(topic), index) for topic, index in found)
    ids = await topic_ids(broker)
    return tuple(
        (name, index)
        for topic, index in found
        if (name := topic if isinstance(topic, str) else ids.name_of(topic)) is not None
    )
