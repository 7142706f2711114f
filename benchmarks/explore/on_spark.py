"""Compares `--engine spark` on this machine with the compiled engine, in memory and on disk.

The model is KIP-320 on three brokers with the leader epochs 0 to 2. The CPU time is the time of the
search and its child processes, without the start of Python and Spark.

Spark helps if the states do not fit into the memory of one machine. So the engine on disk runs with
a small memory limit in this benchmark. A part of the result has estimates, such as the number of
cores from which Spark is faster.

This benchmark is not part of `make bench`. Start it with `python -m benchmarks.explore.on_spark`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.analyze import costs
from benchmarks.explore import SMALL
from benchmarks.explore.contender import JUDGED
from benchmarks.pairs import write_results
from checkers.explicit.compiled.library import Library
from checkers.explicit.exploration import Budget, Exploration, Task
from checkers.explicit.instance import Instance
from checkers.explicit.search import chosen, explore
from checkers.spark.rounds import SparkRounds
from checkers.spark.session import session
from model.replication.versions import Kip320

if TYPE_CHECKING:
    from collections.abc import Generator

MIDDLE = {"max_leader_epoch": 2, "log_size": 3, "max_records": 3}
MODELS = {"small": SMALL, "middle": MIDDLE}
LITTLE, LESS = 20_000_000, 8_000_000  # bytes of memory for the engine on disk
EVERY = Budget(states=None)
Search = Callable[[Task], Exploration]


def in_memory(task: Task) -> Exploration:
    return explore(task.spec, properties=JUDGED, engine="compiled", budget=EVERY)


def on_disk(memory: int, task: Task) -> Exploration:
    return explore(task.spec, properties=JUDGED, engine="compiled", budget=EVERY, memory=memory)


@contextmanager
def on_spark() -> Generator[Search]:
    """Yields a search on a local Spark session that has already run a job."""
    from checkers.explicit.distributed.search import search

    with session() as spark, SparkRounds(spark).closed() as rounds:
        spark.sparkContext.parallelize([0], 1).map(str).collect()
        yield lambda task: search(task, rounds)


ENGINES = {
    "compiled, in memory": lambda: nullcontext(in_memory),
    f"compiled, on disk with {LITTLE}": lambda: nullcontext(partial(on_disk, LITTLE)),
    f"compiled, on disk with {LESS}": lambda: nullcontext(partial(on_disk, LESS)),
    "spark": on_spark,
}


def measured(engine: str, constants: Mapping[str, int]) -> dict[str, float]:
    """Returns the counts, the CPU seconds and the wall time of one search in this process."""
    spec = Kip320(**constants)
    task = Task(spec=spec, claims=chosen(spec, JUDGED), budget=EVERY)
    explore(spec, properties=JUDGED, engine="compiled", budget=Budget(states=1))  # compiles
    with ENGINES[engine]() as search:
        before, began = sum(costs.cpu(os.getpid())), time.perf_counter()
        found = search(task)
        cpu_s, wall_s = sum(costs.cpu(os.getpid())) - before, time.perf_counter() - began
    assert (found.why_stopped, found.violated) == ("exhausted", ()), found
    needed = Library(Instance.of(spec)).bytes_for(found.distinct)
    return {
        "distinct": found.distinct,
        "generated": found.generated,
        "depth": found.depth,
        "cpu_s": round(cpu_s, 2),
        "wall_s": round(wall_s, 2),
        "states_per_cpu_s": round(found.distinct / cpu_s),
        "bytes_needed_in_memory": needed,
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for name, constants in MODELS.items():
        figures[name] = {}
        for engine in ENGINES:
            words = [sys.executable, "-m", __spec__.name, engine, json.dumps(constants)]
            root = Path(__file__).parents[2]
            done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=root)
            figures[name][engine] = json.loads(done.stdout)
            sys.stdout.write(f"{name}, {engine}: {figures[name][engine]}\n")
            sys.stdout.flush()
        counts = {tuple(one[k] for k in COUNTS) for one in figures[name].values()}
        assert len(counts) == 1, counts
    facts: dict[str, object] = {
        "models": {name: f"Kip320 {constants}" for name, constants in MODELS.items()},
        "measured": figures,
        "estimated": estimated(figures),
    }
    sys.stdout.write(f"kept in {write_results('explore-spark', [], facts)}\n")


COUNTS = ("distinct", "generated", "depth")


def estimated(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, object]:
    """Returns estimates that assume that Spark's work divides evenly among all cores. For example,
    one estimate is the number of cores with which Spark is as fast as one thread of another engine.

    Every run was on one machine, so the estimates leave out the network of a cluster.
    """
    small, large = figures["small"]["spark"], figures["middle"]["spark"]
    a_state = (large["cpu_s"] - small["cpu_s"]) / (large["distinct"] - small["distinct"])
    a_round = max(0.0, small["cpu_s"] - a_state * small["distinct"]) / small["depth"]
    spark_s, middle = large["cpu_s"], figures["middle"]
    some, less = (middle[f"compiled, on disk with {bytes_}"] for bytes_ in (LITTLE, LESS))
    share = (spark_s - some["cpu_s"]) / (less["cpu_s"] - some["cpu_s"])
    needed = [large["bytes_needed_in_memory"] / bytes_ for bytes_ in (LITTLE, LESS)]
    return {
        "assumption": "the work of Spark divides evenly among all cores; not measured",
        "CPU seconds of a round": round(a_round, 3),
        "CPU microseconds of a state": round(a_state * 1e6, 2),
        "cores of Spark that equal one thread": {
            engine: round(spark_s / one["cpu_s"], 2)
            for engine, one in middle.items()
            if engine != "spark"
        },
        "needed over available memory at which disk and Spark cost the same CPU, interpolated": (
            round(needed[0] + share * (needed[1] - needed[0]), 1)
        ),
    }


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measured(sys.argv[1], json.loads(sys.argv[2]))))  # noqa: T201
    else:
        main()
