"""Runs to be validated: producers and consumers, or transactions, under faults drawn from the seed.

In the runs of `transactional`, at most one broker is down at a time. In those of `replicated`, all
brokers may be down, so a leader epoch may have no leader. If the ISR is empty, the last known
leader may be elected. Trace validation rejects this election, because the spec has no such step.

Simplified: no power losses, no replaced disks and no deletion: the specs have no such actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final, Literal

from model.vocabulary import BrokerId, TopicPartition
from properties.refinement.broker_idempotence import BrokerIdempotence
from properties.refinement.broker_replication import BrokerReplication
from properties.refinement.broker_transactions import BrokerTransactions
from properties.refinement.trace_validation import Refinement, Validated, validate
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.broker_client import BrokerClient
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
from reference_impl.simulation.producer_config import ProducerConfig
from reference_impl.simulation.programs import CALL_MS, Application, Pause, Program
from reference_impl.simulation.runs import Scenario, draw_faults, run
from reference_impl.simulation.trace import Traced
from reference_impl.simulation.transactional_producer import TransactionalProducer
from tests.properties.refinement.mutants import partitions
from tests.properties.refinement.mutants import transactions as transaction_mutants
from tests.properties.refinement.mutants.runs import Mutant, Mutations, mutants

Events = tuple[Traced, ...]
BROKERS: Final = tuple(map(BrokerId, (1, 2, 3)))
PAIR_PARTITIONS: Final = (TopicPartition("pairs", 0), TopicPartition("pairs", 1))
_LATE: Final[tuple[tuple[str, Literal["before", "after"]], ...]] = (
    ("WriteTxnMarker", "before"),
    ("WriteTxnMarker", "before"),
    ("AddPartitionsToTxn", "after"),
    ("EndTxn", "before"),
)


def replicated(seed: int, bugs: Bugs = NO_BUGS, *, sends: int = 60, faults: int = 8) -> Events:
    """Returns the events of a simulation with faults drawn from the seed.

    Raises NoProgress if the cluster does not recover.
    """
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
    rng = Random(f"any {seed}")
    plan: list[At] = []
    for number in range(1, count + 1):
        broker, other = rng.choice(BROKERS), rng.choice(BROKERS)
        fault = rng.choice((
            Crash(broker), Restart(broker), Restart(broker), Isolate(broker), Heal(), Heal(),
            OneWaySplit(NodeId(broker), NodeId(other)),
        ))  # fmt: skip
        plan.append(At(number * every_ms + rng.randrange(every_ms), fault))
    return tuple(plan)


def transactional(seed: int, bugs: Bugs = NO_BUGS, *, transactions: int = 8) -> Events:
    """Returns the events of a simulation: two transactional ids on two topic partitions.

    Some seeds also start a second instance of a transactional id.
    """
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
    _with_pairs(cluster)
    for fault in _delays(seed):
        cluster.apply(fault)
    programs = [cluster.run_program(_pairs(name, seed, transactions)) for name in "xy"]
    start_ms = cluster.now_ms
    for planned in draw_faults(seed, BROKERS, count=4, every_ms=200):
        cluster.run_for(start_ms + planned.at_ms - cluster.now_ms)
        cluster.apply(planned.fault)
        if seed % 3 == 0 and len(programs) == 2:
            programs.append(cluster.run_program(_pairs("x", seed + 1_000, transactions // 2)))
    cluster.recover()
    cluster.run_until(lambda: all(map(cluster.is_over, programs)), 30_000)
    return tuple(cluster.trace.events)


def _with_pairs(cluster: Cluster) -> Cluster:
    cluster.create_topic(
        CreateTopic(topic="pairs", topic_partitions=2, replication_factor=3, min_insync_replicas=2)
    )
    return cluster


def _delays(seed: int) -> tuple[On, ...]:
    rng = Random(f"held {seed}")
    return tuple(
        On(
            api=api,
            occurrence=1 + rng.randrange(8),
            count=1 + rng.randrange(3),
            moment=moment,
            does=Hold(50 + rng.randrange(400)),
        )
        for api, moment in _LATE
    )


def _pairs(name: str, seed: int, transactions: int) -> Callable[[Application], Program]:
    def conduct(app: Application) -> Program:
        rng, number = Random(f"{name} {seed}"), 0
        brokers = BrokerClient(app=app)
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
                for topic_partition in rng.sample(PAIR_PARTITIONS, 1 + rng.randrange(2)):
                    yield from producer.send(topic_partition, f"{name}{number}")
                if rng.randrange(4) == 0:
                    yield Pause(rng.randrange(600))
                yield from producer.abort() if rng.randrange(3) == 0 else producer.commit()
                if rng.randrange(6) == 0:
                    break

    return conduct


def late(seed: int, bugs: Bugs = NO_BUGS, *, what: On, call_ms: int = CALL_MS) -> Events:
    """Returns a run in which a message of one transaction arrives during the next transaction.

    `what` is the fault that delays the message.
    """
    cluster = _with_pairs(Cluster(seed=seed, min_insync_replicas=2, bugs=bugs))
    cluster.run_for(100)
    cluster.apply(what)

    def conduct(app: Application) -> Program:
        producer = TransactionalProducer(
            app=app, brokers=BrokerClient(app=app), transactional_id="x", call_ms=call_ms
        )
        yield from producer.init_transactions()
        for number in range(3):
            producer.begin()
            for topic_partition in PAIR_PARTITIONS:
                yield from producer.send(topic_partition, f"x{number}")
            yield Pause(370 * (number == 1))
            yield from producer.commit()
            yield Pause(370 * (number == 0))

    program = cluster.run_program(conduct)
    cluster.run_until(lambda: cluster.is_over(program), 20_000)
    return tuple(cluster.trace.events)


_MARKERS: Final = On(api="WriteTxnMarker", topic="pairs", count=2, moment="before", does=Hold(550))
_END: Final = On(api="EndTxn", moment="before", does=Hold(700))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioKind:
    """A kind of simulated runs, the specs that validate them, and the mutations that test
    validation.
    """

    make: Callable[..., Events]  # takes a seed and seeded bugs
    topic_partitions: tuple[TopicPartition, ...]
    mutations: tuple[Mutations, ...]
    transactions: bool = False

    def mappings(self, events: Events) -> dict[str, Refinement]:
        """Returns, for each spec that covers the run, an object that maps events to actions.

        The keys are the names of the specs, such as `transactions-abstract`.
        """
        found: dict[str, Refinement] = {}
        for topic_partition in self.topic_partitions:
            of = f" of {topic_partition}" if len(self.topic_partitions) > 1 else ""
            found[f"replication-abstract{of}"] = BrokerReplication.of(topic_partition, events)
            found[f"idempotence-abstract{of}"] = BrokerIdempotence.of(topic_partition, events)
        if self.transactions:
            found["transactions-abstract"] = BrokerTransactions.of(events)
        return found

    def mutants(self, events: Events, rng: Random, per_kind: int) -> Iterator[Mutant]:
        for mutations in self.mutations:
            yield from mutants(events, mutations, rng, per_kind)


_WITH_ORDERS: Final = (partitions.mutations_of(TOPIC_PARTITION),)
_WITH_PAIRS: Final = (
    *map(partitions.mutations_of, PAIR_PARTITIONS),
    transaction_mutants.mutations_of(PAIR_PARTITIONS),
)
SCENARIOS: Final[Mapping[str, ScenarioKind]] = {
    "replicated": ScenarioKind(
        make=replicated, topic_partitions=(TOPIC_PARTITION,), mutations=_WITH_ORDERS
    ),
    "transactional": ScenarioKind(
        make=transactional,
        topic_partitions=PAIR_PARTITIONS,
        mutations=_WITH_PAIRS,
        transactions=True,
    ),
    "late markers": ScenarioKind(
        make=partial(late, what=_MARKERS),
        topic_partitions=PAIR_PARTITIONS,
        mutations=_WITH_PAIRS,
        transactions=True,
    ),
    "late ends": ScenarioKind(
        make=partial(late, what=_END, call_ms=100),
        topic_partitions=PAIR_PARTITIONS,
        mutations=_WITH_PAIRS,
        transactions=True,
    ),
}


def validate_scenario(scenario: str, events: Events) -> dict[str, Validated]:
    """Validates the run against every spec that covers it; returns the results by spec."""
    mappings = SCENARIOS[scenario].mappings(events)
    return {spec: validate(mapping, events) for spec, mapping in mappings.items()}


__all__ = [
    "BROKERS",
    "SCENARIOS",
    "ScenarioKind",
    "late",
    "replicated",
    "transactional",
    "validate_scenario",
]
