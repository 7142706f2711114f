"""Measures the cost of skew: analyses each of two skewed histories and an even history in turn.

    python -m benchmarks.analyze.skew

All histories have about the same number of records, and nine of ten records are sent in
transactions. The even history has 256 topic partitions. In the first skewed history, a single
partition has 90 % of the records. In the second skewed history, a single partition has all records.
No anomaly occurs.

The exit code is 1 if a median ratio of CPU time or wall time is above 1.3.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from benchmarks.analyze import costs
from benchmarks.analyze.measuring import OURS
from benchmarks.analyze.synthesis import Synthesis, synthesize
from benchmarks.pairs import Pairing, pairing, write_results

LIMIT: Final = 1.3
EVEN: Final = "256 even partitions"
SKEWED: Final[dict[str, dict[str, Any]]] = {
    "one partition with 90 % of the rows": {"hot": 0.9},
    "one partition with all rows": {"partitions": 1},
}
_TIMES: Final = {"cpu_s": "CPU", "wall_s": "wall time"}


def measured(rows: int, runs: int) -> list[Pairing]:
    """Returns, for each engine and each skewed history, the CPU time and the wall time compared
    with the even history, in `runs` runs.
    """
    found: list[Pairing] = []
    with tempfile.TemporaryDirectory(prefix="urteil-skew-") as made:
        even = Path(made) / "even"
        synthesize(Synthesis(folder=even, rows=rows))
        for number, (name, skew) in enumerate(SKEWED.items()):
            skewed = Path(made) / str(number)
            synthesize(Synthesis(folder=skewed, rows=rows, **skew))
            for way in OURS:
                spent = [(_per_row(way, skewed), _per_row(way, even)) for _ in range(runs)]
                for time, label in _TIMES.items():
                    of_time = [(ours[time], baseline[time]) for ours, baseline in spent]
                    found.append(
                        pairing(f"{way}, {name}: {label}", f"{way}, {EVEN}: {label}", of_time)
                    )
    return found


def _per_row(way: str, history: Path) -> dict[str, float]:
    """Returns the wall time and the CPU time of an analysis, in seconds per million rows. `way`
    names the engine.
    """
    output, _ = costs.run("benchmarks.analyze.ways", way, "all", str(history))
    result = json.loads(output)
    assert not any(result["found"].values()), "the history is correct"
    rows = json.loads((history / "history.json").read_text())["settings"]["rows"]
    return {time: result[time] / rows * 1e6 for time in _TIMES}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.analyze.skew")
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--runs", type=int, default=2)
    arguments = parser.parse_args()
    found = measured(int(arguments.rows), arguments.runs)
    for one in found:
        sys.stdout.write(f"{one.ours}: {one.ours_s.median} s; ratio {one.ratio.median}\n")
    sys.stdout.write(f"  kept in {write_results('skew', found, {'rows': int(arguments.rows)})}\n")
    return 1 if any(one.ratio.median > LIMIT for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
