"""Measures the broker steps per CPU second of every sweep, and the gain from a second core.

A sweep simulates one scenario of the cluster on many seeds. One sweep is also timed together with
its analysis, in one process and in two processes. The target is 5,000 steps per CPU second, with
faults and clients.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from benchmarks.pairs import Pairing, paired
from checkers.sweeping import Swept, judged_in_processes
from reference_impl.simulation.runs import run as simulate
from reference_impl.simulation.sweeps import SWEEPS

SEEDS = range(6)
SWEPT = range(40)


def run() -> list[Pairing]:
    return [*(steps(name) for name in SWEEPS), cores()]


def steps(name: str) -> Pairing:
    """Measures a sweep's simulations twice, with faults and without, and compares the times.

    The label of the first time states how many steps brokers take per CPU second.
    """
    started = time.process_time()
    rate = simulated(name) / (time.process_time() - started)
    return paired(
        (f"{name}: {rate:,.0f} broker steps per CPU s, under faults", _of(name, faulty=True)),
        (f"{name}: without faults", _of(name, faulty=False)),
        runs=3,
    )


def cores() -> Pairing:
    """Compares the time of two processes with the time of one process, for the same seeds."""

    def sweep(processes: int) -> int:
        return len([*judged_in_processes(Swept(sweep="publish"), SWEPT, processes=processes)])

    return paired(
        (f"{len(SWEPT)} seeds of publish, run and analysed by two processes", lambda: sweep(2)),
        ("by one", lambda: sweep(1)),
        runs=2,
    )


def simulated(name: str, *, faulty: bool = True) -> int:
    return sum(
        simulate(scenario if faulty else replace(scenario, faults=())).broker_steps
        for scenario in map(SWEEPS[name].scenario, SEEDS)
    )


def _of(name: str, *, faulty: bool) -> Callable[[], int]:
    return lambda: simulated(name, faulty=faulty)
