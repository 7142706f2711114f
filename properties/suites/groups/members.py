"""The programs of group members in the suite `groups`. Each member raises its positions and commits
them.

Members read no records. The program raises a position by 1 to simulate that it processed a record.
"""

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

Steps = Generator[Call | Pause, Response | None, None]
Positions = dict[TopicPartition, Offset]


@dataclass(slots=True, kw_only=True)
class Worker:
    """A member of a group. It has a list of the partitions that it began to process, and a list
    of its commits.
    """

    app: Application
    began: list[Began] = field(default_factory=list[Began])
    committed: list[Committed] = field(default_factory=list[Committed])
    positions: Positions = field(default_factory=Positions)
    must_revoke: bool = False  # it still owns partitions that the coordinator has revoked
    is_held: bool = False
    is_leaving: bool = False
    _printed: tuple[int, int] = (0, 0)  # how many beginnings and commits `new_events` has returned

    @property
    def name(self) -> str:
        return f"m{self.app.process}"

    def new_events(self) -> list[str]:
        """Returns sentences on the events of this member since the previous call of this method.

        For each partition that the member began to process, one sentence has the first position.
        For each epoch and partition, one sentence has the latest committed position.
        """
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

    def resumes(
        self, epoch: int, committed: Mapping[TopicPartition, Offset | None], ns: int
    ) -> None:
        """Begins to process each assigned partition at its committed position, or at 0 if the
        partition has no committed position.

        `committed` maps each assigned partition to its committed position, or to None. `ns` is the
        time at which the member requested the positions.
        """
        for place, offset in committed.items():
            self.positions[place] = offset or Offset(0)
            began = Began(
                member=self.name,
                epoch=epoch,
                partition=str(place),
                requested_ns=ns,
                at_ns=self.app.now_ns,
                position=self.positions[place],
            )
            self.began.append(began)

    def works(self) -> Steps:
        """Raises the member's position in each partition by 1, and waits while the member is
        paused.
        """
        yield Pause(WORK_MS)
        self.positions = {place: Offset(at + 1) for place, at in self.positions.items()}
        while self.is_held:
            yield Pause(WORK_MS)

    def commits(
        self,
        epoch: int,
        commit: Callable[[Positions], Generator[Call | Pause, Response | None, bool]],
    ) -> Steps:
        """Commits the positions, and adds them to the list `committed` if the coordinator accepts
        them.

        The function `commit` sends the positions, and returns True if the coordinator accepts them.
        """
        positions, requested_ns = dict(self.positions), self.app.now_ns
        if positions and (yield from commit(positions)):
            self.committed += [
                Committed(
                    member=self.name,
                    epoch=epoch,
                    partition=str(place),
                    requested_ns=requested_ns,
                    at_ns=self.app.now_ns,
                    position=position,
                )
                for place, position in positions.items()
            ]


def classic(worker: Worker) -> Program:
    """Runs a member of a classic group. The member revokes all its partitions at each rebalance."""
    brokers = BrokerClient(app=worker.app)
    member = classic_member.Member(app=worker.app, brokers=brokers, group=GROUP, topic=TOPIC)
    while not worker.is_leaving:
        if not (yield from member.ensure_membership()):
            worker.positions = {}
            requested_ns = worker.app.now_ns
            committed = yield from member.committed()
            worker.resumes(member.generation, committed, requested_ns)
        yield from worker.works()
        yield from worker.commits(member.generation, member.commit)
    worker.positions = {}
    yield from member.leave()


def consumer(worker: Worker) -> Program:
    """Runs a member of a KIP-848 group. The member commits its positions before it revokes
    partitions.
    """
    brokers = BrokerClient(app=worker.app)
    member = consumer_member.Member(app=worker.app, brokers=brokers, group=GROUP, topic=TOPIC)
    while not worker.is_leaving:
        yield from member.heartbeat()
        worker.must_revoke = bool(member.to_revoke)
        yield from worker.works()
        yield from worker.commits(member.epoch, member.commit)
        yield from member.revoke()
        worker.positions = {p: at for p, at in worker.positions.items() if p in member.owned}
        epoch, requested_ns = member.epoch, worker.app.now_ns
        if new := member.begin():
            committed = yield from member.committed(new)
            worker.resumes(epoch, committed, requested_ns)
    worker.positions = {}
    yield from member.leave()


def by_hand(worker: Worker) -> Program:
    """Runs a consumer that never joins the group. It processes all partitions, and commits
    offsets for the group.
    """
    brokers = BrokerClient(app=worker.app)
    outsider = classic_member.Member(app=worker.app, brokers=brokers, group=GROUP, topic=TOPIC)
    outsider.owned = PARTITIONS
    requested_ns = worker.app.now_ns
    committed = yield from outsider.committed()
    worker.resumes(outsider.generation, committed, requested_ns)
    while not worker.is_leaving:
        yield from worker.works()
        yield from worker.commits(outsider.generation, outsider.commit)
    worker.positions = {}
