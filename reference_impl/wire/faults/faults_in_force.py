"""The faults of a cluster: the fault rules in force, the log of requests, and the faults that
happen.

The left column shows an event at a broker, and the right column shows its effect in
`FaultsInForce`:

    a broker                      FaultsInForce
    a request has arrived    ->   the rules without `applied` act on it; each rule counts it
    a rule acts with `crash` ->   the fault begins, in parallel to the request
    the response is ready    ->   the rules with `applied` act on it
    the response is decided  ->   the request is added to the log of requests

One object counts the requests to all brokers, including brokers in other processes (`Faults`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from reference_impl.wire.faults.cluster_faults import Faulty, carry_out, has_happened
from reference_impl.wire.faults.request_log import Logged, RequestLog
from reference_impl.wire.faults.rule import (
    BadFault,
    Crash,
    Fault,
    OfCluster,
    OfRequest,
    Pause,
    Request,
    Rule,
    Start,
    name_of,
    node_of,
)
from reference_impl.wire.faults.rules_in_force import RulesInForce
from reference_impl.wire.messages.apis import Api


class Acting(NamedTuple):
    rule: int
    fault: Fault


class Faults(Protocol):
    @property
    def are_possible(self) -> bool:
        """True if some rule can match a request, or if requests are logged. Requests must then be
        observed.
        """
        ...

    @property
    def read_partitions(self) -> bool:
        """True if a rule selects requests by topic partition, or if requests are logged. The topic
        partitions of each request must then be read.
        """
        ...

    @property
    def log_requests(self) -> bool: ...

    async def acting_on(self, request: Request, *, applied: bool) -> list[Acting]:
        """Counts a request, and returns the faults that act on it. A rule can act only if its own
        field `applied` equals the argument `applied`.

        `applied` is False before the broker handles the request, and True afterwards.
        """
        ...

    async def ends(self, rule: int) -> None:
        """Waits until the rule is no longer in force."""
        ...

    async def begin(self, fault: OfCluster) -> None:
        """Begins a fault of the cluster. A pause takes effect before the next step of the paused
        node.
        """
        ...

    def begin_after_response(self, fault: OfCluster) -> None:
        """Begins a fault of the cluster after the response to the present request is written."""
        ...

    async def add_to_log(self, entry: Logged) -> None: ...


@dataclass(slots=True)
class FaultsInForce:
    """The faults of a cluster. If a fault cannot be carried out, the exception is added to
    `failures`.
    """

    cluster: Faulty
    rules: RulesInForce
    log: RequestLog | None
    note: Callable[[str], None]
    failures: list[Exception]
    _requests: int = 0
    _applied: int = 0  # produce requests
    _happening: set[asyncio.Task[None]] = field(default_factory=set)

    def add(self, rules: tuple[Rule, ...]) -> None:
        """Puts the rules into force that have a field `when`, and skips the other rules."""
        for rule in rules:
            if rule.when is not None:
                self.rules.add(rule)

    async def begin_at_start(self, rules: tuple[Rule, ...]) -> None:
        """Carries out the faults of the rules without `when`. Raises BadFault if a fault is
        impossible.
        """
        for rule in rules:
            if rule.when is None and not isinstance(rule.fault, OfRequest):
                await carry_out(self.cluster, rule.fault)

    def stop(self) -> None:
        """Cancels the tasks that carry out faults."""
        for task in self._happening:
            task.cancel()

    @property
    def are_possible(self) -> bool:
        return bool(self.rules) or self.log is not None

    @property
    def read_partitions(self) -> bool:
        return self.log is not None or self.rules.read_partitions

    @property
    def log_requests(self) -> bool:
        return self.log is not None

    async def acting_on(self, request: Request, *, applied: bool) -> list[Acting]:
        if applied:
            self._applied += request.api is Api.PRODUCE
        else:
            self._requests += 1
        return [
            Acting(one.id, one.rule.at(request.broker).fault)
            for one in self.rules.acting_on(request, applied=applied)
        ]

    async def ends(self, rule: int) -> None:
        await self.rules.ends(rule)

    async def begin(self, fault: OfCluster) -> None:
        self.begin_after_response(fault)

    def begin_after_response(self, fault: OfCluster) -> None:
        if has_happened(self.cluster, fault):
            return  # another fault has already killed the broker
        match fault:
            case Pause(broker=broker):  # before the broker's next step
                self.cluster.pause(node_of(broker))
                return
            case Crash(broker=broker):
                self.note(
                    f"{name_of(node_of(broker))} is killed after {self._applied} applied produce "
                    "requests"
                )
            case Start(broker=broker):
                name = name_of(node_of(broker))
                self.note(f"{name} restarts after {self._requests} requests")
            case _:
                pass
        task = asyncio.create_task(self._carry_out(fault))
        self._happening.add(task)
        task.add_done_callback(self._keep_error)

    async def add_to_log(self, entry: Logged) -> None:
        if self.log is not None:
            self.log.add(entry)

    async def _carry_out(self, fault: OfCluster) -> None:
        try:
            if not has_happened(self.cluster, fault):
                await carry_out(self.cluster, fault)
        except BadFault as bad:
            self.note(f"a planned fault did not happen: {bad}")

    def _keep_error(self, task: asyncio.Task[None]) -> None:
        self._happening.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self.note(f"a planned fault failed: {error}")
            self.failures.append(error)
