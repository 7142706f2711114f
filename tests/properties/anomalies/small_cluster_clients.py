"""The clients of a simulated small cluster, and the history of their operations.

There are senders, readers at both isolation levels, and clients that read end offsets and group
offsets. An application commits outside transactions. The producer of a pipeline is sometimes
replaced. The clients advance one step at a time, in random order. Some responses get lost. One
random seed gives one history.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from model.histories import (
    Assigned,
    CommitOffset,
    EndOffset,
    FetchOffset,
    History,
    Isolation,
    MicroOperation,
    Operation,
    Outcome,
    Poll,
    Send,
)
from tests.properties.anomalies.small_cluster import INPUTS, OUTPUTS, Cluster, Steps, Transaction

PIPELINE, APPLICATION = "g", "h"


class _Lost(Exception):
    pass


class _Fenced(Exception):
    pass


@dataclass(slots=True)
class _Step:
    """One transaction of the pipeline, as its client sees it.

    `lost_at` names the request whose response is lost; None if no response is lost.
    """

    epoch: int
    lost_at: str | None
    transaction: Transaction = field(default_factory=Transaction)
    sends: list[MicroOperation] = field(default_factory=list)
    did: list[MicroOperation] = field(default_factory=list)
    offsets: dict[str, int] = field(default_factory=dict)
    end_asked_ns: int | None = None


@dataclass(slots=True)
class Clients:
    """The clients of one cluster, and the history of their operations."""

    rng: random.Random
    cluster: Cluster
    now: int = 0
    ended: list[Operation] = field(default_factory=list)
    never: list[Operation] = field(default_factory=list)
    running: dict[int, tuple[Operation, list[list[MicroOperation]]]] = field(default_factory=dict)
    processes: int = 0
    values: int = 0

    def process(self) -> int:
        self.processes += 1
        return self.processes

    def value(self) -> str:
        self.values += 1
        return f"v{self.values}"

    def opened(self, process: int, f: str, *did: list[MicroOperation], **of: Any) -> Operation:
        """Begins an operation of a process and returns the operation.

        The caller may pass lists of micro-operations, such as sends and polls. The client extends
        these lists while the operation runs. At the end, the operation has all items of the lists.
        """
        made = Operation(
            process=process, f=f, outcome="info", invoked_ns=self.now, completed_ns=None
        )
        made = replace(made, **of)
        self.running[process] = made, [*did]
        return made

    def end(
        self,
        operation: Operation,
        outcome: Outcome,
        *did: MicroOperation,
        **of: Any,
    ) -> None:
        """Ends an operation with an outcome, or leaves the operation incomplete for ever.

        Three of ten operations with the outcome `info` (unknown) stay incomplete. The operation has
        the micro-operations that were recorded while it ran, then those in `did`.
        """
        _, known = self.running.pop(operation.process)
        everything = (*(micro for some in known for micro in some), *did)
        ended = replace(operation, did=everything, **of)
        if outcome == "info" and self.rng.random() < 0.3:
            self.never.append(ended)
        else:
            self.ended.append(replace(ended, outcome=outcome, completed_ns=self.now))

    def history(self) -> History:
        still = [
            replace(operation, did=tuple(micro for some in known for micro in some))
            for operation, known in self.running.values()
        ]
        return (*self.ended, *self.never, *still)

    # ------------------------------------------------------------ the pipeline

    def pipeline(self) -> Steps:
        """Runs a pipeline whose producer is replaced again and again.

        Each replaced producer continues until it learns that it is fenced.
        """
        while True:
            for _ in range(self.rng.choice([0, 40, 80])):
                yield
            process = self.process()
            operation = self.opened(process, "init_producer", transactional_id="x")
            yield
            if (open_one := self.cluster.producer) and open_one.state == "open":
                open_one.state = "aborted"
            self.cluster.epoch += 1
            epoch = self.cluster.epoch
            while not all(it.over for it in self.cluster.transactions):
                yield
            self.end(operation, "ok")
            yield
            positions = yield from self._positions(process, PIPELINE)
            while True:
                lives = yield from self._step(process, epoch, positions)
                if not lives:
                    break
                yield

    def _positions(self, process: int, group: str) -> Generator[None, None, dict[str, int]]:
        operation = self.opened(process, "fetch_offset", group=group)
        yield
        while not self.cluster.stable(group):
            yield
        fetched = {key: self.cluster.offset((group, key)) for key in INPUTS}
        yield
        self.end(operation, "ok", *(FetchOffset(key, offset) for key, offset in fetched.items()))
        return {key: offset or 0 for key, offset in fetched.items()}

    def _step(
        self, process: int, epoch: int, positions: dict[str, int]
    ) -> Generator[None, None, bool]:
        step = _Step(epoch, self.rng.choice([None] * 8 + ["poll", "send", "offsets", "end"]))
        ids = {"transactional_id": "x", "group": PIPELINE}
        operation = self.opened(process, "txn", step.sends, step.did, **ids)
        try:
            yield from self._transaction(step, positions)
        except _Lost:
            self.end(operation, "info", end_asked_ns=step.end_asked_ns)
            return False
        except _Fenced:
            fenced = {"error": "PRODUCER_FENCED", "end_asked_ns": step.end_asked_ns}
            self.end(operation, "fail", **fenced)
            return False
        committed = step.transaction.state == "committed"
        outcome: Outcome = "ok" if committed else "fail"
        self.end(operation, outcome, end_asked_ns=step.end_asked_ns)
        if committed or self.cluster.bug == "the position stays after an abort":
            positions.update(step.offsets)
        while not step.transaction.over:
            yield
        return True

    def _transaction(self, step: _Step, positions: dict[str, int]) -> Steps:
        yield from self._takes_effect(step)
        self.cluster.begin(step.transaction)
        for key in INPUTS:
            polls = self._some(key, positions[key], "read_committed")
            step.did += polls
            if polls:
                step.offsets[key] = (polls[-1].offset or 0) + 1
        for _ in step.did:
            step.sends.append(Send(self.rng.choice(OUTPUTS), self.value()))
        yield from self._takes_effect(step, "poll")
        for number, send in enumerate([*step.sends]):
            assert isinstance(send, Send)
            offset = self.cluster.append(send.key, send.value, step.transaction)
            if self.rng.random() < 0.7:
                step.sends[number] = replace(send, offset=offset)
            yield from self._takes_effect(step, "send")
        for key, offset in step.offsets.items():
            self.cluster.commit((PIPELINE, key), offset, step.transaction)
            step.did.append(CommitOffset(key, offset))
        yield from self._takes_effect(step, "offsets")
        step.end_asked_ns = self.now
        yield from self._takes_effect(step)
        step.transaction.state = "committed" if self.rng.random() < 0.7 else "aborted"
        yield
        if step.lost_at == "end":
            raise _Lost

    def _takes_effect(self, step: _Step, at: str | None = None) -> Steps:
        """Waits until the last request takes effect.

        Raises _Lost if the response to the request is lost, and _Fenced if the producer was
        replaced.
        """
        yield
        if at is not None and step.lost_at == at:
            raise _Lost
        replaced = step.epoch != self.cluster.epoch
        if replaced and self.cluster.bug != "nobody is fenced":
            raise _Fenced

    def _some(self, key: str, begin: int, isolation: Isolation) -> list[Poll]:
        return self.cluster.read(key, begin, isolation)[: self.rng.randrange(4)]

    # ------------------------------------------------------------ the others

    def application(self) -> Steps:
        """Polls in a group and commits outside transactions; sometimes restarts."""
        while True:
            process = self.process()
            positions = yield from self._positions(process, APPLICATION)
            lives = True
            while lives:
                operation = self.opened(process, "poll", group=APPLICATION)
                yield
                key = self.rng.choice(INPUTS)
                polls = self._some(key, positions[key], "read_committed")
                yield
                self.end(operation, "ok", *polls)
                if polls:
                    positions[key] = (polls[-1].offset or 0) + 1
                yield
                committed = positions[key] if self.rng.random() < 0.9 else 0
                commits: list[MicroOperation] = [CommitOffset(key, committed)]
                operation = self.opened(process, "commit_offset", commits, group=APPLICATION)
                yield
                outcome: Outcome = self.rng.choice(["ok", "ok", "ok", "fail", "info"])
                if outcome == "ok" or (outcome == "info" and self.rng.random() < 0.5):
                    self.cluster.commit((APPLICATION, key), committed, None)
                yield
                self.end(operation, outcome)
                lives = outcome != "info" and self.rng.random() < 0.8
                yield

    def sender(self) -> Steps:
        process = self.process()
        while True:
            send = Send(self.rng.choice((*INPUTS, *INPUTS, *OUTPUTS)), self.value())
            sends: list[MicroOperation] = [send]
            operation = self.opened(process, "send", sends)
            yield
            outcome: Outcome = self.rng.choice(["ok", "ok", "ok", "fail", "info"])
            if outcome == "ok" or (outcome == "info" and self.rng.random() < 0.5):
                offset = self.cluster.append(send.key, send.value)
                sends[0] = replace(send, offset=offset) if outcome == "ok" else send
            yield
            self.end(operation, outcome)
            process = self.process() if outcome == "info" else process
            yield

    def reader(self, isolation: Isolation) -> Steps:
        process = self.process()
        operation = self.opened(process, "assign")
        yield
        self.end(operation, "ok", *map(Assigned, self.cluster.logs))
        yield
        positions = dict.fromkeys(self.cluster.logs, 0)
        while True:
            operation = self.opened(process, "poll", isolation=isolation)
            yield
            key = self.rng.choice(sorted(positions))
            polls = self._some(key, positions[key], isolation)
            yield
            self.end(operation, "ok", *polls)
            positions[key] = (polls[-1].offset or 0) + 1 if polls else positions[key]
            yield

    def offset_reader(self, isolation: Isolation) -> Steps:
        process = self.process()
        while True:
            key, group = self.rng.choice(sorted(self.cluster.logs)), self.rng.choice("gh")
            operation = self.opened(process, "end_offset", isolation=isolation)
            yield
            end = self.cluster.end(key, isolation)
            yield
            self.end(operation, "ok", EndOffset(key, end))
            yield
            operation = self.opened(process, "fetch_offset", group=group, isolation=isolation)
            yield
            while isolation == "read_committed" and not self.cluster.stable(group):
                yield
            key = self.rng.choice(INPUTS)
            fetched = FetchOffset(key, self.cluster.offset((group, key)))
            yield
            self.end(operation, "ok", fetched)
            yield

    def last_reader(self) -> Iterator[None]:
        process = self.process()
        for key in self.cluster.logs:
            operation = self.opened(process, "poll")
            self.now += 10
            self.end(operation, "ok", *self.cluster.read(key, 0, "read_committed"))
            yield


def cluster_history(seed: int, *, steps: int = 600, bug: str | None = None) -> History:
    """Returns the history of all clients of one cluster; equal seeds give equal histories.

    The clients take some random steps. At the end, a client reads all logs.
    """
    rng = random.Random(seed)
    cluster = Cluster(rng, bug)
    clients = Clients(rng, cluster)
    coordinator = cluster.coordinate()
    running = [
        *(clients.pipeline(), clients.pipeline(), coordinator) * 4,
        clients.application(),
        clients.application(),
        clients.sender(),
        clients.sender(),
        *[clients.reader("read_committed")] * 5,
        clients.reader("read_uncommitted"),
        clients.offset_reader("read_committed"),
        clients.offset_reader("read_uncommitted"),
    ]
    for _ in range(steps):
        clients.now += 10
        next(rng.choice(running))
    for transaction in cluster.transactions:
        if transaction.state == "open":
            transaction.state = "aborted"
    while not all(it.over for it in cluster.transactions):
        clients.now += 10
        next(coordinator)
    for _ in clients.last_reader():
        clients.now += 10
    return clients.history()
