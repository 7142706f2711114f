"""The analysis at any size: `python -m benchmarks.analyze --rows 1e8`.

    --rows 1e7 --partitions 256 1 --checks linearizable --ways in-process polars --runs 3

Each size has a file among the results.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from benchmarks.analyze.measuring import CHECKS, OURS, PEERS, Cost, measured
from benchmarks.pairs import keep


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.analyze")
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--partitions", type=int, nargs="+", default=[256, 1])
    parser.add_argument("--checks", nargs="+", choices=CHECKS, default=CHECKS)
    parser.add_argument("--ways", nargs="+", choices=(*OURS, *PEERS), default=(*OURS, *PEERS))
    parser.add_argument("--runs", type=int, default=1)
    told = parser.parse_args()
    found: list[Cost] = []
    for partitions in told.partitions:
        some = measured(
            int(told.rows), partitions, checks=told.checks, ways=told.ways, runs=told.runs
        )
        for cost in some:
            found.append(cost)
            sys.stdout.write(in_words(cost) + "\n")
            sys.stdout.flush()
    file = keep(f"analyze-{told.rows:.0e}", [], {"costs": [asdict(cost) for cost in found]})
    sys.stdout.write(f"  kept in {file}\n")


def in_words(cost: Cost) -> str:
    keys = "one partition" if cost.partitions == 1 else f"{cost.partitions} partitions"
    rate, peak = cost.rows_per_cpu_s / 1e6, cost.peak_bytes / 1e9
    return (
        f"{cost.check:12} {cost.way:10} {cost.rows:>11,} rows, {keys:14} {cost.cpu_s:8.1f} CPU s "
        f"{cost.wall_s:7.1f} s {rate:6.2f} M rows/CPU s {peak:5.1f} GB; "
        f"ready after {cost.ready_cpu_s:.1f} CPU s"
    )


if __name__ == "__main__":
    main()
