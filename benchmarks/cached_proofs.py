"""Times `urteil prove` with a full cache against `urteil prove` with an empty cache.

Each run proves a spec twice, in two new processes that share a new cache. The second process finds
every proved condition in the cache. Times are CPU seconds of whole processes, including the start
of Python. `PROOFS` has a short proof and two long ones.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.pairs import Pairing, pairing

URTEIL = str(Path(sys.executable).with_name("urteil"))
RUNS = int(os.environ.get("URTEIL_BENCH_RUNS", "3"))
PROOFS: Mapping[str, int] = {  # a spec, and the number of its conditions in a full cache
    "transactions-abstract": 51,
    "coordinator-abstract": 217,
    "reassignment-abstract": 398,
}


def run() -> list[Pairing]:
    return [
        pairing(
            f"urteil prove {spec}, {conditions} conditions from the cache",
            f"urteil prove {spec}, cache empty",
            [timed(spec, conditions) for _ in range(RUNS)],
        )
        for spec, conditions in PROOFS.items()
    ]


def timed(spec: str, conditions: int) -> tuple[float, float]:
    """Returns the CPU seconds of a proof with a full cache, and with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        empty = proved(spec, Path(folder))
        full = proved(spec, Path(folder))
    assert (empty[1], full[1]) == (0, conditions), (spec, empty, full)
    return full[0], empty[0]


def proved(spec: str, folder: Path) -> tuple[float, int]:
    """Proves the spec in a new process. Returns its CPU seconds, and the number of conditions that
    it found in its cache.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(
        [URTEIL, "prove", spec, "--json", "--out", str(folder / "runs")],
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    (found,) = (e["value"] for e in events if e.get("metric") == "conditions from the cache")
    return spent, int(found)
