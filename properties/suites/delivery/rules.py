"""The suite `delivery`: an application that stores what it does, killed and held up at every step.

A producer sends to `orders-0`; the application, a program of `applications`, consumes it in a
group and writes to a database that outlives it. The rules send, kill the application at one of its
steps, start it again, and *replace* it: it is held up until another instance has taken over, and
then goes on as a zombie. A broker crashes, answers are lost. A run ends with the end of all faults,
and the application reads to the end. Then what is stored, and what lies downstream, is compared
with what was sent.

The rules are fewer than those of `cluster`: what is searched for here happens in the application.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from model.vocabulary import Offset
from properties.claims.delivery import ALWAYS, SOMETIMES, Delivered
from properties.suites.delivery.applications import OUTPUT, Instance
from properties.suites.delivery.settings import SETTINGS
from properties.suites.delivery.stores import opening, store
from properties.suites.machines.cluster import ClusterMachine
from properties.suites.machines.judged import Tally
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.cluster import TOPIC_PARTITION, Cluster
from reference_impl.simulation.programs import Application, Program
from reference_impl.simulation.reader import Reader
from reference_impl.simulation.world import NoProgress

_PAUSES_MS: Final = (10, 100, 500)
TAKEOVER_MS: Final = 2_000
CATCH_UP_MS: Final = 20_000


class DeliveryMachine(ClusterMachine):
    """A producer, a cluster and the instances of one application, of which the last one counts."""

    ALWAYS = ALWAYS
    SOMETIMES = SOMETIMES
    SETTINGS = SETTINGS
    SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]] = {
        **ClusterMachine.SIMPLER,
        "steps": (1, 2, 3, 4),
        "pause_ms": _PAUSES_MS,
        "offset": (0, 1, 2),
    }

    def __init__(
        self,
        setting: str,
        *,
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] | None = None,
        tally: Tally | None = None,
    ) -> None:
        self.setting = SETTINGS[setting]
        cluster = Cluster(min_insync_replicas=2, bugs=bugs)
        super().__init__(setting, cluster, bugs=bugs, judge=judge, tally=tally)
        if self.setting.has_output:
            self.cluster.create_topic(
                CreateTopic(topic=OUTPUT.topic, replication_factor=3, min_insync_replicas=2)
            )
        self._database, self._elsewhere = opening.open_store(), opening.open_store()
        self._producer = self.cluster.add_producer(self.setting.producer)
        self._sent: list[str] = []
        self._stored: tuple[str, ...] | None = None  # the effects when the run ended
        self._printed = 0  # how many effects `new_events` has returned
        self._instances: dict[NodeId, Instance] = {}
        self._current = self._start()
        self.cluster.run_for(150)  # the producer has its id, the application its part

    # ------------------------------------------------------------ what arrives

    @rule(count=st.integers(1, 3))
    def send(self, count: int) -> None:
        """Some values are sent; time passes until all are acknowledged, or 200 ms."""
        self._send(count)
        self.cluster.run_until(lambda: self.cluster.producer(self._producer).idle, 200)

    @rule(count=st.integers(1, 3))
    def send_and_lose_responses(self, count: int) -> None:
        """Some values are sent and appended; the answers are lost."""
        self.cluster.drop_responses(self._producer, count)
        self._send(count)
        self.cluster.run_for(10)

    @rule(count=st.integers(1, 3))
    def send_and_lose_requests(self, count: int) -> None:
        """Some values are sent and never arrive."""
        brokers = [NodeId(broker) for broker in self.cluster.broker_ids]
        for broker in brokers:
            self.cluster.split_one_way(self._producer, broker)
        self._send(count)
        self.cluster.run_for(10)
        for broker in brokers:
            self.cluster.rejoin_one_way(self._producer, broker)

    # ------------------------------------------------------------ the application

    @rule(pause_ms=st.sampled_from(_PAUSES_MS))
    def pass_time(self, pause_ms: int) -> None:
        """Nothing happens but what is on its way."""
        self.cluster.run_for(pause_ms)

    @precondition(lambda self: not self.cluster.is_over(self._current))
    @rule(count=st.integers(1, 3), steps=st.integers(1, 4))
    def send_and_kill(self, count: int, steps: int) -> None:
        """Some values are sent; at such a step of processing them the application dies."""
        self._send(count)
        self._work(steps)
        self.cluster.kill(self._current)

    @precondition(lambda self: self.cluster.is_over(self._current))
    @rule()
    def start(self) -> None:
        """Another process of it begins."""
        self._current = self._start()

    @precondition(lambda self: self._may_be_replaced())
    @rule(count=st.integers(1, 3), steps=st.integers(1, 4))
    def send_and_replace(self, count: int, steps: int) -> None:
        """Some values are sent; at such a step it is held up until another process has taken over.

        Then it goes on: a zombie.
        """
        self._send(count)
        self._work(steps)
        held = self._instances[self._current]
        held.is_held = True
        self._current = self._start()
        successor = self._instances[self._current]
        self.cluster.run_until(lambda: successor.consumer.empty_polls > 0, TAKEOVER_MS)
        held.is_held = False

    @precondition(lambda self: self._may_be_replaced())
    @rule()
    def rebalance(self) -> None:
        """Another process joins, and shares the work."""
        self._current = self._start()

    @precondition(lambda self: self.setting.is_rewound)
    @rule(offset=st.integers(0, 2))
    def rewind(self, offset: int) -> None:
        """Some values are sent and processed; it is told to go back; one more value is sent."""
        self.send(3)
        self.cluster.run_for(100)
        self._instances[self._current].rewind_to = Offset(offset)
        self.cluster.run_for(100)
        self.send(1)

    @rule(count=st.integers(1, 3))
    def lose_responses(self, count: int) -> None:
        """The next answers to the application are lost."""
        self.cluster.drop_responses(self._current, count)

    def new_events(self) -> tuple[str, ...]:
        """Returns in words what happened since the last call, rows of the database included."""
        stored = store.effects(self._database) if self._stored is None else self._stored
        new, self._printed = stored[self._printed :], len(stored)
        rows = (f"the database has one more row: {value}" for value in new)
        return (*super().new_events(), *rows)

    # ------------------------------------------------------------ the end

    def end(self) -> Delivered:
        """Nothing goes wrong any more, and the application comes to the end of its input."""
        try:
            self.cluster.recover()
            self._catch_up()
            downstream = self._downstream() if self.setting.has_output else ()
            if self.setting.drops_repeats:
                downstream = tuple(dict.fromkeys(downstream))
            return Delivered(
                sent=tuple(self._sent),
                stored=store.effects(self._database),
                downstream=downstream,
                log=self.cluster.read_all() if self.setting.is_rewound else (),
                rewinds=tuple(it for one in self._instances.values() for it in one.rewinds),
                history=self.cluster.history(),
            )
        finally:
            self._stored = store.effects(self._database)
            self._database.close()
            self._elsewhere.close()

    def _catch_up(self) -> None:
        """An application that has ended is started again, as whoever runs it would."""
        end_ms = self.cluster.now_ms + CATCH_UP_MS
        while self.cluster.now_ms < end_ms:
            if not self._running():
                self._current = self._start()
            self.cluster.run_until(lambda: self._is_done() or not self._running(), CATCH_UP_MS)
            if self._is_done():
                return
        raise NoProgress(f"the application is not at its end within {CATCH_UP_MS} ms")

    def _is_done(self) -> bool:
        """All who run find nothing more, and one of them stands at the end of the input."""
        running = self._running()
        end = self.cluster.log(self.cluster.leader()).end_offset
        return any(one.consumer.positions.get(TOPIC_PARTITION) == end for one in running) and all(
            one.consumer.empty_polls > 1 and not one.waiting for one in running
        )

    def _downstream(self) -> tuple[str, ...]:
        """What a reader finds up to the end of the output, once no transaction is open there."""
        found: list[str] = []

        def reads(app: Application) -> Program:
            brokers = BrokerClient(app=app)
            asks = Reader(
                app=app, brokers=brokers, topic_partition=OUTPUT, isolation="read_uncommitted"
            )
            reader = Reader(
                app=app, brokers=brokers, topic_partition=OUTPUT, isolation=self.setting.reads
            )
            end = yield from asks.end_offset()
            while reader.position < end:
                found.extend(record.value for record in (yield from reader.poll()))

        program = self.cluster.run_program(reads)
        if not self.cluster.run_until(lambda: self.cluster.is_over(program), CATCH_UP_MS):
            raise NoProgress(f"the output can't be read to its end within {CATCH_UP_MS} ms")
        return tuple(found)

    # ------------------------------------------------------------ its parts

    def _send(self, count: int) -> None:
        values = [f"v{len(self._sent) + number}" for number in range(count)]
        self._sent += values
        self.cluster.send(self._producer, *values)

    def _work(self, steps: int) -> None:
        """Time passes until the application stands at such a step, or 200 ms."""
        instance = self._instances[self._current]
        until = instance.steps + steps
        self.cluster.run_until(lambda: instance.steps >= until, 200)

    def _start(self) -> NodeId:
        started: list[Instance] = []

        def conduct(app: Application) -> Program:
            started.append(Instance(app=app, database=self._database, elsewhere=self._elsewhere))
            return self.setting.runs(started[0])

        client_id = self.cluster.run_program(conduct)
        self._instances[client_id] = started[0]
        return client_id

    def _running(self) -> list[Instance]:
        return [one for at, one in self._instances.items() if not self.cluster.is_over(at)]

    def _may_be_replaced(self) -> bool:
        return self.setting.is_replaced and 0 < len(self._running()) < 3
