"""Simulated applications in a KIP-848 group share partitions, take them over, and are fenced."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from model.vocabulary import Offset, TopicPartition
from reference_impl.protocol.controller import CreateTopic
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.cluster import QUICK, Cluster
from reference_impl.simulation.consumer_member import Member
from reference_impl.simulation.programs import Application, Pause, Program

TOPIC = "tasks"
PATIENCE = replace(QUICK, member_session_ms=300, member_heartbeat_ms=50)


@dataclass
class Worker:
    """A group member that tests can delay; `commits` has the result of each commit."""

    cluster: Cluster
    is_held: bool = False
    is_leaving: bool = False
    commits: list[bool] = field(default_factory=list)
    resumed: dict[TopicPartition, Offset | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.at = self.cluster.run_program(self.program)

    def program(self, app: Application) -> Program:
        self.member = Member(app=app, brokers=BrokerClient(app=app), group="workers", topic=TOPIC)
        return self.runs()

    def runs(self) -> Program:
        while not self.is_leaving:
            yield from self.member.heartbeat()
            yield from self.member.revoke()
            if new := self.member.begin():
                self.resumed |= yield from self.member.committed(new)
            yield Pause(20)
            while self.is_held:
                yield Pause(20)
            if self.member.owned:
                positions = dict.fromkeys(self.member.owned, Offset(7))
                self.commits.append((yield from self.member.commit(positions)))
        yield from self.member.leave()

    @property
    def part(self) -> list[int]:
        return [place.index for place in self.member.owned]


def cluster_with_tasks() -> Cluster:
    cluster = Cluster(broker_settings=PATIENCE)
    cluster.create_topic(CreateTopic(topic=TOPIC, topic_partitions=2, replication_factor=3))
    return cluster


def test_members_share_partitions_and_take_over_from_one_that_dies() -> None:
    cluster = cluster_with_tasks()
    m, n = Worker(cluster), Worker(cluster)
    assert cluster.run_until(lambda: len(m.part) == len(n.part) == 1, 2_000)
    assert m.part != n.part
    cluster.run_until(lambda: bool(n.commits), 200)
    (moves,) = n.member.owned
    cluster.kill(n.at)
    assert cluster.run_until(lambda: m.part == [0, 1], 2_000)
    cluster.run_for(50)
    assert m.resumed[moves] == 7


def test_a_group_does_not_wait_for_a_member_that_left() -> None:
    cluster = cluster_with_tasks()
    m, n = Worker(cluster), Worker(cluster)
    cluster.run_until(lambda: len(m.part) == len(n.part) == 1, 2_000)
    n.is_leaving = True
    assert cluster.run_until(lambda: m.part == [0, 1], 200)
    assert cluster.is_over(n.at)


def test_a_zombie_is_fenced_and_joins_again() -> None:
    cluster = cluster_with_tasks()
    m, n = Worker(cluster), Worker(cluster)
    cluster.run_until(lambda: len(m.part) == len(n.part) == 1, 2_000)
    m.is_held = True
    assert cluster.run_until(lambda: n.part == [0, 1], 2_000)
    assert m.part  # as it thinks
    m.commits.clear()
    m.is_held = False
    assert cluster.run_until(lambda: bool(m.commits), 200)
    assert m.commits == [False]
    assert cluster.run_until(lambda: len(m.part) == len(n.part) == 1, 2_000)


def test_owners_keep_their_partitions_when_the_coordinator_dies() -> None:
    cluster = cluster_with_tasks()
    m = Worker(cluster)
    cluster.run_until(lambda: m.part == [0, 1], 2_000)
    epoch = m.member.epoch
    (coordinator,) = m.member.brokers.coordinators.values()
    cluster.crash(next(broker for broker in cluster.broker_ids if int(broker) == int(coordinator)))
    cluster.run_for(1_500)
    assert (m.part, m.member.epoch) == ([0, 1], epoch)
    assert m.commits[-1]
