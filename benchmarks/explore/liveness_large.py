"""Decides liveness on the largest graph, in memory and in files, and compares one search with two.

The claim is that of KIP-320 on three brokers. Each run is a process of its own. Times are CPU
seconds, without the compilation of C. A sample of the process's memory every 50 ms leaves out the
pages of files, which the system may write to disk at any time; `peak_bytes` counts them. Run this
module alone: `python -m benchmarks.explore.liveness_large`. It takes ten minutes of one core.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.explore.contender import Contender, ours
from benchmarks.pairs import paired, write_results

SMALL = {"max_leader_epoch": 3, "log_size": 2, "max_records": 2}  # 9,951,268 states
LARGE = {"max_leader_epoch": 4, "log_size": 2, "max_records": 2}
MEMORY = {"in memory": 8 * 10**9, "in files": 3 * 10**9}  # bytes
RUNS = int(os.environ.get("URTEIL_BENCH_RUNS", "3"))

DECIDE = """
import json, sys, threading
from pathlib import Path
from checkers.explicit.exploration import Budget
from checkers.explicit.liveness import with_liveness
from checkers.explicit.search import explore
from model.replication.versions import Kip320

how, everything, ended = json.loads(sys.argv[1]), Budget(states=None), threading.Event()
peak = 0

def sample():
    global peak
    while not ended.wait(0.05):
        kept = Path("/proc/self/status").read_text().split("RssAnon:")[1].split()[0]
        peak = max(peak, 1024 * int(kept))

sampling = threading.Thread(target=sample)
sampling.start()
spec, names = Kip320(**how["constants"]), ["everything_is_committed"]
found = explore(
    spec,
    properties=["weak_isr"],
    liveness=names * how["one_search"],
    memory=how["memory"],
    engine="compiled",
    budget=everything,
)
assert (names[0] in found.discoveries) == how["one_search"]
found = with_liveness(spec, found, names, everything, how["memory"])
ended.set()
sampling.join()
assert found.discoveries[names[0]].verdict == "holds", found
Path(how["peak"]).write_text(str(peak))
print(found.distinct, "states, stored")
"""


def measured(
    constants: Mapping[str, int], memory: int, *, one_search: bool = True
) -> dict[str, float]:
    """Returns the figures of one run; `anonymous_bytes` is the peak without pages of files."""
    with TemporaryDirectory() as folder:
        peak = Path(folder) / "peak"
        how = {"constants": constants, "memory": memory, "one_search": one_search}
        contender = Contender(
            name="liveness",
            command=[sys.executable, "-c", DECIDE, json.dumps({**how, "peak": str(peak)})],
            folder=Path(__file__).parents[2],
        )
        figures = contender.run().figures()
        return {**figures, "anonymous_bytes": int(peak.read_text())}


def main() -> None:
    """Measures the large graph twice, then pairs of runs on the small one; keeps the figures."""
    figures: dict[str, object] = {"model": f"Kip320 {LARGE}; pairs: {SMALL}"}
    for constants in (SMALL, LARGE):  # compiles the spec
        ours(constants, states=1000).run()
    for name, memory in MEMORY.items():
        figures[name] = {"memory": memory, **measured(LARGE, memory)}
        sys.stdout.write(f"{name}: {figures[name]}\n")
        sys.stdout.flush()
        write_results("explore-liveness-large", [], figures)
    pair = paired(
        ("one search", lambda: measured(SMALL, MEMORY["in memory"])["cpu_s"]),
        (
            "two searches",
            lambda: measured(SMALL, MEMORY["in memory"], one_search=False)["cpu_s"],
        ),
        runs=RUNS,
        own=True,
    )
    sys.stdout.write(f"{pair}\n")
    sys.stdout.write(f"kept in {write_results('explore-liveness-large', [pair], figures)}\n")


if __name__ == "__main__":
    main()
