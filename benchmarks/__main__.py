"""`make bench` runs all benchmarks, or the named ones, and writes their results as JSON."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping

from benchmarks.pairs import Pairing, write_results

BENCHMARKS = (
    "help",
    "compilation",
    "explore",
    "simulate",
    "cached_proofs",
    "refinement",
    "trace",
    "analyze",
    "log_dirs",
    "exactly_once_costs",
    "wire",
    "processes",
)


def main(names: list[str]) -> None:
    for name in names or BENCHMARKS:
        module = importlib.import_module(f"benchmarks.{name}")
        found: list[Pairing] = module.run()
        facts: Mapping[str, object] = module.facts() if hasattr(module, "facts") else {}
        for pairing in found:
            ours, other = pairing.ours_s.median, pairing.baseline_s.median
            ratio = (
                f"{pairing.ratio.median:.3g} ({pairing.ratio.least:.3g}-{pairing.ratio.most:.3g})"
            )
            sys.stdout.write(
                f"{pairing.ours}: {ours:.3f} s; {pairing.baseline}: {other:.3f} s; ratio {ratio}\n"
            )
        sys.stdout.write(f"  kept in {write_results(name, found, facts)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
