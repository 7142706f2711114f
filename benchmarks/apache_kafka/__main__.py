"""`make bench-kafka`: Apache Kafka under faults, safely configured and not, recorded and judged.

    python -m benchmarks.apache_kafka --out DIR            every campaign, then the verdicts
    python -m benchmarks.apache_kafka unsafe --out DIR     one; its history and its brokers stay
    python -m benchmarks.apache_kafka judge --out DIR      the verdicts again, on what is there:
                                                           tests/data/apache_kafka, for one
    python -m benchmarks.apache_kafka log-dirs --out DIR   the log directories of the tests

It needs Maven once, four processes of a quarter of a gigabyte, and some ten minutes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from benchmarks.apache_kafka import log_dirs, log_dirs_in_need
from benchmarks.apache_kafka.campaigns import CAMPAIGNS, conduct, judged
from benchmarks.pairs import keep

JUDGE, LOG_DIRS = "judge", "log-dirs"


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.apache_kafka")
    parser.add_argument("what", nargs="?", choices=[*CAMPAIGNS, JUDGE, LOG_DIRS])
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args(words)
    out: Path = asked.out
    if asked.what == LOG_DIRS:
        log_dirs.make(out)
        log_dirs_in_need.make(out)
        return
    if asked.what != JUDGE:
        for name in [asked.what] if asked.what else CAMPAIGNS:
            sys.stdout.write(f"{name}: recording\n")
            conduct(CAMPAIGNS[name], out / name)
    told: dict[str, Any] = {}
    for name in [name for name in CAMPAIGNS if (out / name).exists()]:
        analysis, told[name] = judged(out / name)
        sys.stdout.write(f"{name}: {analysis.verdict}\n")
        for decision in analysis.decisions:
            if decision.count:
                permitted = f", permitted: {decision.reason}" if decision.permitted else ""
                sys.stdout.write(f"  {decision.anomaly.id}: {decision.count}{permitted}\n")
    if set(told) == set(CAMPAIGNS):  # a result is of all of them
        sys.stdout.write(f"  kept in {keep('apache_kafka', [], {'campaigns': told})}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
