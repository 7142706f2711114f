"""The Hypothesis rules of the suite `groups`: members join, leave, die and pause; brokers crash.

The group's topic has three partitions. A member reads no records. For each of its partitions, the
member counts units of work, and commits this number as its position. A paused member stops after
its work and before its commit, and later continues as a zombie. A run ends when all faults have
ended and every partition has an owner.
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
from properties.suites.machines.driven import SIMULATED, OpensCluster, Power
from properties.suites.machines.judged import Tally
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.programs import Application, Program
from reference_impl.simulation.world import NoProgress

CATCH_UP_MS: Final = 20_000
REST_MS: Final = 700  # longer than a session, so that removed members have noticed
_MEMBERS: Final = 4  # at the same time
_PAUSES_MS: Final = (20, 150, 500)


class GroupsMachine(ClusterMachine):
    ALWAYS = ALWAYS
    SOMETIMES = SOMETIMES
    SETTINGS = SETTINGS
    SETTING_NEEDS: ClassVar[Mapping[str, Power]] = {"KIP-848, soon forgotten": Power.EXPIRE}
    TEARDOWN = "ends all faults, waits until each partition has an owner and judges the run"
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
        opens: OpensCluster = SIMULATED,
    ) -> None:
        self.setting = SETTINGS[setting]
        cluster = opens(
            min_insync_replicas=2, bugs=bugs, broker_settings=self.setting.broker_settings
        )
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
        """Starts a member and waits 200 ms."""
        self._start()
        self.cluster.run_for(200)

    @precondition(lambda self: 0 < len(self.living()) < _MEMBERS)
    @rule(number=st.integers(0, _MEMBERS - 1))
    def come_and_go(self, number: int) -> None:
        """Starts a member, and stops it before an older member has handed partitions over.

        The older member owns partitions that the coordinator has assigned to the new member. The
        older member is paused before it revokes these partitions, and the new member leaves the
        group during this pause.
        """
        self._start()
        newcomer = [*self._workers.values()][-1]
        for at in self._living_member(number):
            held = self._workers[at]
            self.cluster.run_until(lambda: held.must_revoke, 200)  # noqa: B023 - called at once
            held.is_held = True
            newcomer.is_leaving = True
            self.cluster.run_for(200)
            held.is_held = False
        self.cluster.run_for(50)

    @precondition(lambda self: self.living())
    @rule(number=st.integers(0, _MEMBERS - 1))
    def leave(self, number: int) -> None:
        """Makes a member leave the group after its current work.

        `number` selects one of the living members.
        """
        for at in self._living_member(number):
            self._workers[at].is_leaving = True
        self.cluster.run_for(100)

    @precondition(lambda self: self.living())
    @rule()
    def stand_empty(self) -> None:
        """Makes all members leave the group, and waits 800 ms.

        If the offset retention is short, the committed offsets of the empty group expire in this
        time.
        """
        for at in self.living():
            self._workers[at].is_leaving = True
        self.cluster.run_for(800)

    @precondition(lambda self: self.living())
    @rule(number=st.integers(0, _MEMBERS - 1))
    def kill(self, number: int) -> None:
        """Kills the process of a member.

        `number` selects one of the living members. The member does not leave the group before its
        death.
        """
        for at in self._living_member(number):
            self.cluster.kill(at)

    @precondition(lambda self: self.living())
    @rule(number=st.integers(0, _MEMBERS - 1))
    def hold(self, number: int) -> None:
        """Pauses a member between its work and its commit.

        `number` selects one of the living members. The rule `release` ends the pause.
        """
        for at in self._living_member(number):
            self._workers[at].is_held = True

    @rule()
    def release(self) -> None:
        """Resumes all paused members."""
        self._release()
        self.cluster.run_for(50)

    @precondition(lambda self: self.living())
    @rule(number=st.integers(0, _MEMBERS - 1), count=st.integers(1, 3))
    def lose_responses(self, number: int, count: int) -> None:
        """Drops the next `count` responses to a member.

        `number` selects one of the living members.
        """
        for at in self._living_member(number):
            self.cluster.drop_responses(at, count)

    # ------------------------------------------------------------ time

    @rule(pause_ms=st.sampled_from(_PAUSES_MS))
    def pass_time(self, pause_ms: int) -> None:
        """Lets `pause_ms` of virtual time pass."""
        self.cluster.run_for(pause_ms)

    def new_events(self) -> tuple[str, ...]:
        events = [*super().new_events()]
        for worker in self._workers.values():
            events += worker.new_events()
        return tuple(events)

    # ------------------------------------------------------------ the end

    def end(self) -> Grouped:
        self.cluster.recover()
        self._release()
        if not any(not self._workers[at].is_leaving for at in self.living()):
            self._start()
        if not self.cluster.run_until(self._is_covered, CATCH_UP_MS):
            raise NoProgress(f"a partition has no owner {CATCH_UP_MS} ms after the last fault")
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
        return [at for at in self._workers if not self.cluster.is_over(at)]

    def _is_covered(self) -> bool:
        living = [self._workers[at] for at in self.living()]
        owned = {place for worker in living for place in worker.positions}
        return owned == {*PARTITIONS} and not any(worker.is_leaving for worker in living)

    def _living_member(self, number: int) -> list[NodeId]:
        living = self.living()
        # the numbers wrap around: with two members, 3 is the second
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
