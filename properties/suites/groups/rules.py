"""The suite `groups`: members join, leave, die, are held up and come back; brokers crash.

The topic has three partitions. What a member does for one of them is counted, and the count is the
position that it commits; no records are read, as none are needed to tell where somebody begins.
A member that is held up stands between its work and the commit of it, and goes on as a zombie. A
run ends with the end of all faults, and when somebody owns every partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from properties.claims.groups import ALWAYS, SOMETIMES, Grouped
from properties.suites.groups.members import PARTITIONS, TOPIC, Worker
from properties.suites.groups.settings import SETTINGS
from properties.suites.machines.cluster import ClusterMachine
from properties.suites.machines.judged import Tally
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.programs import Application, Program
from reference_impl.simulation.world import NoProgress

CATCH_UP_MS: Final = 20_000
REST_MS: Final = 700  # longer than a session: who is out has noticed
_MEMBERS: Final = 4  # at a time
_PAUSES_MS: Final = (20, 150, 500)


class GroupsMachine(ClusterMachine):
    """A cluster and the members of one group."""

    ALWAYS = ALWAYS
    SOMETIMES = SOMETIMES
    SETTINGS = SETTINGS
    SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]] = {
        **ClusterMachine.SIMPLER,
        "number": (0, 1, 2, 3),
        "pause_ms": _PAUSES_MS,
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
        cluster = Cluster(min_insync_replicas=2, bugs=bugs, timeouts=self.setting.timeouts)
        super().__init__(setting, cluster, bugs=bugs, judge=judge, tally=tally)
        self.cluster.create_topic(
            CreateTopic(
                topic=TOPIC,
                topic_partitions=len(PARTITIONS),
                replication_factor=3,
                min_insync_replicas=2,
            )
        )
        self._workers: dict[NodeId, Worker] = {}

    # ------------------------------------------------------------ members

    @precondition(lambda self: len(self.living()) < _MEMBERS)
    @rule()
    def join(self) -> None:
        """One more member, and time to begin."""
        self._start()
        self.cluster.run_for(200)

    @precondition(lambda self: 0 < len(self.living()) < _MEMBERS)
    @rule(number=st.integers(0, _MEMBERS - 1))
    def come_and_go(self, number: int) -> None:
        """One more member joins, and leaves before another has given up what it was to have."""
        self._start()
        newcomer = [*self._workers.values()][-1]
        for at in self._one(number):
            held = self._workers[at]
            self.cluster.run_until(lambda: held.owes, 200)  # noqa: B023 - it is called at once
            held.is_held = True
            newcomer.is_leaving = True
            self.cluster.run_for(200)
            held.is_held = False
        self.cluster.run_for(50)

    @precondition(lambda self: self.living())
    @rule(number=st.integers(0, _MEMBERS - 1))
    def leave(self, number: int) -> None:
        """A member leaves when it has done its work."""
        for at in self._one(number):
            self._workers[at].is_leaving = True
        self.cluster.run_for(100)

    @precondition(lambda self: self.living())
    @rule()
    def stand_empty(self) -> None:
        """All members leave, and nobody comes for a while."""
        for at in self.living():
            self._workers[at].is_leaving = True
        self.cluster.run_for(800)

    @precondition(lambda self: self.living())
    @rule(number=st.integers(0, _MEMBERS - 1))
    def kill(self, number: int) -> None:
        """A member's process dies."""
        for at in self._one(number):
            self.cluster.kill(at)

    @precondition(lambda self: self.living())
    @rule(number=st.integers(0, _MEMBERS - 1))
    def hold(self, number: int) -> None:
        """A member is held up behind its work."""
        for at in self._one(number):
            self._workers[at].is_held = True

    @rule()
    def release(self) -> None:
        """Whoever was held up goes on."""
        self._release()
        self.cluster.run_for(50)

    @precondition(lambda self: self.living())
    @rule(number=st.integers(0, _MEMBERS - 1), count=st.integers(1, 3))
    def lose_responses(self, number: int, count: int) -> None:
        """The next answers to a member are lost."""
        for at in self._one(number):
            self.cluster.drop_responses(at, count)

    # ------------------------------------------------------------ time

    @rule(pause_ms=st.sampled_from(_PAUSES_MS))
    def pass_time(self, pause_ms: int) -> None:
        """Nothing happens but what is on its way."""
        self.cluster.run_for(pause_ms)

    def new_events(self) -> tuple[str, ...]:
        """Returns in words what happened since the last call; members begin and commit."""
        events = [*super().new_events()]
        for worker in self._workers.values():
            events += worker.new_events()
        return tuple(events)

    # ------------------------------------------------------------ the end

    def end(self) -> Grouped:
        """Nothing goes wrong any more, and everything is owned, by whomever."""
        self.cluster.recover()
        self._release()
        if not any(not self._workers[at].is_leaving for at in self.living()):
            self._start()
        if not self.cluster.run_until(self._is_covered, CATCH_UP_MS):
            raise NoProgress(f"nobody owns some partition within {CATCH_UP_MS} ms")
        self.cluster.run_for(REST_MS)
        self.cluster.run_until(self._is_covered, CATCH_UP_MS)
        workers = self._workers.values()
        return Grouped(
            partitions=tuple(map(str, PARTITIONS)),
            began=tuple(sorted((it for w in workers for it in w.began), key=lambda it: it.at_ns)),
            committed=tuple(it for worker in workers for it in worker.committed),
            owned={
                self._workers[at].name: tuple(map(str, self._workers[at].positions))
                for at in self.living()
            },
        )

    def living(self) -> list[NodeId]:
        """The members that run."""
        return [at for at in self._workers if not self.cluster.is_over(at)]

    def _is_covered(self) -> bool:
        living = [self._workers[at] for at in self.living()]
        owned = {place for worker in living for place in worker.positions}
        return owned == {*PARTITIONS} and not any(worker.is_leaving for worker in living)

    def _one(self, number: int) -> list[NodeId]:
        """The member that an argument of a rule means; none if none lives."""
        living = self.living()
        return [living[number % len(living)]] if living else []

    def _release(self) -> None:
        for worker in self._workers.values():
            worker.is_held = False

    def _start(self) -> None:
        started: list[Worker] = []

        def conduct(app: Application) -> Program:
            started.append(Worker(app=app))
            return self.setting.runs(started[0])

        client_id = self.cluster.run_program(conduct)
        self._workers[client_id] = started[0]
