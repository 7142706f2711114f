"""The simulator: whole runs of a cluster under drawn faults, against the same runs without any."""

from __future__ import annotations

import time

from benchmarks.pairs import Pairing, paired
from model.vocabulary import BrokerId
from reference_impl.simulation.runs import Scenario, faults_drawn
from reference_impl.simulation.runs import run as simulate

SEEDS = range(8)
BROKERS = tuple(BrokerId(number) for number in (1, 2, 3))


def run() -> list[Pairing]:
    rate = steps(faulty=True) / cpu_seconds(faulty=True)
    return [
        paired(
            (f"8 runs under faults, {rate:,.0f} steps per CPU s", lambda: steps(faulty=True)),
            ("8 runs without faults", lambda: steps(faulty=False)),
            runs=3,
        )
    ]


def steps(*, faulty: bool) -> int:
    """Broker steps of the runs of all seeds."""
    return sum(simulate(scenario(seed, faulty=faulty)).broker_steps for seed in SEEDS)


def cpu_seconds(*, faulty: bool) -> float:
    started = time.process_time()
    steps(faulty=faulty)
    return time.process_time() - started


def scenario(seed: int, *, faulty: bool) -> Scenario:
    plan = faults_drawn(seed, BROKERS, count=4, every_ms=150) if faulty else ()
    return Scenario(seed=seed, sends=50, faults=plan)
