"""Counterexamples of buggy replication, replayed on a simulated cluster with the same bug.

Each row has the spec and its variant (the spec with a seeded bug), the bug of the broker, and the
claim that the counterexample violates:

    spec and variant                       bug of the broker            claim
    replication truncate-to-hw             truncate-to-high-watermark   isr_has_what_is_committed
    idempotence-abstract any-sequence      no-dedup                     in_order_without_duplicates
    idempotence-abstract unclean-election  none                         acknowledged_is_durable

The counterexample of the last row needs no bug of the broker, but a cluster that allows unclean
elections.

The harness is a cluster of three brokers with one producer. For each action, the harness changes
the cluster, or waits until the cluster has made the change by itself. The state of the spec is read
from the logs of the brokers and from the controller's ISR.

Simplified: in the model, the leader may change at any time. In the cluster, the leader changes when
it crashes, or when all brokers in the ISR crash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.idempotence_abstract.versions import IdempotentProducer
from model.language.interpreter import Cell, Value
from model.replication_abstract.claims import AbstractReplication
from model.vocabulary import BrokerId
from properties.refinement.behaviour import ANY
from properties.refinement.broker_idempotence import Stamps
from properties.refinement.log_entries import Messages
from reference_impl.broker.broker import Broker
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.bugs import Bug
from reference_impl.protocol.messages import NO_BROKER, NodeId
from reference_impl.simulation.cluster import TOPIC_PARTITION, Cluster
from reference_impl.simulation.faults import Lose, On
from tests.properties.refinement.replays.replay import Defect, Reading, Replay, with_bug

WAIT_MS: Final = 5_000
LAGGARD: Final = 2  # index of the broker that is out of sync where a replay needs one


@dataclass(slots=True)
class ReplicationHarness:
    cluster: Cluster
    producer: NodeId
    sent: int = 0
    committed: PartitionLog = PartitionLog()  # noqa: RUF009 - a frozen value

    @classmethod
    def of(cls, cluster: Cluster) -> ReplicationHarness:
        harness = cls(cluster, cluster.add_producer())
        cluster.run_for(50)
        return harness

    def send(self) -> None:
        leader = self.cluster.leader()
        end = self.cluster.log(leader).end_offset
        self.cluster.send(self.producer, f"v{self.sent}")
        self.sent += 1
        self.cluster.run_until(lambda: self.cluster.log(leader).end_offset > end, WAIT_MS)

    def send_without_acknowledgement(self) -> None:
        self.cluster.apply(On(api="Produce", moment="after", does=Lose()))
        self.send()

    def commit(self) -> None:
        """Waits until the leader's high watermark has reached the end of the leader's log.

        When the function returns, no follower knows the new high watermark yet.
        """
        leader = self.cluster.leader()
        self.cluster.run_until(lambda: _all_committed(self.log_in_memory(leader)), WAIT_MS)
        self.committed = self.log_in_memory(leader)

    def log_in_memory(self, broker: BrokerId) -> PartitionLog:
        """Returns a broker's log with its current high watermark, which may be higher than the high
        watermark on its disk. If no event of the broker is traced, the log is empty.
        """
        for traced in reversed(self.cluster.trace.events):
            if traced.node == NodeId(broker) and isinstance(traced.after, Broker):
                return traced.after.replicas[TOPIC_PARTITION].log
        return PartitionLog()

    def retry(self) -> None:
        self.cluster.run_for(1_000)

    def lose_leader(self) -> None:
        leader = self.cluster.leader()
        self.cluster.crash(leader)
        others = {leader, NO_BROKER}
        self.cluster.run_until(
            lambda: self.cluster.leader() not in others and self.cluster.is_led(), WAIT_MS
        )
        self.cluster.run_for(0)  # until the end of this ms, before any follower fetches

    def isolate_one(self) -> None:
        broker = self.cluster.broker_ids[LAGGARD]
        self.cluster.isolate(broker)
        self.cluster.run_until(lambda: broker not in self.cluster.in_sync(), WAIT_MS)

    def lose_isr(self) -> None:
        """Crashes all brokers in the ISR, and waits until the broker outside of the ISR is elected
        leader.
        """
        self.committed = self.log_in_memory(self.cluster.leader())
        for broker in self.cluster.in_sync():
            self.cluster.crash(broker)
        self.cluster.heal()
        laggard = self.cluster.broker_ids[LAGGARD]
        self.cluster.run_until(
            lambda: self.cluster.leader() == laggard and self.cluster.is_led(), WAIT_MS
        )


def _all_committed(log: PartitionLog) -> bool:
    return log.high_watermark == log.end_offset


def _start(defect: Defect) -> ReplicationHarness:
    return ReplicationHarness.of(
        Cluster(
            min_insync_replicas=1,
            bugs=defect.bugs,
            unclean_leader_election=defect.unclean_election,
        )
    )


# ---------------------------------------------------------------- brokers read as specs


def read_replicas(harness: ReplicationHarness) -> Reading:
    """Returns the logs of all brokers and the controller's ISR as a state of abstract
    replication.
    """
    cluster, messages = harness.cluster, Messages()
    logs = [cluster.log(broker) for broker in cluster.broker_ids]
    ends = [log.end_offset for log in (*logs, harness.committed)]
    cells: dict[Cell, Value] = {
        ("newest", ()): cluster.leader_epoch(),
        ("committed_end", ()): harness.committed.high_watermark,
    }
    for r, (broker, log) in enumerate(zip(cluster.broker_ids, logs, strict=True)):
        cells["isr", (cluster.leader_epoch(), r)] = broker in cluster.in_sync()
        cells["replica.end_offset", (r,)] = log.end_offset
        for offset, leader_epoch, message in messages.of(log):
            cells["replica.entry.leader_epoch", (r, offset)] = leader_epoch
            cells["replica.entry.message", (r, offset)] = message
    for offset, leader_epoch, message in messages.of(harness.committed):
        cells["committed.leader_epoch", (offset,)] = leader_epoch
        cells["committed.message", (offset,)] = message
    sorts = {
        "Replica": range(len(logs)),
        "LeaderEpoch": range(cluster.leader_epoch() + 1),
        "Offset": range(max(ends) + 1),
        "Message": ANY,
    }
    return Reading(AbstractReplication(), cells, sorts)


def read_leaders_log(harness: ReplicationHarness) -> Reading:
    """Returns the leader's log and the acknowledged records as a state of `idempotence-abstract`.

    If the partition has no leader, the committed records replace the leader's log.
    """
    cluster, stamps = harness.cluster, Stamps()
    log = cluster.log(cluster.leader()) if cluster.leader() != NO_BROKER else harness.committed
    held, acknowledged = stamps.in_log(log), stamps.in_log(harness.committed)
    names = ("producer", "producer_epoch", "sequence")
    cells: dict[Cell, Value] = {
        (f"stamp.{name}", (offset,)): value
        for offset, stamp in held.items()
        for name, value in zip(names, stamp, strict=True)
    }
    # The claim is about records that the leader lacks, so all that it has may count as committed.
    cells["end_offset", ()] = cells["high_watermark", ()] = log.end_offset
    everyone = {*held.values(), *acknowledged.values()}
    sorts = {
        "Producer": range(len(stamps.numbers)),
        "ProducerEpoch": range(max(s.producer_epoch for s in everyone) + 1),
        "Sequence": range(max(s.sequence for s in everyone) + 1),
        "Offset": range(max(log.end_offset, 1)),
    }
    for p in sorts["Producer"]:
        for e in sorts["ProducerEpoch"]:
            for q in sorts["Sequence"]:
                cells["acked", (p, e, q)] = (p, e, q) in acknowledged.values()
    return Reading(IdempotentProducer(), cells, sorts)


# ---------------------------------------------------------------- the table

ELECTION_STEPS: Final = frozenset({
    "init", "controller_elect_leader", "controller_shrink_isr", "become_leader",
    "follower_replicate",
})  # fmt: skip
REPLAYS: Final = (
    Replay(
        spec="replication",
        variant="truncate-to-hw",
        claim="isr_has_what_is_committed",
        defect=with_bug(Bug.TRUNCATE_TO_HIGH_WATERMARK),
        start=_start,
        effects={
            "leader_write": (ReplicationHarness.send,),
            "leader_inc_high_watermark": (ReplicationHarness.commit,),
            # The cluster starts in the first leader epoch; in the second, the old leader has died.
            "become_follower": (lambda _: None, ReplicationHarness.lose_leader),
        },
        by_itself=ELECTION_STEPS,
        read=read_replicas,
    ),
    Replay(
        spec="idempotence-abstract",
        variant="any-sequence",
        claim="in_order_without_duplicates",
        defect=with_bug(Bug.NO_DEDUP),
        start=_start,
        effects={
            "append_first": (ReplicationHarness.send_without_acknowledgement,),
            "append_next": (ReplicationHarness.retry,),
        },
        read=read_leaders_log,
    ),
    Replay(
        spec="idempotence-abstract",
        variant="unclean-election",
        claim="acknowledged_is_durable",
        defect=Defect(unclean_election=True),
        start=_start,
        effects={
            "init": (ReplicationHarness.isolate_one,),
            "append_first": (ReplicationHarness.send,),
            "advance_high_watermark": (ReplicationHarness.commit,),
            "change_leader": (ReplicationHarness.lose_isr,),
        },
        by_itself=frozenset({"acknowledge"}),
        read=read_leaders_log,
    ),
)
