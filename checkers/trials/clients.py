"""Runs the clients of the simulation against a real system, for one trial (a test run).

Some clients do nothing but query the state of the brokers. Their operations are not part of the
history.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from checkers.trials.connections import Addresses
from checkers.trials.pace import Pace
from checkers.trials.runtime import Runtime
from model.histories import History, Poll
from model.vocabulary import Offset
from properties.suites.machines.driven import TOPIC_PARTITION
from reference_impl.protocol.messages import FIRST_CLIENT, NodeId
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.clients import Leadership
from reference_impl.simulation.consumer import Consumer
from reference_impl.simulation.producer import PROCESSES_PER_CLIENT, Producer
from reference_impl.simulation.producer_config import ProducerConfig
from reference_impl.simulation.programs import (
    Application,
    Program,
    ProgramClient,
    ProgramFactory,
    Steps,
)
from reference_impl.simulation.world import NoProgress
from reference_impl.wire.clients.dialogue import Names

ASK_WITHIN_MS: Final = 4_000
INTERNAL_TOPICS: Final = ("__transaction_state", "__consumer_offsets")

Result = TypeVar("Result")


class RealTimeClients:
    """The clients of one trial (a test run). They send real requests to a running system.

    The state machine of a suite controls these clients with the same calls as in the simulation.
    The durations in the calls are in virtual milliseconds, the time of the simulation. The pace of
    the trial converts each duration to a longer real time.
    """

    def __init__(self, addresses: Addresses, *, pace: Pace, prefix: str) -> None:
        self.broker_ids = tuple(sorted(addresses))
        self._pace = pace
        self._names = Names(prefix, {*INTERNAL_TOPICS})
        self._runtime = Runtime(pace, self._names, addresses)
        self._own = 0  # clients that belong to the cluster, not to the trial
        self._clients = 0

    # ------------------------------------------------------------ time

    @property
    def steps(self) -> int:
        return self._runtime.steps

    @property
    def now_ms(self) -> int:
        return self._pace.now_ms

    def run_for(self, duration_ms: int) -> None:
        self._runtime.run_for(duration_ms)

    def run_until(self, condition: Callable[[], bool], within_ms: int) -> bool:
        return self._runtime.run_until(condition, within_ms)

    def _until(self, condition: Callable[[], bool], within_ms: int, what: str) -> None:
        if not self.run_until(condition, within_ms):
            real_s = self._pace.real_s(within_ms)
            raise NoProgress(f"{what}: not within {real_s:.0f} s")

    # ------------------------------------------------------------ clients

    def add_producer(self, config: ProducerConfig | None = None) -> NodeId:
        client_id, process = self._new_client()
        self._runtime.add(
            Producer(
                client_id=client_id,
                first_process=process,
                config=config or ProducerConfig(),
                leadership=self._leadership(),
            )
        )
        return client_id

    def add_consumer(self, *, end_offset_every: int = 0) -> NodeId:
        client_id, process = self._new_client()
        self._runtime.add(
            Consumer(
                client_id=client_id,
                process=process,
                leadership=self._leadership(),
                end_offset_every=end_offset_every,
            )
        )
        return client_id

    def send(self, producer: NodeId, *values: str) -> None:
        after, effects = self.producer(producer).send(self._pace.tick_ns(), *values)
        self._runtime.clients[producer] = after
        # the effects open connections, which needs a running loop
        self._runtime.loop.call_soon(self._runtime.carry_out, producer, effects)

    def producer(self, client_id: NodeId) -> Producer:
        client = self._runtime.clients[client_id]
        assert isinstance(client, Producer)
        return client

    def run_program(self, program_factory: ProgramFactory) -> NodeId:
        client_id, process = self._new_client()
        return self._start(client_id, process, program_factory)

    def kill(self, client_id: NodeId) -> None:
        self._runtime.kill(client_id)

    def is_over(self, client_id: NodeId) -> bool:
        client = self._runtime.clients[client_id]
        assert isinstance(client, ProgramClient)
        return client.over

    def history(self) -> History:
        return tuple(one for one in self._runtime.history() if one.process >= 0)

    def recorded(self) -> History:
        """Returns the history of the trial. Its times are real times, not virtual times."""
        return self._pace.in_real_time(self.history())

    def read_all(self, within_ms: int = 20_000) -> tuple[tuple[Offset, str], ...]:
        reader = self.add_consumer(end_offset_every=1_000_000)

        def at_end() -> bool:
            client = self._runtime.clients[reader]
            assert isinstance(client, Consumer)
            return client.at_end

        self._until(at_end, within_ms, "reading orders-0 to its end")
        process = (reader - FIRST_CLIENT) * PROCESSES_PER_CLIENT
        return tuple(
            (Offset(did.offset), did.value)
            for operation in self.history()
            if operation.process == process
            for did in operation.did
            if isinstance(did, Poll) and did.offset is not None
        )

    def _new_client(self) -> tuple[NodeId, int]:
        self._clients += 1
        return NodeId(FIRST_CLIENT + self._clients), self._clients * PROCESSES_PER_CLIENT

    def _start(self, client_id: NodeId, process: int, factory: ProgramFactory) -> NodeId:
        app = Application(client_id=client_id, process=process, brokers=self.broker_ids)
        self._runtime.add(ProgramClient.starting(app, factory))
        return client_id

    def _run_own(self, factory: ProgramFactory) -> NodeId:
        # The client's operations are not in the history.
        self._own += 1
        return self._start(NodeId(-10 - self._own), -self._own, factory)

    def _ask(self, question: Callable[[BrokerClient], Steps[Result]], what: str) -> Result:
        found: list[Result] = []

        def program(app: Application) -> Program:
            found.append((yield from question(BrokerClient(app=app))))

        client = self._run_own(program)
        # raises NoProgress after this time, in virtual ms
        self._until(lambda: self.is_over(client), ASK_WITHIN_MS, what)
        return found[0]

    def _leadership(self) -> Leadership:
        return Leadership(topic_partition=TOPIC_PARTITION, brokers=self.broker_ids)
