"""Gives a broker in a process of its own access to the faults of its cluster.

The parent process, `urteil broker`, has the fault rules and the log of requests, and counts the
requests to all brokers. A broker calls the parent process before and after each request. So the
rules act as if all brokers ran in one process. A request is logged before its client gets the
response.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

from reference_impl.wire.faults.faults_in_force import Acting, Faults, FaultsInForce
from reference_impl.wire.faults.request_log import Logged
from reference_impl.wire.faults.rule import OfCluster, Request
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.processes.channel import Calls, Channel, Notices


@dataclass(frozen=True, slots=True)
class RemoteFaults(Faults):
    """Implements `Faults` by calls to the parent process."""

    parent: Channel
    options: ServeOptions

    @property
    def are_possible(self) -> bool:
        return self.log_requests or bool(self.options.faults)

    @property
    def read_partitions(self) -> bool:
        return True  # the fault rules are in the other process

    @property
    def log_requests(self) -> bool:
        return self.options.control is not None

    async def acting_on(self, request: Request, *, applied: bool) -> list[Acting]:
        found: list[Acting] = await self.parent.call("after" if applied else "before", request)
        return found

    async def ends(self, rule: int) -> None:
        await self.parent.call("ends", rule)

    async def begin(self, fault: OfCluster) -> None:
        await self.parent.call("begin", fault)

    def begin_after_response(self, fault: OfCluster) -> None:
        # The response is written in this turn of the loop.
        asyncio.get_running_loop().call_soon(self.parent.notify, "begin_after_response", fault)

    async def add_to_log(self, entry: Logged) -> None:
        await self.parent.call("add_to_log", entry)


def calls_to(faults: FaultsInForce) -> Calls:
    """Returns the functions of `faults` that a broker in another process may call, by name."""
    return {
        "before": partial(faults.acting_on, applied=False),
        "after": partial(faults.acting_on, applied=True),
        "ends": faults.ends,
        "begin": faults.begin,
        "add_to_log": faults.add_to_log,
    }


def notices_to(faults: FaultsInForce) -> Notices:
    return {"begin_after_response": faults.begin_after_response}
