"""Runs sweeps. A sweep simulates the cluster with many seeds, and analyzes the history of each
simulation.

The simulations are independent, so they run in parallel: in processes (this module) or as Spark
tasks (`checkers.spark.sweeping`).
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from checkers.histories.analysis import Decision, analyze
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.parquet_layout import write_part
from checkers.histories.io.recorded import METADATA, part_path
from model.histories import SCHEMA_VERSION
from properties.anomalies.declarations import Declarations
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.simulation.runs import Scenario, run
from reference_impl.simulation.sweeps import sweep_named
from reference_impl.simulation.world import NoProgress

SEEDS_AT_ONCE: Final = 4  # seeds that a process gets at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    sweep: str
    bugs: Bugs = NO_BUGS
    liveness: bool = False

    @property
    def declared(self) -> Declarations:
        """The assumptions of the analysis about the clients: whether consumers use `subscribe` or
        `assign`.
        """
        subscribes = sweep_named(self.sweep).subscribes
        return Declarations(sub_via=frozenset({"subscribe" if subscribes else "assign"}))

    def scenario(self, seed: int) -> Scenario:
        drawn = sweep_named(self.sweep).scenario(seed)
        return replace(drawn, bugs=self.bugs, liveness=self.liveness)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The result of one seed: the figures of its simulation, and the anomalies in its history.

    `stuck` states why the simulation made no progress; it is None if the simulation ended normally.
    `occurs` maps each anomaly that is not permitted to the number of its occurrences.
    """

    seed: int
    stuck: str | None = None  # where the run stopped making progress
    occurs: dict[str, int] = field(default_factory=dict[str, int])
    observations: dict[str, int] = field(default_factory=dict[str, int])
    operations: int = 0
    broker_steps: int = 0
    cpu_s: float = 0.0


def judge(swept: Swept, seed: int) -> Judged:
    started = time.process_time()
    try:
        found = run(swept.scenario(seed))
    except NoProgress as stuck:
        return Judged(seed=seed, stuck=str(stuck), cpu_s=time.process_time() - started)
    decisions = analyze(as_table(found.history), declared=swept.declared).decisions
    return Judged(
        seed=seed,
        occurs={d.anomaly.id: d.count for d in decisions if _breaks_a_promise(d)},
        observations={d.anomaly.id: d.observations for d in decisions if d.observations},
        operations=len(found.history),
        broker_steps=found.broker_steps,
        cpu_s=time.process_time() - started,
    )


def _breaks_a_promise(decision: Decision) -> bool:
    return decision.verdict == "violated" and not decision.permitted


def judged_in_processes(
    swept: Swept, seeds: range, *, processes: int | None = None
) -> Iterator[Judged]:
    """Yields the result of each seed as soon as it is computed. The order of the seeds is
    arbitrary.

    `processes` is the number of processes; if it is None, there is one for each CPU.
    """
    count = min(processes or os.cpu_count() or 1, len(seeds))
    if count <= 1:
        yield from (judge(swept, seed) for seed in seeds)
        return
    # A forked process would inherit the locks of Arrow's threads without the threads.
    spawning = multiprocessing.get_context("spawn")
    with closing(spawning.Pool(count, initializer=_leave_interrupts_alone)) as pool:
        try:
            work = _Judge(swept)
            yield from pool.imap_unordered(work, seeds, chunksize=SEEDS_AT_ONCE)
        finally:
            pool.terminate()


@dataclass(frozen=True, slots=True)
class _Judge:
    swept: Swept

    def __call__(self, seed: int) -> Judged:
        return judge(self.swept, seed)


def _leave_interrupts_alone() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def save_run(swept: Swept, seed: int, folder: Path) -> None:
    """Simulates the seed a second time, and writes its history and trace to `folder`."""
    history = folder / "history"
    history.mkdir(parents=True, exist_ok=True)
    found = run(swept.scenario(seed))
    write_part(as_table(found.history), part_path(history, 0))
    described = {
        "schema_version": SCHEMA_VERSION,
        "workload": swept.sweep,
        "clients": {},
        "settings": {"sub_via": sorted(swept.declared.sub_via)},
        "seed": seed,
        "finished": True,
    }
    (history / METADATA).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
    with (folder / "trace.ndjson").open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in found.trace.lines())
