"""Runs as data: a scenario says who sends what under which faults, a run says what came of it.

A scenario with the same fields gives the same run, byte for byte. In a *safety* run the faults may
leave the cluster as broken as they like; the log is read after recovery. A *liveness* run is the
same with a bound: once the last fault is over everything has to be in order again within so much
virtual time, else `NoProgress`.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from model.histories import History
from model.vocabulary import BrokerId, Offset
from reference_impl.bugs import NO_BUGS, Bugs
from reference_impl.messages import FIRST_CLIENT, NodeId
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.faults import (
    At,
    Crash,
    DropResponses,
    Fault,
    Heal,
    Isolate,
    Plan,
    PowerLoss,
    Restart,
)
from reference_impl.simulation.network import CALM, Conditions
from reference_impl.simulation.producer import ProducerConfig
from reference_impl.simulation.trace import Trace

RECOVERY_MS: Final = 20_000
IDEMPOTENT: Final = ProducerConfig()
_NAMES: Final = "abcdefghijklmnopqrstuvwxyz"  # of producers: the first letter of what they send


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A workload and its faults: each producer sends one value every `send_every_ms`."""

    seed: int = 0
    brokers: int = 3
    min_insync_replicas: int = 2
    producers: tuple[ProducerConfig, ...] = (IDEMPOTENT,)
    consumers: int = 1
    sends: int = 50  # of each producer
    send_every_ms: int = 10
    conditions: Conditions = CALM
    faults: Plan = ()
    bugs: Bugs = NO_BUGS
    recovery_ms: int = RECOVERY_MS

    def __post_init__(self) -> None:
        if len(self.producers) > len(_NAMES):
            raise ValueError(f"{len(self.producers)} producers; there are {len(_NAMES)} names")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What came of a scenario."""

    history: History  # of the producers and consumers, and at last of the reader of the whole log
    log: tuple[tuple[Offset, str], ...]  # as read from the beginning after recovery
    trace: Trace
    broker_steps: int
    virtual_ms: int


def run(scenario: Scenario) -> Run:
    """The run of a scenario; NoProgress if the cluster does not recover in its time."""
    cluster = Cluster(
        seed=scenario.seed,
        brokers=scenario.brokers,
        min_insync_replicas=scenario.min_insync_replicas,
        conditions=scenario.conditions,
        bugs=scenario.bugs,
    )
    producers = [cluster.add_producer(config) for config in scenario.producers]
    for _ in range(scenario.consumers):
        cluster.add_consumer(asks_end_every=5)
    start_ms = cluster.now_ms
    todo: list[tuple[int, Fault | tuple[NodeId, str]]] = [
        (start_ms + number * scenario.send_every_ms, (producer, f"{name}{number}"))
        for number in range(scenario.sends)
        for name, producer in zip(_NAMES, producers, strict=False)
    ]
    todo += [(start_ms + planned.at_ms, planned.fault) for planned in scenario.faults]
    for at_ms, deed in sorted(todo, key=lambda entry: entry[0]):
        cluster.run_for(at_ms - cluster.now_ms)
        if isinstance(deed, tuple):
            producer, value = deed
            cluster.send(producer, value)
        else:
            cluster.apply(deed)
    cluster.recover(scenario.recovery_ms)
    log = cluster.read_all()
    return Run(
        history=cluster.history(),
        log=log,
        trace=cluster.trace,
        broker_steps=cluster.steps,
        virtual_ms=cluster.now_ms,
    )


def faults_drawn(
    seed: int, brokers: tuple[BrokerId, ...], *, count: int, every_ms: int, power_loss: bool = False
) -> Plan:
    """A plan of so many faults, drawn from the seed: crashes with restarts, isolations that heal.

    Never more than one broker is away at a time, so there is always one from which a majority of
    the replicas can go on.
    """
    coins = Random(f"faults {seed}")
    plan: list[At] = []
    for number in range(1, count + 1):
        broker = coins.choice(brokers)
        down: Fault = PowerLoss(broker, coins.randrange(101)) if power_loss else Crash(broker)
        begins, ends = coins.choice(
            (
                (down, Restart(broker)),
                (Isolate(broker), Heal()),
                (DropResponses(NodeId(FIRST_CLIENT + 1), 1 + coins.randrange(5)), Heal()),
            )
        )
        at_ms = number * every_ms + coins.randrange(every_ms // 2)
        plan += [At(at_ms, begins), At(at_ms + coins.randrange(1, every_ms // 2), ends)]
    return tuple(plan)
