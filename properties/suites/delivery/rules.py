"""The Hypothesis rules of the suite `delivery`: an application is killed or paused at any step.

A producer sends records to `orders-0`. An application (see the module `applications`) consumes them
as a member of a group. The application writes its results to a database that survives its process,
to the output topic `invoices`, or to both. The rules also *replace* the application: its first
instance is paused, another instance takes over the partitions, and then the first instance
continues as a zombie. Brokers may crash, and requests and responses of clients may be lost. Links
between brokers are never cut. After all faults have ended, the contents of the database and of the
output topic are compared with the sent records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from model.vocabulary import Offset
from properties.claims.delivery import ALWAYS, SOMETIMES, Delivered
from properties.suites.delivery.instance import OUTPUT, Instance
from properties.suites.delivery.settings import SETTINGS
from properties.suites.delivery.stores import opening, store
from properties.suites.machines.cluster import ClusterMachine
from properties.suites.machines.driven import SIMULATED, OpensCluster
from properties.suites.machines.judged import Tally
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.cluster import TOPIC_PARTITION
from reference_impl.simulation.programs import Application, Program
from reference_impl.simulation.reader import Reader
from reference_impl.simulation.world import NoProgress

_PAUSES_MS: Final = (10, 100, 500)
TAKEOVER_MS: Final = 2_000
CATCH_UP_MS: Final = 20_000


class DeliveryMachine(ClusterMachine):
    """A cluster with a producer and the instances of one application. The rules act on the
    newest instance.
    """

    ALWAYS = ALWAYS
    SOMETIMES = SOMETIMES
    SETTINGS = SETTINGS
    TEARDOWN = "ends all faults, lets the application read to the end and judges the run"
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
        opens: OpensCluster = SIMULATED,
    ) -> None:
        self.setting = SETTINGS[setting]
        cluster = opens(min_insync_replicas=2, bugs=bugs)
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
        self.cluster.run_for(150)  # until the producer has its id and the application its partition

    # ------------------------------------------------------------ sends

    @rule(count=st.integers(1, 3))
    def send(self, count: int) -> None:
        """Sends values and waits until all are acknowledged, at most 200 ms."""
        self._send(count)
        self.cluster.run_until(lambda: self.cluster.producer(self._producer).idle, 200)

    @rule(count=st.integers(1, 3))
    def send_and_lose_responses(self, count: int) -> None:
        """Sends values; they are appended, but their responses are lost.

        The leader has appended the values, and the producer does not know it. A producer with
        retries sends the values again.
        """
        self.cluster.drop_responses(self._producer, count)
        self._send(count)
        self.cluster.run_for(10)

    @rule(count=st.integers(1, 3))
    def send_and_lose_requests(self, count: int) -> None:
        """Sends values, and loses the first requests with these values.

        The links from the producer to the brokers are cut for 10 ms. Retries after this time can
        reach a broker.
        """
        self.cut_requests_of(self._producer)
        self._send(count)
        self.cluster.run_for(10)
        self.restore_requests_of(self._producer)

    # ------------------------------------------------------------ the application

    @rule(pause_ms=st.sampled_from(_PAUSES_MS))
    def pass_time(self, pause_ms: int) -> None:
        """Lets `pause_ms` of virtual time pass."""
        self.cluster.run_for(pause_ms)

    @precondition(lambda self: not self.cluster.is_over(self._current))
    @rule(count=st.integers(1, 3), steps=st.integers(1, 4))
    def send_and_kill(self, count: int, steps: int) -> None:
        """Sends values, and kills the application after `steps` steps of its work.

        A step is a call of `Instance.step`, for example between the processing of two records.
        """
        self._send(count)
        self._work(steps)
        self.cluster.kill(self._current)

    @precondition(lambda self: self.cluster.is_over(self._current))
    @rule()
    def start(self) -> None:
        """Starts the application again after its death."""
        self._current = self._start()

    @precondition(lambda self: self._may_be_replaced())
    @rule(count=st.integers(1, 3), steps=st.integers(1, 4))
    def send_and_replace(self, count: int, steps: int) -> None:
        """Sends values, and pauses the application until another instance has taken over.

        The pause begins after `steps` calls of `Instance.step`. When the other instance has taken
        over the partitions, but at the latest after `TAKEOVER_MS`, the paused instance continues as
        a zombie.
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
        """Starts another instance of the application, which joins its consumer group.

        The first instance still runs, so the group rebalances. Later rules act on the new instance.
        """
        self._current = self._start()

    @precondition(lambda self: self.setting.is_rewound)
    @rule(offset=st.integers(0, 2))
    def rewind(self, offset: int) -> None:
        """Sends three values, rewinds the application to the offset `offset`, and sends one more
        value.
        """
        self.send(3)
        self.cluster.run_for(100)
        self._instances[self._current].rewind_to = Offset(offset)
        self.cluster.run_for(100)
        self.send(1)

    @rule(count=st.integers(1, 3))
    def lose_responses(self, count: int) -> None:
        """Drops the next `count` responses to the application."""
        self.cluster.drop_responses(self._current, count)

    def new_events(self) -> tuple[str, ...]:
        stored = store.effects(self._database) if self._stored is None else self._stored
        new, self._printed = stored[self._printed :], len(stored)
        rows = (f"the database has one more row: {value}" for value in new)
        return (*super().new_events(), *rows)

    # ------------------------------------------------------------ the end

    def end(self) -> Delivered:
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
        end_ms = self.cluster.now_ms + CATCH_UP_MS
        while self.cluster.now_ms < end_ms:
            if not self._running():
                self._current = self._start()
            self.cluster.run_until(lambda: self._is_done() or not self._running(), CATCH_UP_MS)
            if self._is_done():
                return
        raise NoProgress(
            f"the application has not read its input to the end within {CATCH_UP_MS} ms"
        )

    def _is_done(self) -> bool:
        running = self._running()
        end = self.cluster.end_offset()
        return any(one.consumer.positions.get(TOPIC_PARTITION) == end for one in running) and all(
            one.consumer.empty_polls > 1 and not one.waiting for one in running
        )

    def _downstream(self) -> tuple[str, ...]:
        found: list[str] = []

        def reads(app: Application) -> Program:
            brokers = BrokerClient(app=app)
            lister = Reader(
                app=app, brokers=brokers, topic_partition=OUTPUT, isolation="read_uncommitted"
            )
            reader = Reader(
                app=app, brokers=brokers, topic_partition=OUTPUT, isolation=self.setting.reads
            )
            end = yield from lister.end_offset()
            while reader.position < end:
                found.extend(record.value for record in (yield from reader.poll()))

        program = self.cluster.run_program(reads)
        if not self.cluster.run_until(lambda: self.cluster.is_over(program), CATCH_UP_MS):
            raise NoProgress(f"the output cannot be read to its end within {CATCH_UP_MS} ms")
        return tuple(found)

    # ------------------------------------------------------------ instances

    def _send(self, count: int) -> None:
        values = [f"v{len(self._sent) + number}" for number in range(count)]
        self._sent += values
        self.cluster.send(self._producer, *values)

    def _work(self, steps: int) -> None:
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
