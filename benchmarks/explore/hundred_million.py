"""Measures the memory of the first 100 million states of KIP-320, on three brokers with the leader
epochs 0 to 3.

This benchmark is not part of `make bench`. It takes one or two minutes. Start it with
`python -m benchmarks.explore.hundred_million`.
"""

from __future__ import annotations

import sys

from benchmarks.explore.contender import ours
from benchmarks.pairs import write_results

MOST = 100_000_000
LARGER = {"max_leader_epoch": 3, "log_size": 3, "max_records": 4}


def main() -> None:
    figures: dict[str, object] = {}
    for fingerprints in (False, True):
        contender = ours(LARGER, fingerprints=fingerprints, states=MOST)
        measured = contender.run().figures()
        figures[contender.name] = measured
        sys.stdout.write(f"{contender.name}: {measured}\n")
        sys.stdout.write(f"kept in {write_results('explore-hundred-million', [], figures)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
