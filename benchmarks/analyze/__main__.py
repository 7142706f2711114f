"""Measures the analysis of histories of any size: `python -m benchmarks.analyze --rows 1e8`.

    --rows 1e6 1e7 --partitions 256 1 --checks linearizable shared all --ways in-process polars

A *way* is an engine of this project, or a peer such as Polars. Each size has a result file with the
latest measurement of each way, and its date, commit and load averages. The last lines of the output
compare the cost of a row in the different sizes. The exit code is 1 if a way failed, or found
anomalies other than the injected ones.

1e8 rows take about 25 minutes on two cores, and 25 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise

from benchmarks.analyze.measuring import CHECKS, OURS, PEERS, Cost, measured
from benchmarks.pairs import RESULTS, circumstances, write_results


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.analyze")
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6])
    parser.add_argument("--partitions", type=int, nargs="+", default=[256, 1])
    parser.add_argument("--checks", nargs="+", choices=CHECKS, default=["linearizable", "all"])
    parser.add_argument("--ways", nargs="+", choices=(*OURS, *PEERS), default=(*OURS, *PEERS))
    parser.add_argument("--runs", type=int, default=1)
    arguments = parser.parse_args()
    found: list[Cost] = []
    failed = False
    for rows in arguments.rows:
        for partitions in arguments.partitions:
            some = measured(
                int(rows),
                partitions,
                checks=arguments.checks,
                ways=arguments.ways,
                runs=arguments.runs,
                report=_report,
            )
            try:
                for cost in some:
                    found.append(cost)
                    sys.stdout.write(as_line(cost) + "\n")
                    sys.stdout.flush()
                    _keep(rows, cost)
            except* RuntimeError as errors:
                failed = True
                for error in errors.exceptions:
                    _report(f"failed: {error}")
    sys.stdout.writelines(line + "\n" for line in growth(found))
    return 1 if failed or any(cost.wrong for cost in found) else 0


def _report(text: str) -> None:
    sys.stderr.write(f"  {text} ...\n")
    sys.stderr.flush()


def _keep(rows: float, cost: Cost) -> None:
    name = f"analyze-{rows:.0e}"
    file = RESULTS / f"{name}.json"
    kept = json.loads(file.read_text())["costs"] if file.exists() else []
    same = ("way", "check", "partitions")
    others = [it for it in kept if any(it[field] != getattr(cost, field) for field in same)]
    row = {**asdict(cost), "measured": circumstances()}
    write_results(name, [], {"costs": [*others, row]})


def as_line(cost: Cost) -> str:
    keys = "one partition" if cost.partitions == 1 else f"{cost.partitions} partitions"
    rate, peak = cost.rows_per_cpu_s / 1e6, cost.peak_bytes / 1e9
    wrong = f"; WRONG: {', '.join(cost.wrong)}" if cost.wrong else ""
    return (
        f"{cost.check:12} {cost.way:10} {cost.rows:>11,} rows, {keys:14} {cost.cpu_s:8.1f} CPU s "
        f"({cost.system_s:.1f} in the kernel) {cost.wall_s:7.1f} s {rate:6.2f} M rows/CPU s "
        f"{peak:5.1f} GB; ready after {cost.ready_cpu_s:.1f} CPU s{wrong}"
    )


def growth(found: list[Cost]) -> Iterator[str]:
    of_way: dict[tuple[str, str, int], list[Cost]] = {}
    for cost in sorted(found, key=lambda it: it.rows):
        of_way.setdefault((cost.check, cost.way, cost.partitions), []).append(cost)
    for (check, way, partitions), costs in of_way.items():
        for small, large in pairwise(costs):
            if large.rows > small.rows:
                rows = large.rows / small.rows
                times, user_times = large.cpu_s / small.cpu_s, large.user_s / small.user_s
                yield (
                    f"{check}, {way}, partitions: {partitions}: from {small.rows:,} to "
                    f"{large.rows:,} rows the CPU time of a row grew {times / rows:.2f} times, "
                    f"{user_times / rows:.2f} times outside the kernel"
                )


if __name__ == "__main__":
    sys.exit(main())
