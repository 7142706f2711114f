"""Compares two threads of the compiled engine with one thread, in CPU seconds and in wall time.

The model is KIP-320 on three brokers with the leader epochs 0 to 2: 10.8 million states. On a
machine with other work, the wall time has little meaning, but the ratio of CPU times shows the cost
of the second thread. In addition, two searches, each with one thread, are run at the same time.
Their slowdown is a property of the machine, not of the engine.

The result file has the load average of the machine before and after each round. This benchmark is
not part of `make bench`. Start it with `python -m benchmarks.explore.threads`.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

from benchmarks.explore import LARGE, RUNS
from benchmarks.explore.contender import Contender, Measurement, ours
from benchmarks.pairs import pairing, write_results


def at_once(one: Contender) -> Measurement:
    """Runs `one` in two processes at the same time, and returns the measurement of the slower
    process.
    """
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(one.run) for _ in range(2)]
        return max((run.result() for run in runs), key=lambda run: run.wall_s)


def main() -> None:
    two, one = ours(LARGE, threads=2), ours(LARGE)
    one.run()  # compiles the spec
    spent: list[tuple[Measurement, Measurement, Measurement]] = []
    loads = [os.getloadavg()[0]]
    for _ in range(RUNS):
        spent.append((two.run(), one.run(), at_once(one)))
        loads.append(os.getloadavg()[0])
    assert len({run.distinct for runs in spent for run in runs}) == 1
    both = f"{one.name}, twice at once"
    pairs = [
        pairing(f"{two.name}, CPU", f"{one.name}, CPU", [(a.cpu_s, b.cpu_s) for a, b, _ in spent]),
        pairing(
            f"{two.name}, wall", f"{one.name}, wall", [(a.wall_s, b.wall_s) for a, b, _ in spent]
        ),
        pairing(f"{both}, wall", f"{one.name}, wall", [(c.wall_s, b.wall_s) for _, b, c in spent]),
    ]
    for pair in pairs:
        sys.stdout.write(f"{pair}\n")
    facts: dict[str, object] = {
        "model": f"Kip320 {LARGE}",
        "load": [round(load, 1) for load in loads],
        f"run of {two.name}": spent[-1][0].figures(),
        f"run of {one.name}": spent[-1][1].figures(),
    }
    sys.stdout.write(f"kept in {write_results('explore-threads', pairs, facts)}\n")


if __name__ == "__main__":
    main()
