"""Simulated runs as data. A scenario describes a workload with faults, and `run` returns the result
of the scenario.

Equal scenarios have equal results, byte for byte. After the workload, the faults end in one of two
modes:

- *safety*: all faults end.
- *liveness*: the faults end only for a smallest set of brokers that can serve all topic
  partitions. All other brokers are down.

The cluster must then recover within `recovery_ms`, and a reader reads the whole log.

Source: TigerBeetle's simulator (safety and liveness modes).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import Final

from model.histories import History
from model.vocabulary import BrokerId, Offset
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.messages import CONTROLLER, FIRST_CLIENT, NodeId
from reference_impl.simulation import workloads
from reference_impl.simulation.client_libraries import JAVA, LIBRDKAFKA
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.faults import (
    At,
    Crash,
    Die,
    DropResponses,
    Fault,
    Heal,
    Hold,
    Isolate,
    Lose,
    On,
    OneWaySplit,
    Plan,
    PowerLoss,
    ReplaceDisk,
    Restart,
    ShutDown,
)
from reference_impl.simulation.network import CALM, Conditions
from reference_impl.simulation.producer_config import ProducerConfig
from reference_impl.simulation.programs import ProgramFactory
from reference_impl.simulation.trace import Trace

RECOVERY_MS: Final = 20_000
IDEMPOTENT: Final = ProducerConfig()
BATCHING: Final = (
    ProducerConfig(library=JAVA, batch_records=4, linger_ms=25, delivery_timeout_ms=600),
    # Ten times the request timeout, as by default. After a delivery timeout librdkafka may append
    # other records twice, so the faults of a sweep must be shorter.
    ProducerConfig(library=LIBRDKAFKA, batch_records=4, linger_ms=25, delivery_timeout_ms=3_000),
)
FIRST_PRODUCER: Final = NodeId(FIRST_CLIENT + 1)
_NAMES: Final = "abcdefghijklmnopqrstuvwxyz"  # of producers: the first letter of what they send

Kind = Callable[[Random, BrokerId], tuple[Fault, Fault]]  # the fault that begins it, and its end

PROCESSES: Final[tuple[Kind, ...]] = (
    lambda _, broker: (Crash(broker), Restart(broker)),
    lambda _, broker: (Isolate(broker), Heal()),
    lambda coins, _: (DropResponses(FIRST_PRODUCER, 1 + coins.randrange(5)), Heal()),
)
STOPS: Final[tuple[Kind, ...]] = (
    *PROCESSES,
    lambda _, broker: (ShutDown(broker), Restart(broker)),
    lambda coins, broker: (OneWaySplit(NodeId(broker), coins.choice(_peers(broker))), Heal()),
    lambda coins, broker: (OneWaySplit(coins.choice(_peers(broker)), NodeId(broker)), Heal()),
    lambda coins, broker: (
        On(
            target=NodeId(broker),
            api=coins.choice(("Produce", "Fetch", "UpdateMetadata")),
            occurrence=1 + coins.randrange(9),
            moment=coins.choice(("before", "after")),
            does=coins.choice((Lose(), Hold(1 + coins.randrange(400)), Die())),
        ),
        Restart(broker),
    ),
)
LATE_ENDS: Final[tuple[Kind, ...]] = (
    *PROCESSES,
    lambda coins, _: (
        On(
            api=coins.choice(("EndTxn", "WriteTxnMarker")),
            occurrence=1 + coins.randrange(5),
            count=1 + coins.randrange(3),
            moment=coins.choice(("before", "after")),
            does=Hold(1 + coins.randrange(400)),
        ),
        Heal(),
    ),
)
LATE_RECORDS: Final[tuple[Kind, ...]] = (
    *LATE_ENDS,
    lambda coins, _: (
        On(
            api=coins.choice(("Produce", "AddPartitionsToTxn")),
            occurrence=1 + coins.randrange(9),
            count=1 + coins.randrange(3),
            moment=coins.choice(("before", "after")),
            does=Hold(300 + coins.randrange(400)),  # longer than a client waits
        ),
        Heal(),
    ),
)
MACHINES: Final[tuple[Kind, ...]] = (
    lambda coins, broker: (
        PowerLoss(broker, coins.randrange(101), garbled=coins.random() < 0.5),
        Restart(broker),
    ),
    lambda _, broker: (ReplaceDisk(broker), Restart(broker)),
)


def _peers(broker: BrokerId) -> tuple[NodeId, ...]:
    return (CONTROLLER, *(NodeId(other) for other in (1, 2, 3) if other != broker))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The description of a run: a cluster, a workload and faults. Each producer sends one record
    every `send_every_ms`.
    """

    seed: int = 0
    brokers: int = 3
    min_insync_replicas: int = 2
    producers: tuple[ProducerConfig, ...] = (IDEMPOTENT,)
    topics: tuple[CreateTopic, ...] = ()  # in addition to that of the producers
    programs: tuple[ProgramFactory, ...] = ()  # applications that end by themselves
    consumers: int = 1
    sends: int = 50  # of each producer
    send_every_ms: int = 10
    conditions: Conditions = CALM
    faults: Plan = ()
    bugs: Bugs = NO_BUGS
    liveness: bool = False
    recovery_ms: int = RECOVERY_MS

    def __post_init__(self) -> None:
        if len(self.producers) > len(_NAMES):
            raise ValueError(f"{len(self.producers)} producers; at most {len(_NAMES)} are possible")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The result of a run: the history, the records of the topic partition `orders-0` at the end,
    the trace of all events, the number of steps of brokers, and the simulated time.
    """

    history: History  # of all clients, and of the final readers of the whole logs
    log: tuple[tuple[Offset, str], ...]  # as read from the beginning after recovery
    trace: Trace = field(repr=False)  # long
    broker_steps: int
    virtual_ms: int


def run(scenario: Scenario) -> Run:
    """Simulates the scenario, and returns its result. Raises NoProgress if the cluster does not
    recover.
    """
    cluster = Cluster(
        seed=scenario.seed,
        brokers=scenario.brokers,
        min_insync_replicas=scenario.min_insync_replicas,
        conditions=scenario.conditions,
        bugs=scenario.bugs,
    )
    for topic in scenario.topics:
        cluster.create_topic(topic)
    producers = [cluster.add_producer(config) for config in scenario.producers]
    for _ in range(scenario.consumers):
        cluster.add_consumer(end_offset_every=5)
    programs = [cluster.run_program(program_factory) for program_factory in scenario.programs]
    start_ms = cluster.now_ms
    todo: list[tuple[int, Fault | tuple[NodeId, str]]] = [
        (start_ms + number * scenario.send_every_ms, (producer, f"{name}{number}"))
        for number in range(scenario.sends)
        for name, producer in zip(_NAMES, producers, strict=False)
    ]
    todo += [(start_ms + planned.at_ms, planned.fault) for planned in scenario.faults]
    for at_ms, action in sorted(todo, key=lambda entry: entry[0]):
        cluster.run_for(at_ms - cluster.now_ms)
        if isinstance(action, tuple):
            producer, value = action
            cluster.send(producer, value)
        else:
            cluster.apply(action)
    core = draw_core(scenario.seed, cluster) if scenario.liveness else None
    cluster.recover(scenario.recovery_ms, core=core, programs=programs)
    log = cluster.read_all()
    last = [cluster.run_program(workloads.reads(topic)) for topic in scenario.topics]
    cluster.recover(scenario.recovery_ms, core=core, programs=last)
    return Run(
        history=cluster.history(),
        log=log,
        trace=cluster.trace,
        broker_steps=cluster.steps,
        virtual_ms=cluster.now_ms,
    )


def draw_faults(
    seed: int,
    brokers: tuple[BrokerId, ...],
    *,
    count: int,
    every_ms: int,
    kinds: tuple[Kind, ...] = PROCESSES,
) -> Plan:
    """Returns a random plan of `count` faults. About every `every_ms`, a fault of one broker
    begins.

    Each fault ends before the next fault begins, so at most one broker is down. Equal seeds produce
    equal plans.
    """
    coins = Random(f"faults {seed}")
    plan: list[At] = []
    for number in range(1, count + 1):
        broker = coins.choice(brokers)
        begins, ends = coins.choice(kinds)(coins, broker)
        at_ms = number * every_ms + coins.randrange(every_ms // 2)
        plan += [At(at_ms, begins), At(at_ms + coins.randrange(1, every_ms // 2), ends)]
    return tuple(plan)


def draw_core(seed: int, cluster: Cluster) -> tuple[BrokerId, ...]:
    """Returns a smallest set of brokers that can serve all topic partitions while all other brokers
    are down.

    If there are several smallest sets, the seed selects one. If all brokers are needed, the result
    has all brokers.
    """
    coins = Random(f"core {seed}")
    for size in range(1, len(cluster.broker_ids)):
        enough = [*filter(cluster.may_do_alone, combinations(cluster.broker_ids, size))]
        if enough:
            return coins.choice(enough)
    return cluster.broker_ids
