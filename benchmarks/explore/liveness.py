"""Compares the liveness check in compiled C with the liveness check in Python, and decides liveness
of 65 million states.

The property is the liveness property of KIP-320 on three brokers. The compiled engine first
explores the states. Times are CPU seconds, without the compilation of C.

This benchmark is not part of `make bench`. Start it with `python -m benchmarks.explore.liveness`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.explore.contender import Contender, Measurement
from benchmarks.pairs import paired, write_results

SMALL = {"max_leader_epoch": 2, "log_size": 2, "max_records": 2}  # 736,906 states
LARGE = {"max_leader_epoch": 3, "log_size": 3, "max_records": 3}  # 64,584,679 states
MEMORY = 6 * 10**9  # bytes
RUNS = int(os.environ.get("URTEIL_BENCH_RUNS", "3"))

DECIDE = """
import json, sys
from checkers.explicit.exploration import Budget
from checkers.explicit.liveness import decide
from checkers.explicit.search import explore
from model.replication.versions import Kip320

how, everything = json.loads(sys.argv[1]), Budget(states=None)
spec = Kip320(**how["constants"])
found = explore(spec, properties=["weak_isr"], engine="compiled", budget=everything)
claims = decide(spec, budget=everything, engine=how["engine"], memory=how["memory"])
assert {d.verdict for d in claims.values()} == {"holds"}, claims
print(found.distinct, "states, stored")
"""


def contender(constants: Mapping[str, int], engine: str) -> Contender:
    """Returns the command that decides the liveness property of KIP-320 with one of the engines."""
    how = {"constants": constants, "engine": engine, "memory": MEMORY}
    return Contender(
        name=f"liveness, {engine}",
        command=[sys.executable, "-c", DECIDE, json.dumps(how)],
        folder=Path(__file__).parents[2],
    )


def main() -> None:
    figures: dict[str, object] = {"model": f"Kip320 {SMALL}, then {LARGE}"}
    fast, slow, large = (
        contender(constants, engine)
        for constants, engine in ((SMALL, "compiled"), (SMALL, "python"), (LARGE, "compiled"))
    )
    fast.run()  # compiles the spec

    def seconds(one: Contender) -> float:
        measured: Measurement = one.run()
        figures[f"run of {one.name}"] = measured.figures()
        return measured.cpu_s

    pair = paired(
        (fast.name, lambda: seconds(fast)),
        (slow.name, lambda: seconds(slow)),
        runs=RUNS,
        own=True,
    )
    sys.stdout.write(f"{pair}\n")
    sys.stdout.flush()
    measured = large.run().figures()
    figures["run on the large graph"] = measured
    sys.stdout.write(f"{measured}\n")
    sys.stdout.write(f"kept in {write_results('explore-liveness', [pair], figures)}\n")


if __name__ == "__main__":
    main()
