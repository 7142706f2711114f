"""Measures the first billion states of KIP-320, with three brokers and the leader epochs 0 to 3.

The search stores exact states, not hashes. The keys and the parents of the states are moved to
files, and the hash set stays in memory. This needs 17 GB of memory, 10 GB of disk, and 12 minutes
of CPU.

This benchmark is not part of `make bench`. Start it with `python -m benchmarks.explore.billion`.
"""

from __future__ import annotations

import sys

from benchmarks.explore.contender import ours
from benchmarks.pairs import write_results

MOST = 1_000_000_000
LARGEST = {"max_leader_epoch": 3, "log_size": 4, "max_records": 5}
MEMORY = 17_000_000_000  # bytes


def main() -> None:
    contender = ours(LARGEST, states=MOST, memory=MEMORY)
    figures = {"model": f"Kip320 {LARGEST}", contender.name: contender.run().figures()}
    sys.stdout.write(f"{figures}\n")
    sys.stdout.write(f"kept in {write_results('explore-billion', [], figures)}\n")


if __name__ == "__main__":
    main()
