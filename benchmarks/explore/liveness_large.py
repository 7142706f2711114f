"""Decides liveness on large graphs, in memory and in files, and compares one search with two.

With one search, the search decides safety and liveness together. With two searches, the second
search decides liveness. The spec is `Kip320` on three brokers, and the liveness property is
`everything_is_committed`. Each run is a separate process. Times are CPU seconds, without the
compilation of C.

`peak_bytes` includes the pages of mapped files, which the system may write to disk at any time.
`anonymous_bytes` excludes these pages.

This benchmark is not part of `make bench`. Start it with
`python -m benchmarks.explore.liveness_large`. It takes five minutes of one core. The arguments name
the parts to measure. Without arguments, all parts are measured. The results file retains the
results of all other parts.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.explore.contender import Contender, ours
from benchmarks.pairs import RESULTS, Pairing, circumstances, paired, write_results

SMALL = {"max_leader_epoch": 3, "log_size": 2, "max_records": 2}  # 9,951,268 states
LARGE = {"max_leader_epoch": 4, "log_size": 2, "max_records": 2}
ENOUGH = 8 * 10**9  # bytes
PARTS = {  # the constants and the memory of one run
    "large": (LARGE, ENOUGH),
    "large, files": (LARGE, 3 * 10**9),
    "files": (SMALL, 250 * 10**6),
    "pairs": (SMALL, ENOUGH),
}
NAME = "explore-liveness-large"
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
    """Returns the figures of one run. `anonymous_bytes` is its peak memory without pages of
    files.
    """
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


def compared() -> Pairing:
    """Measures the check of liveness with one search and with two searches, and compares the CPU
    times.
    """
    return paired(
        ("one search", lambda: measured(SMALL, ENOUGH)["cpu_s"]),
        ("two searches", lambda: measured(SMALL, ENOUGH, one_search=False)["cpu_s"]),
        runs=RUNS,
        own=True,
    )


def main(parts: Sequence[str]) -> None:
    kept = RESULTS / f"{NAME}.json"
    figures = json.loads(kept.read_text())["parts"] if kept.exists() else {}
    for part in parts or PARTS:
        constants, memory = PARTS[part]
        ours(constants, states=1000).run()  # compiles the spec
        if part == "pairs":
            figures[part] = {"constants": SMALL, **asdict(compared())}
        else:
            found = measured(constants, memory)
            figures[part] = {"constants": constants, "memory": memory, **found}
        figures[part]["measured"] = circumstances()
        sys.stdout.write(f"{part}: {figures[part]}\n")
        sys.stdout.write(f"kept in {write_results(NAME, [], {'parts': figures})}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
