"""Counterexamples of buggy specs, run on the broker with that bug: the same claim breaks there.

A counterexample is a list of actions. A table says for each action what is done to a simulated
cluster, or what is waited for; the rest happens by itself. Then the claim of the spec, its own
formula, is read in what the brokers have. Without the bug the same plan leaves it true.

    replication truncate-to-hw         truncate-to-high-watermark    isr_has_what_is_committed
    idempotence-abstract any-sequence  no-dedup                      in_order_without_duplicates
    ... unclean-election               (unclean elections, allowed)  acknowledged_is_durable

Simplified: a model moves leadership when it likes; here the leader dies, or all that are in sync.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from model.idempotence_abstract.versions import IdempotentProducer
from model.language.interpreter import Cell, Interpreter, Value
from model.language.spec import Spec
from model.replication_abstract.claims import AbstractReplication
from model.vocabulary import BrokerId
from properties.refinement.behaviour import ANY
from properties.refinement.broker_idempotence import Stamps
from properties.refinement.log_entries import Messages
from reference_impl.broker.broker import Broker
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.protocol.messages import NO_BROKER, NodeId
from reference_impl.simulation.cluster import TOPIC_PARTITION, Cluster
from reference_impl.simulation.faults import Lose, On

WAIT_MS: Final = 5_000
LAGGARD: Final = 2  # of the brokers: it is out of sync when the plan needs somebody to be


@dataclass(slots=True)
class Stage:
    """A cluster with one producer, on which a plan is carried out."""

    cluster: Cluster
    producer: NodeId
    sent: int = 0
    committed: PartitionLog = PartitionLog()  # noqa: RUF009 - a frozen value

    def send(self) -> None:
        """The leader has one more record."""
        leader = self.cluster.leader()
        end = self.cluster.log(leader).end_offset
        self.cluster.send(self.producer, f"v{self.sent}")
        self.sent += 1
        self.cluster.run_until(lambda: self.cluster.log(leader).end_offset > end, WAIT_MS)

    def send_unheard(self) -> None:
        """The same, and the producer is not told."""
        self.cluster.apply(On(api="Produce", moment="after", does=Lose()))
        self.send()

    def commit(self) -> None:
        """The leader's high watermark has reached its end, and nobody has heard of it."""
        leader = self.cluster.leader()
        self.cluster.run_until(lambda: _all_committed(self.live(leader)), WAIT_MS)
        self.committed = self.live(leader)

    def live(self, broker: BrokerId) -> PartitionLog:
        """The log in the memory of a broker, with the high watermark that no disk has yet."""
        for traced in reversed(self.cluster.trace.events):
            if traced.node == NodeId(broker) and isinstance(traced.after, Broker):
                return traced.after.replicas[TOPIC_PARTITION].log
        return PartitionLog()

    def retry(self) -> None:
        """The producer gives its request up, and sends it again."""
        self.cluster.run_for(1_000)

    def move(self) -> None:
        """The leader dies, and the others meet the one that follows it."""
        leader = self.cluster.leader()
        self.cluster.crash(leader)
        others = {leader, NO_BROKER}
        self.cluster.run_until(
            lambda: self.cluster.leader() not in others and self.cluster.is_led(), WAIT_MS
        )
        self.cluster.run_for(0)  # to the end of this very ms: nobody has fetched yet

    def lag(self) -> None:
        """One broker hears nothing of the others and of what comes."""
        broker = self.cluster.broker_ids[LAGGARD]
        self.cluster.isolate(broker)
        self.cluster.run_until(lambda: broker not in self.cluster.in_sync(), WAIT_MS)

    def lose_those_in_sync(self) -> None:
        """Only the broker that lags is left."""
        self.committed = self.live(self.cluster.leader())
        for broker in self.cluster.in_sync():
            self.cluster.crash(broker)
        self.cluster.heal()
        laggard = self.cluster.broker_ids[LAGGARD]
        self.cluster.run_until(
            lambda: self.cluster.leader() == laggard and self.cluster.is_led(), WAIT_MS
        )


def _all_committed(log: PartitionLog) -> bool:
    return log.high_watermark == log.end_offset


Staged = TypeVar("Staged")
Deed = Callable[[Stage], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A variant of a spec, the switch of the broker, and what its actions are there."""

    spec: str
    variant: str
    bugs: Bugs = NO_BUGS
    unclean: bool = False
    deeds: Mapping[str, tuple[Deed, ...]]  # the n-th time; later ones, and others, by themselves
    claim: str
    holds: Callable[[Stage, str], bool]

    def replayed(self, actions: Iterable[str], *, with_bug: bool) -> bool:
        """Whether the claim is true at the end of the plan that the actions make."""
        cluster = Cluster(
            min_insync_replicas=1,
            bugs=self.bugs if with_bug else NO_BUGS,
            unclean_leader_election=self.unclean and with_bug,
        )
        stage = Stage(cluster, cluster.add_producer())
        cluster.run_for(50)
        carry_out(actions, self.deeds, stage)
        return self.holds(stage, self.claim)


def carry_out(
    actions: Iterable[str],
    deeds: Mapping[str, tuple[Callable[[Staged], None], ...]],
    stage: Staged,
) -> None:
    """Each action is done on the stage: the n-th time, the n-th of its deeds."""
    times: dict[str, int] = {}
    for action in actions:
        turn = times.get(action, 0)
        times[action] = turn + 1
        for deed in deeds.get(action, ())[turn : turn + 1]:
            deed(stage)


# ---------------------------------------------------------------- the claims, read on brokers


def in_replicas(stage: Stage, claim: str) -> bool:
    """A claim of abstract replication, in the logs of all brokers and the controller's ISR."""
    cluster, messages = stage.cluster, Messages()
    logs = [cluster.log(broker) for broker in cluster.broker_ids]
    ends = [log.end_offset for log in (*logs, stage.committed)]
    cells: dict[Cell, Value] = {
        ("newest", ()): cluster.leader_epoch(),
        ("committed_end", ()): stage.committed.high_watermark,
    }
    for r, (broker, log) in enumerate(zip(cluster.broker_ids, logs, strict=True)):
        cells["isr", (cluster.leader_epoch(), r)] = broker in cluster.in_sync()
        cells["replica.end_offset", (r,)] = log.end_offset
        for offset, leader_epoch, message in messages.of(log):
            cells["replica.entry.leader_epoch", (r, offset)] = leader_epoch
            cells["replica.entry.message", (r, offset)] = message
    for offset, leader_epoch, message in messages.of(stage.committed):
        cells["committed.leader_epoch", (offset,)] = leader_epoch
        cells["committed.message", (offset,)] = message
    sorts = {
        "Replica": range(len(logs)),
        "LeaderEpoch": range(cluster.leader_epoch() + 1),
        "Offset": range(max(ends) + 1),
        "Message": ANY,
    }
    return is_true(AbstractReplication(), claim, sorts, cells)


def in_leaders_log(stage: Stage, claim: str) -> bool:
    """A claim of the abstract idempotent producer, in the leader's log and what was acknowledged.

    Acknowledged is what was committed when the producer was told; while nobody leads, nothing of
    it is lost.
    """
    cluster, stamps = stage.cluster, Stamps()
    log = cluster.log(cluster.leader()) if cluster.leader() != NO_BROKER else stage.committed
    held, told = stamps.in_log(log), stamps.in_log(stage.committed)
    names = ("producer", "producer_epoch", "sequence")
    cells: dict[Cell, Value] = {
        (f"stamp.{name}", (offset,)): value
        for offset, stamp in held.items()
        for name, value in zip(names, stamp, strict=True)
    }
    # What the leader has is as good as committed: the claim is about what it has not.
    cells["end_offset", ()] = cells["high_watermark", ()] = log.end_offset
    everyone = {*held.values(), *told.values()}
    sorts = {
        "Producer": range(len(stamps.numbers)),
        "ProducerEpoch": range(max(s.producer_epoch for s in everyone) + 1),
        "Sequence": range(max(s.sequence for s in everyone) + 1),
        "Offset": range(max(log.end_offset, 1)),
    }
    for p in sorts["Producer"]:
        for e in sorts["ProducerEpoch"]:
            for q in sorts["Sequence"]:
                cells["acked", (p, e, q)] = (p, e, q) in told.values()
    return is_true(IdempotentProducer(), claim, sorts, cells)


def is_true(
    spec: Spec, claim: str, sorts: Mapping[str, range], cells: Mapping[Cell, Value]
) -> bool:
    """The claim, by the formula of the spec, where the cells are what brokers have."""
    interpreter = Interpreter({"Bool": range(2), **sorts})
    (formula,) = (c.formula for c in spec.claims if c.name == claim)
    return interpreter.holds(formula, cells)


# ---------------------------------------------------------------- the table

REPLAYS: Final = (
    Replay(
        spec="replication",
        variant="truncate-to-hw",
        bugs=frozenset({Bug.TRUNCATE_TO_HIGH_WATERMARK}),
        deeds={
            "leader_write": (Stage.send,),
            "leader_inc_high_watermark": (Stage.commit,),
            # in the first leader epoch the cluster begins; in the second, who led has died
            "become_follower": (lambda _: None, Stage.move),
        },
        claim="isr_has_what_is_committed",
        holds=in_replicas,
    ),
    Replay(
        spec="idempotence-abstract",
        variant="any-sequence",
        bugs=frozenset({Bug.NO_DEDUP}),
        deeds={"append_first": (Stage.send_unheard,), "append_next": (Stage.retry,)},
        claim="in_order_without_duplicates",
        holds=in_leaders_log,
    ),
    Replay(
        spec="idempotence-abstract",
        variant="unclean-election",
        unclean=True,
        deeds={
            "init": (Stage.lag,),
            "append_first": (Stage.send,),
            "advance_high_watermark": (Stage.commit,),
            "change_leader": (Stage.lose_those_in_sync,),
        },
        claim="acknowledged_is_durable",
        holds=in_leaders_log,
    ),
)
