"""Compares two threads of the compiled engine with one, in CPU seconds and in wall time.

The model is KIP-320 on three brokers with epochs 0..2, 10.8 million states. The ratios of CPU time
and of wall time are from the same runs. On a machine with other work, the wall time has little
meaning. The ratio of CPU times still shows what the second thread costs. The result file also has
the machine's load average before the first pair of runs and after each pair. `make bench` leaves
out this benchmark; start it with `python -m benchmarks.explore.threads`.
"""

from __future__ import annotations

import os
import sys

from benchmarks.explore import LARGE, RUNS
from benchmarks.explore.contender import Measurement, ours
from benchmarks.pairs import pairing, write_results


def main() -> None:
    """Explores the model with two threads and with one thread, alternately.

    Prints and writes the ratios of the CPU times and of the wall times.
    """
    two, one = ours(LARGE, threads=2), ours(LARGE)
    one.run()  # compiles the spec
    spent: list[tuple[Measurement, Measurement]] = []
    loads = [os.getloadavg()[0]]
    for _ in range(RUNS):
        spent.append((two.run(), one.run()))
        loads.append(os.getloadavg()[0])
    assert len({run.distinct for pair in spent for run in pair}) == 1
    cpu, wall = [(a.cpu_s, b.cpu_s) for a, b in spent], [(a.wall_s, b.wall_s) for a, b in spent]
    pairs = [
        pairing(f"{two.name}, CPU", f"{one.name}, CPU", cpu),
        pairing(f"{two.name}, wall", f"{one.name}, wall", wall),
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
