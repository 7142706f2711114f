"""The suite `groups`: members join, leave, die, are held up and come back; brokers crash.

The topic has three partitions. What a member does for one of them is counted, and the count is the
position that it commits; no records are read, as none are needed to tell where somebody begins.
A member that is held up stands between its work and the commit of it, and goes on as a zombie. A
run ends with the end of all faults, and when somebody owns every partition.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from model.vocabulary import Offset, TopicPartition
from properties.claims.groups import ALWAYS, SOMETIMES, Began, Committed, Grouped
from properties.suites.machine import JudgedMachine
from properties.suites.searching import Tally
from properties.suites.suite import Suite, inside, outside
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.timeouts import Timeouts
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.messages import NodeId
from reference_impl.protocol.requests import Response
from reference_impl.simulation import classic_member, consumer_member
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.cluster import QUICK, Cluster
from reference_impl.simulation.programs import Application, Call, Pause, Program
from reference_impl.simulation.world import NoProgress

TOPIC: Final = "tasks"
GROUP: Final = "workers"
PARTITIONS: Final = tuple(TopicPartition(TOPIC, index) for index in range(3))
WORK_MS: Final = 20
CATCH_UP_MS: Final = 20_000
REST_MS: Final = 700  # longer than a session: who is out has noticed
_MEMBERS: Final = 4  # at a time
_PAUSES_MS: Final = (20, 150, 500)

PATIENCE: Final = replace(QUICK, member_session_ms=600, member_heartbeat_ms=50)
FORGETFUL: Final = replace(PATIENCE, offsets_retention_ms=400, offsets_check_ms=100)

Asking = Generator[Call | Pause, Response | None, None]
Positions = dict[TopicPartition, Offset]


@dataclass(slots=True, kw_only=True)
class Worker:
    """One member, what it has done, and what it was told from outside."""

    app: Application
    began: list[Began] = field(default_factory=list[Began])
    committed: list[Committed] = field(default_factory=list[Committed])
    positions: Positions = field(default_factory=Positions)
    owes: bool = False  # it was told to give something up, and has not yet
    is_held: bool = False
    is_leaving: bool = False

    @property
    def name(self) -> str:
        """Tells it from all others of the run."""
        return f"m{self.app.process}"

    def resumes(self, epoch: int, told: Mapping[TopicPartition, Offset | None], ns: int) -> None:
        """It begins what is new to it at these positions, which it asked for at that time."""
        for place, offset in told.items():
            self.positions[place] = offset or Offset(0)
            began = Began(
                member=self.name,
                epoch=epoch,
                partition=str(place),
                asked_ns=ns,
                at_ns=self.app.now_ns,
                position=self.positions[place],
            )
            self.began.append(began)

    def works(self) -> Asking:
        """One more task of each partition; it may be held up behind it."""
        yield Pause(WORK_MS)
        self.positions = {place: Offset(at + 1) for place, at in self.positions.items()}
        while self.is_held:
            yield Pause(WORK_MS)

    def commits(
        self,
        epoch: int,
        commit: Callable[[Positions], Generator[Call | Pause, Response | None, bool]],
    ) -> Asking:
        """It tells its group how far it is."""
        positions, asked_ns = dict(self.positions), self.app.now_ns
        if positions and (yield from commit(positions)):
            self.committed += [
                Committed(
                    member=self.name,
                    epoch=epoch,
                    partition=str(place),
                    asked_ns=asked_ns,
                    at_ns=self.app.now_ns,
                    position=position,
                )
                for place, position in positions.items()
            ]


def classic(worker: Worker) -> Program:
    """A member of a classic group that gives all up at each rebalance."""
    brokers = BrokerClient(app=worker.app)
    member = classic_member.Member(app=worker.app, brokers=brokers, group=GROUP, topic=TOPIC)
    while not worker.is_leaving:
        if not (yield from member.ensure_membership()):
            worker.positions = {}
            asked_ns = worker.app.now_ns
            told = yield from member.committed()
            worker.resumes(member.generation, told, asked_ns)
        yield from worker.works()
        yield from worker.commits(member.generation, member.commit)
    worker.positions = {}
    yield from member.leave()


def consumer(worker: Worker) -> Program:
    """A member of a group of KIP-848 that commits before it gives something up."""
    brokers = BrokerClient(app=worker.app)
    member = consumer_member.Member(app=worker.app, brokers=brokers, group=GROUP, topic=TOPIC)
    while not worker.is_leaving:
        yield from member.heartbeat()
        worker.owes = bool(member.to_revoke)
        yield from worker.works()
        yield from worker.commits(member.epoch, member.commit)
        yield from member.revoke()
        worker.positions = {p: at for p, at in worker.positions.items() if p in member.owned}
        epoch, asked_ns = member.epoch, worker.app.now_ns
        if new := member.begin():
            told = yield from member.committed(new)
            worker.resumes(epoch, told, asked_ns)
    worker.positions = {}
    yield from member.leave()


def by_hand(worker: Worker) -> Program:
    """A consumer that is in no group: it takes everything, and commits for whom it likes."""
    brokers = BrokerClient(app=worker.app)
    nobody = classic_member.Member(app=worker.app, brokers=brokers, group=GROUP, topic=TOPIC)
    nobody.owned = PARTITIONS
    asked_ns = worker.app.now_ns
    told = yield from nobody.committed()
    worker.resumes(nobody.generation, told, asked_ns)
    while not worker.is_leaving:
        yield from worker.works()
        yield from worker.commits(nobody.generation, nobody.commit)
    worker.positions = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How members belong to the group, and how long the group is remembered."""

    says: str
    runs: Callable[[Worker], Program]
    timeouts: Timeouts = PATIENCE


SETTINGS: Final = {
    "classic": Setting(says="JoinGroup and SyncGroup, all is given up and taken", runs=classic),
    "KIP-848": Setting(says="the coordinator assigns, members give up what moves", runs=consumer),
    "by hand": Setting(says="consumers assign all partitions to themselves", runs=by_hand),
    "KIP-848, soon forgotten": Setting(
        says="offsets are kept for 400 ms after the last member has gone",
        runs=consumer,
        timeouts=FORGETFUL,
    ),
}


class GroupsMachine(JudgedMachine):
    """A cluster and the members of one group."""

    ALWAYS = ALWAYS
    SOMETIMES = SOMETIMES
    SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "number": (0, 1, 2, 3),
        "pause_ms": _PAUSES_MS,
        "broker": (0, 1, 2),
        "count": (1, 2, 3),
    }

    def __init__(
        self,
        setting: str,
        *,
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] | None = None,
        tally: Tally | None = None,
    ) -> None:
        super().__init__(setting, bugs=bugs, judge=judge, tally=tally)
        self.setting = SETTINGS[setting]
        self._cluster = Cluster(min_insync_replicas=2, bugs=bugs, timeouts=self.setting.timeouts)
        self._cluster.create_topic(
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
        self._cluster.run_for(200)

    @precondition(lambda self: 0 < len(self.living()) < _MEMBERS)
    @rule(number=st.integers(0, _MEMBERS - 1))
    def come_and_go(self, number: int) -> None:
        """One more member joins, and leaves before another has given up what it was to have."""
        self._start()
        newcomer = [*self._workers.values()][-1]
        for at in self._one(number):
            held = self._workers[at]
            self._cluster.run_until(lambda: held.owes, 200)  # noqa: B023 - it is called at once
            held.is_held = True
            newcomer.is_leaving = True
            self._cluster.run_for(200)
            held.is_held = False
        self._cluster.run_for(50)

    @precondition(lambda self: self.living())
    @rule(number=st.integers(0, _MEMBERS - 1))
    def leave(self, number: int) -> None:
        """A member leaves when it has done its work."""
        for at in self._one(number):
            self._workers[at].is_leaving = True
        self._cluster.run_for(100)

    @precondition(lambda self: self.living())
    @rule()
    def stand_empty(self) -> None:
        """All members leave, and nobody comes for a while."""
        for at in self.living():
            self._workers[at].is_leaving = True
        self._cluster.run_for(800)

    @precondition(lambda self: self.living())
    @rule(number=st.integers(0, _MEMBERS - 1))
    def kill(self, number: int) -> None:
        """A member's process dies."""
        for at in self._one(number):
            self._cluster.kill(at)

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
        self._cluster.run_for(50)

    @precondition(lambda self: self.living())
    @rule(number=st.integers(0, _MEMBERS - 1), count=st.integers(1, 3))
    def lose_responses(self, number: int, count: int) -> None:
        """The next answers to a member are lost."""
        for at in self._one(number):
            self._cluster.drop_responses(at, count)

    # ------------------------------------------------------------ time, and brokers

    @rule(pause_ms=st.sampled_from(_PAUSES_MS))
    def pass_time(self, pause_ms: int) -> None:
        """Nothing happens but what is on its way."""
        self._cluster.run_for(pause_ms)

    @precondition(lambda self: self._all_up())
    @rule(broker=st.integers(0, 2))
    def crash(self, broker: int) -> None:
        """A broker's process dies."""
        self._cluster.crash(self._cluster.broker_ids[broker])

    @precondition(lambda self: not self._all_up())
    @rule()
    def restart_all(self) -> None:
        """All brokers that are down start again."""
        for broker in self._cluster.broker_ids:
            self._cluster.restart(broker)

    # ------------------------------------------------------------ the end

    def end(self) -> Grouped:
        """Nothing goes wrong any more, and everything is owned, by whomever."""
        self._cluster.recover()
        self._release()
        if not any(not self._workers[at].is_leaving for at in self.living()):
            self._start()
        if not self._cluster.run_until(self._is_covered, CATCH_UP_MS):
            raise NoProgress(f"nobody owns some partition within {CATCH_UP_MS} ms")
        self._cluster.run_for(REST_MS)
        self._cluster.run_until(self._is_covered, CATCH_UP_MS)
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

    def steps(self) -> int:
        """How many steps brokers and the controller took."""
        return self._cluster.steps

    def living(self) -> list[NodeId]:
        """The members that run."""
        return [at for at in self._workers if not self._cluster.is_over(at)]

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

        client_id = self._cluster.run_program(conduct)
        self._workers[client_id] = started[0]

    def _all_up(self) -> bool:
        return all(map(self._cluster.is_up, self._cluster.broker_ids))


_CLAIMS: Final = ("one_owner", "idle_members", "position_resumes")

SUITE: Final = Suite(
    name="groups",
    says="members of both protocols join, leave, die and are held up while coordinators fail",
    machine=GroupsMachine,
    inside=(
        *(inside(claim, "classic", SETTINGS["classic"].says) for claim in _CLAIMS),
        *(inside(claim, "KIP-848", SETTINGS["KIP-848"].says) for claim in _CLAIMS),
    ),
    outside=(
        outside("one_owner", "by hand", "nobody divides the partitions"),
        outside("idle_members", "by hand", "everybody owns everything"),
        outside(
            "one_owner",
            "KIP-848",
            "what was given up and had back is free on the books",
            Bug.PARTITION_EPOCH_ERASED,
        ),
        outside(
            "position_resumes", "KIP-848, soon forgotten", "the group stood empty for too long"
        ),
    ),
    share_of_runs=0.5,
)
