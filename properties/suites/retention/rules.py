"""The Hypothesis rules of the suite `retention`: a reader is away while old records are deleted.

The reader leaves when it has read to the end of the log. If the reader returns within the retention
time, it finds every record that was sent during its absence, even if a leader has crashed. If the
reader returns later, some records may be missing. It may also find all records, because Kafka
deletes only whole segments. The claims are checked at the end of a run, because only then is it
clear which records the reader missed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import rule

from model.vocabulary import TopicPartition
from properties.claims.retention import ALWAYS, Absence, KeptForReaders
from properties.suites.machines.driven import SIMULATED, OpensCluster, Power
from properties.suites.machines.judged import Tally
from properties.suites.machines.leader_faults import LeaderFaultsMachine
from properties.suites.retention.settings import SETTINGS
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.requests import Response
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.cluster import QUICK
from reference_impl.simulation.programs import Application, Call, Pause, Program, ProgramFactory
from reference_impl.simulation.reader import Reader
from reference_impl.simulation.sender import Sender
from reference_impl.simulation.world import NoProgress

LETTERS: Final = TopicPartition("letters", 0)
AWAY_MS: Final = (100, 400, 700, 1_500, 3_000)
IDLE_MS: Final = 50
END_MS: Final = 30_000


class RetentionMachine(LeaderFaultsMachine):
    """A cluster under faults, with a writer, and with a reader that stops reading for a time and
    continues later.
    """

    ALWAYS = ALWAYS
    SOMETIMES: ClassVar = {}
    SETTINGS = SETTINGS
    SETTING_NEEDS: ClassVar[Mapping[str, Power]] = dict.fromkeys(SETTINGS, Power.RETAIN)
    SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]] = {
        **LeaderFaultsMachine.SIMPLER,
        "away_ms": AWAY_MS,
    }

    def __init__(
        self,
        setting: str = "away for less",
        *,
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] | None = None,
        tally: Tally | None = None,
        opens: OpensCluster = SIMULATED,
    ) -> None:
        broker_settings = replace(QUICK, retention_check_ms=50, cleaner_backoff_ms=50)
        cluster = opens(min_insync_replicas=2, broker_settings=broker_settings, bugs=bugs)
        # No isolated leaders: they return old end offsets, which is no fault of retention.
        super().__init__(
            setting, cluster, isolates_leaders=False, bugs=bugs, judge=judge, tally=tally
        )
        self._setting = SETTINGS[setting]
        cluster.create_topic(
            CreateTopic(
                topic=LETTERS.topic, min_insync_replicas=2, log_config=self._setting.log_config
            )
        )
        self._ending = False
        self._sent = 0
        self._queue = deque[str]()
        self._leaves = deque[int]()
        self._absences: list[Absence] = []
        self._programs = [cluster.run_program(self._writes()), cluster.run_program(self._reads())]
        cluster.run_for(IDLE_MS)

    @rule(count=st.integers(1, 3))
    def send(self, count: int) -> None:
        """Queues values for the writer; no virtual time passes.

        The writer sends the values one by one when a later rule lets time pass. `count` is the
        number of values.
        """
        self._queue.extend(f"v{number}" for number in range(self._sent, self._sent + count))
        self._sent += count

    @rule(away_ms=st.sampled_from(AWAY_MS))
    def leave(self, away_ms: int) -> None:
        """Makes the reader leave when it has read to the log end, and return `away_ms` later."""
        self._leaves.append(away_ms)
        self.cluster.run_for(IDLE_MS)

    def _writes(self) -> ProgramFactory:
        def conduct(app: Application) -> Program:
            sender = Sender(app=app, brokers=BrokerClient(app=app))
            while self._queue or not self._ending:
                if self._queue:
                    yield from sender.send(LETTERS, self._queue.popleft())
                else:
                    yield Pause(IDLE_MS)

        return conduct

    def _reads(self) -> ProgramFactory:
        def conduct(app: Application) -> Program:
            reader = Reader(
                app=app,
                brokers=BrokerClient(app=app),
                topic_partition=LETTERS,
                isolation="read_uncommitted",
            )
            yield from _catches_up(reader)
            while self._leaves or not self._ending:
                left_ns = app.now_ns
                yield Pause(self._leaves.popleft() if self._leaves else IDLE_MS)
                requested_ns = yield from _catches_up(reader)
                self._absences.append(
                    Absence(
                        process=app.process,
                        left_ns=left_ns,
                        requested_ns=requested_ns,
                        back_ns=app.now_ns,
                    )
                )

        return conduct

    def end(self) -> KeptForReaders:
        self.cluster.recover()
        self._ending = True
        if not self.cluster.run_until(
            lambda: all(map(self.cluster.is_over, self._programs)), END_MS
        ):
            raise NoProgress(f"an application has not ended {END_MS} ms after the last fault")
        return KeptForReaders(
            history=self.cluster.history(),
            absences=tuple(self._absences),
            promised_ms=self._setting.promised_ms,
        )


def _catches_up(reader: Reader) -> Generator[Call | Pause, Response | None, int]:
    requested_ns = reader.app.now_ns
    while (end := (yield from reader.end_offset())) < 0:
        yield Pause(IDLE_MS)
        requested_ns = reader.app.now_ns
    while reader.position < end:
        yield from reader.poll()
    # of the end-offset request that succeeded
    return requested_ns
