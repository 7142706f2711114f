"""`make bench-kafka` records and judges Apache Kafka under faults, in safe and unsafe settings.

    python -m benchmarks.apache_kafka --out DIR            runs every campaign, then judges them
    python -m benchmarks.apache_kafka unsafe --out DIR     runs one; keeps its history and logs
    python -m benchmarks.apache_kafka judge --out DIR      judges histories that are kept in DIR,
                                                           for example tests/data/apache_kafka

A campaign is one recording with certain settings, a workload and faults. The first run needs Maven
to download Kafka. A run starts four processes of a quarter of a gigabyte each, and takes ten
minutes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from benchmarks.apache_kafka.campaigns import CAMPAIGNS, conduct, judged
from benchmarks.pairs import write_results

JUDGE = "judge"


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.apache_kafka")
    parser.add_argument("what", nargs="?", choices=[*CAMPAIGNS, JUDGE])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(words)
    out: Path = options.out
    if options.what != JUDGE:
        for name in [options.what] if options.what else CAMPAIGNS:
            sys.stdout.write(f"{name}: recording\n")
            conduct(CAMPAIGNS[name], out / name)
    outcomes: dict[str, Any] = {}
    for name in [name for name in CAMPAIGNS if (out / name).exists()]:
        analysis, outcomes[name] = judged(out / name)
        sys.stdout.write(f"{name}: {analysis.verdict}\n")
        for decision in analysis.decisions:
            if decision.count:
                permitted = f", permitted: {decision.reason}" if decision.permitted else ""
                sys.stdout.write(f"  {decision.anomaly.id}: {decision.count}{permitted}\n")
    if set(outcomes) == set(CAMPAIGNS):  # a kept result covers all campaigns
        sys.stdout.write(
            f"  kept in {write_results('apache_kafka', [], {'campaigns': outcomes})}\n"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
