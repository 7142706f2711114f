"""The members of the suite `groups`: each commits a count of its work as its position."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Final

from model.vocabulary import Offset, TopicPartition
from properties.claims.groups import Began, Committed
from reference_impl.protocol.requests import Response
from reference_impl.simulation import classic_member, consumer_member
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.programs import Application, Call, Pause, Program

TOPIC: Final = "tasks"
GROUP: Final = "workers"
PARTITIONS: Final = tuple(TopicPartition(TOPIC, index) for index in range(3))
WORK_MS: Final = 20

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
    _printed: tuple[int, int] = (0, 0)  # how many beginnings and commits `new_events` has returned

    @property
    def name(self) -> str:
        """Tells it from all others of the run."""
        return f"m{self.app.process}"

    def new_events(self) -> list[str]:
        """Returns in words the partitions begun and the positions committed since the last call."""
        began, committed = self._printed
        self._printed = len(self.began), len(self.committed)
        last = {(it.epoch, it.partition): it.position for it in self.committed[committed:]}
        return [
            *(
                f"{self.name} begins {it.partition} at position {it.position} in epoch {it.epoch}"
                for it in self.began[began:]
            ),
            *(
                f"{self.name} commits {partition} up to position {position} in epoch {epoch}"
                for (epoch, partition), position in last.items()
            ),
        ]

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
