"""The Hypothesis rules of the suite `log`: writers and readers of a log while its leaders change.

Each writer sends one record at a time, to one or two topic partitions. Each reader begins at an
offset and reads all records from this offset on. At the end of a run, all faults end, the writers
finish their sends, and the readers read to the end of the log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from model.vocabulary import Offset, TopicPartition
from properties.claims.log import ALWAYS, SOMETIMES, ReadAndWritten
from properties.suites.log.settings import SETTINGS
from properties.suites.machines.driven import SIMULATED, OpensCluster
from properties.suites.machines.judged import Tally
from properties.suites.machines.leader_faults import LeaderFaultsMachine
from properties.suites.machines.watching import entries_of
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.deletion import DeleteRecords
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.programs import Application, Pause, Program, ProgramFactory
from reference_impl.simulation.reader import Reader
from reference_impl.simulation.sender import Sender
from reference_impl.simulation.world import NoProgress

TOPIC: Final = "letters"
IDLE_MS: Final = 20
END_MS: Final = 20_000


class LogMachine(LeaderFaultsMachine):
    ALWAYS = ALWAYS
    SOMETIMES = SOMETIMES
    SETTINGS = SETTINGS
    TEARDOWN = "ends all faults, lets writers and then readers come to an end, and judges the run"
    SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]] = {
        **LeaderFaultsMachine.SIMPLER,
        "writer": (0, 1),
        "place": (0, 1),
        "offset": (0, 1, 2, 3),
    }

    def __init__(
        self,
        setting: str = "several",
        *,
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] | None = None,
        tally: Tally | None = None,
        opens: OpensCluster = SIMULATED,
    ) -> None:
        cluster = opens(min_insync_replicas=2, bugs=bugs)
        super().__init__(setting, cluster, bugs=bugs, judge=judge, tally=tally)
        self._setting = SETTINGS[setting]
        number = self._setting.topic_partitions
        cluster.create_topic(
            CreateTopic(topic=TOPIC, topic_partitions=number, min_insync_replicas=2)
        )
        self._places = cluster.topic_partitions(TOPIC)
        self._sent = 0
        self._writing, self._reading = True, True  # whether more records may come
        self._queues = [deque[tuple[TopicPartition, str]]() for _ in range(self._setting.writers)]
        self._writers = [cluster.run_program(self._writes(queue)) for queue in self._queues]
        self._readers: list[NodeId] = []
        self._starts: dict[int, dict[str, int]] = {}
        self.send(writer=0, place=0, count=5)  # so that the first rule finds records to read
        cluster.run_until(self._has_written, 1_000)

    # ------------------------------------------------------------ clients

    @rule(writer=st.integers(0, 1), place=st.integers(0, 1), count=st.integers(1, 3))
    def send(self, writer: int, place: int, count: int) -> None:
        """Queues values for a writer; no virtual time passes.

        The writer sends the values one by one when a later rule lets time pass. `place` is the
        number of the topic partition, and `count` is the number of values.
        """
        for number in range(self._sent, self._sent + count):
            where = self._places[place % len(self._places)]
            self._queues[writer % len(self._queues)].append((where, f"v{number}"))
        self._sent += count

    @rule(writer=st.integers(0, 1))
    def cut_off(self, writer: int) -> None:
        """Cuts a writer off from all brokers, until all links are healed.

        The requests of the writer are lost. Responses of brokers still reach the writer.
        """
        self.cut_requests_of(self._writers[writer % len(self._writers)])

    @precondition(lambda self: self.wants_readers)
    @rule(offset=st.integers(0, 3), place=st.integers(0, 1))
    def read_from(self, offset: int, place: int) -> None:
        """Starts a reader at this offset, or at the end of the log if that is lower.

        The reader polls all topic partitions of the run in turn, beginning with the topic partition
        number `place`.
        """
        first = place % len(self._places)
        places = (*self._places[first:], *self._places[:first])
        starts = {place: self._capped(offset, place) for place in places}
        self._readers.append(self.cluster.run_program(self._reads(starts)))

    @precondition(lambda self: self.deletes_records)
    @rule(offset=st.integers(1, 3))
    def delete_records(self, offset: int) -> None:
        """Deletes all records below the offset on all replicas.

        The offset is at most the high watermark of the topic partition. The request to the leader
        is sent at most three times.
        """
        self.cluster.run_program(self._deletes(offset))
        self.cluster.run_for(400)

    @property
    def wants_readers(self) -> bool:
        return len(self._readers) < self._setting.readers

    @property
    def deletes_records(self) -> bool:
        return self._setting.deletes_records

    # ------------------------------------------------------------ programs

    def _writes(self, queue: deque[tuple[TopicPartition, str]]) -> ProgramFactory:
        def conduct(app: Application) -> Program:
            sender = Sender(app=app, brokers=BrokerClient(app=app))
            while queue or self._writing:
                if queue:
                    yield from sender.send(*queue.popleft())
                else:
                    yield Pause(IDLE_MS)

        return conduct

    def _reads(self, starts: Mapping[TopicPartition, Offset]) -> ProgramFactory:
        def conduct(app: Application) -> Program:
            self._starts[app.process] = {str(place): start for place, start in starts.items()}
            brokers = BrokerClient(app=app)
            readers = [
                Reader(
                    app=app,
                    brokers=brokers,
                    topic_partition=place,
                    isolation="read_uncommitted",
                    position=start,
                )
                for place, start in starts.items()
            ]
            while self._reading:
                for reader in readers:
                    yield from reader.poll()
            for reader in readers:
                yield from reader.read_to_end()

        return conduct

    def _deletes(self, offset: int) -> ProgramFactory:
        before = {place: self._capped(offset, place) for place in self._places}

        def conduct(app: Application) -> Program:
            brokers = BrokerClient(app=app)
            for place, offset in before.items():
                request = DeleteRecords(topic_partition=place, before=offset)
                yield from brokers.call_leader(place, request, attempts=3)

        return conduct

    def _capped(self, offset: int, place: TopicPartition) -> Offset:
        return Offset(min(offset, self.cluster.high_watermark(place)))

    # ------------------------------------------------------------ the end

    def end(self) -> ReadAndWritten:
        self.cluster.recover()
        self._writing = False
        self._await_end_of(self._writers)
        self._reading = False
        self._await_end_of(self._readers)
        return ReadAndWritten(
            history=self.cluster.history(),
            logs={
                str(place): tuple(
                    (entry.offset, entry.value)
                    for batch in self.cluster.batches(place)
                    for entry in entries_of(batch)
                )
                for place in self._places
            },
            starts=self._starts,
            instances={
                process: 0 if self._setting.is_one_instance else process for process in self._starts
            },
        )

    def _has_written(self) -> bool:
        return self._capped(self._sent, self._places[0]) == self._sent

    def _await_end_of(self, programs: Sequence[NodeId]) -> None:
        if not self.cluster.run_until(lambda: all(map(self.cluster.is_over, programs)), END_MS):
            raise NoProgress(f"an application has not ended {END_MS} ms after the last fault")
