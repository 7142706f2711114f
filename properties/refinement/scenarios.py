"""Runs to be followed: producers and consumers, or transactions, under faults drawn from the seed.

Unlike `reference_impl.simulation.runs.faults_drawn`, the faults of `replicated` may take any number
of brokers away at once: epochs without a leader occur.

Simplified: no power losses, no disks replaced, nothing deleted: no action of the specs is that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final, Literal

from model.vocabulary import BrokerId, TopicPartition
from properties.refinement.broker_idempotence import BrokerIdempotence
from properties.refinement.broker_replication import BrokerReplication
from properties.refinement.broker_transactions import BrokerTransactions
from properties.refinement.following import Followed, Refinement, follow
from reference_impl.bugs import NO_BUGS, Bugs
from reference_impl.controller_messages import CreateTopic
from reference_impl.messages import NodeId
from reference_impl.simulation.asking import Brokers
from reference_impl.simulation.cluster import TOPIC_PARTITION, Cluster
from reference_impl.simulation.faults import (
    At,
    Crash,
    Heal,
    Hold,
    Isolate,
    On,
    OneWaySplit,
    Plan,
    Restart,
)
from reference_impl.simulation.network import Conditions
from reference_impl.simulation.producer import ProducerConfig
from reference_impl.simulation.programs import Application, Pause, Program
from reference_impl.simulation.runs import Scenario, faults_drawn, run
from reference_impl.simulation.trace import Traced
from reference_impl.simulation.transactional import TransactionalProducer

Events = tuple[Traced, ...]
BROKERS: Final = tuple(map(BrokerId, (1, 2, 3)))
PLACES: Final = (TopicPartition("pairs", 0), TopicPartition("pairs", 1))
_LATE: Final[tuple[tuple[str, Literal["before", "after"]], ...]] = (
    ("WriteTxnMarker", "before"),
    ("WriteTxnMarker", "before"),
    ("AddPartitionsToTxn", "after"),
    ("EndTxn", "before"),
)


def replicated(seed: int, bugs: Bugs = NO_BUGS, *, sends: int = 60, faults: int = 8) -> Events:
    """Two producers and a consumer of one topic partition; NoProgress."""
    scenario = Scenario(
        seed=seed,
        sends=sends,
        min_insync_replicas=1 + seed % 2,
        faults=_any_faults(seed, faults),
        conditions=Conditions(
            jitter_ms=seed % 4, loss=3 * (seed % 3 == 2), doubling=5 * (seed % 2)
        ),
        producers=(ProducerConfig(), ProducerConfig()),
        bugs=bugs,
    )
    return tuple(run(scenario).trace.events)


def _any_faults(seed: int, count: int, every_ms: int = 120) -> Plan:
    coins = Random(f"any {seed}")
    plan: list[At] = []
    for number in range(1, count + 1):
        broker, other = coins.choice(BROKERS), coins.choice(BROKERS)
        fault = coins.choice((
            Crash(broker), Restart(broker), Restart(broker), Isolate(broker), Heal(), Heal(),
            OneWaySplit(NodeId(broker), NodeId(other)),
        ))  # fmt: skip
        plan.append(At(number * every_ms + coins.randrange(every_ms), fault))
    return tuple(plan)


def transactional(seed: int, bugs: Bugs = NO_BUGS, *, transactions: int = 8) -> Events:
    """Two transactional ids over two topic partitions, at times with a second instance."""
    cluster = Cluster(
        seed=seed,
        min_insync_replicas=2,
        bugs=bugs,
        conditions=Conditions(
            jitter_ms=(1, 3, 20, 40)[seed % 4],
            doubling=20 * (seed % 2),
            overtaking=30 * (seed % 2),
        ),
    )
    cluster.create_topic(
        CreateTopic(topic="pairs", topic_partitions=2, replication_factor=3, min_insync_replicas=2)
    )
    for fault in _held(seed):
        cluster.apply(fault)
    programs = [cluster.run_program(_pairs(name, seed, transactions)) for name in "xy"]
    start_ms = cluster.now_ms
    for planned in faults_drawn(seed, BROKERS, count=4, every_ms=200):
        cluster.run_for(start_ms + planned.at_ms - cluster.now_ms)
        cluster.apply(planned.fault)
        if seed % 3 == 0 and len(programs) == 2:
            programs.append(cluster.run_program(_pairs("x", seed + 1_000, transactions // 2)))
    cluster.recover()
    cluster.run_until(lambda: all(map(cluster.is_over, programs)), 30_000)
    return tuple(cluster.trace.events)


def _held(seed: int) -> tuple[On, ...]:
    """Markers, answers of verification and ends of transactions that come too late."""
    coins = Random(f"held {seed}")
    return tuple(
        On(
            api=api,
            occurrence=1 + coins.randrange(8),
            count=1 + coins.randrange(3),
            moment=moment,
            does=Hold(50 + coins.randrange(400)),
        )
        for api, moment in _LATE
    )


def _pairs(name: str, seed: int, transactions: int) -> Callable[[Application], Program]:
    """Each transaction writes to one topic partition or both; some rest, some are aborted."""

    def conduct(app: Application) -> Program:
        coins, number = Random(f"{name} {seed}"), 0
        brokers = Brokers(app=app)
        while number < transactions:
            producer = TransactionalProducer(
                app=app,
                brokers=brokers,
                transactional_id=name,
                timeout_ms=400 if seed % 2 else 60_000,
            )
            yield from producer.init_transactions()
            while producer.over is None and number < transactions:
                number += 1
                producer.begin()
                for place in coins.sample(PLACES, 1 + coins.randrange(2)):
                    yield from producer.send(place, f"{name}{number}")
                if coins.randrange(4) == 0:
                    yield Pause(coins.randrange(600))
                yield from producer.abort() if coins.randrange(3) == 0 else producer.commit()
                if coins.randrange(6) == 0:
                    break

    return conduct


REFINEMENTS: Final[Mapping[str, Callable[[Events], Refinement]]] = {
    "replication-abstract": lambda events: BrokerReplication.of(TOPIC_PARTITION, events),
    "idempotence-abstract": lambda events: BrokerIdempotence.of(TOPIC_PARTITION, events),
    "transactions-abstract": BrokerTransactions.of,
}
OF: Final[Mapping[str, tuple[Callable[..., Events], tuple[str, ...]]]] = {
    "replicated": (replicated, ("replication-abstract", "idempotence-abstract")),
    "transactional": (transactional, ("transactions-abstract",)),
}


def judged(scenario: str, events: Events) -> dict[str, Followed]:
    """The run, followed by every spec that speaks of such runs."""
    return {spec: follow(REFINEMENTS[spec](events), events) for spec in OF[scenario][1]}


__all__ = ["BROKERS", "OF", "REFINEMENTS", "judged", "replicated", "transactional"]
