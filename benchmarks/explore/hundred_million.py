"""How much memory 100 million states take: KIP-320 on three brokers, epochs 0..3, cut off there.

Run by itself, for a minute or two: `python -m benchmarks.explore.hundred_million`.
"""

from __future__ import annotations

import sys

from benchmarks.explore.contender import ours
from benchmarks.pairs import keep

MOST = 100_000_000
LARGER = {"max_leader_epoch": 3, "log_size": 3, "max_records": 4}


def main() -> None:
    figures: dict[str, object] = {}
    for fingerprints in (False, True):
        contender = ours(LARGER, fingerprints=fingerprints, states=MOST)
        told = contender.run()
        figures[contender.name] = told.figures()
        sys.stdout.write(f"{contender.name}: {told.figures()}\n")
        sys.stdout.write(f"kept in {keep('explore-hundred-million', [], figures)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
