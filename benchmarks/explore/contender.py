"""An exploration that runs in its own process, with its time and memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

EXPLORE = """
import json, sys
from checkers.explicit.exploration import Budget
from checkers.explicit.search import explore
from model.replication.versions import Kip320

how = json.loads(sys.argv[1])
spec = Kip320(**how.pop("constants"))
found = explore(spec, budget=Budget(states=how.pop("states")), **how)
assert found.why_stopped in ("exhausted", "states") and not found.violated, found
assert not found.notes, found.notes
print(found.distinct, "states, stored")
"""

JUDGED = ("weak_isr", "strong_isr")  # the invariants that every contender checks


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    distinct: int
    cpu_s: float
    wall_s: float
    peak_bytes: int

    def figures(self) -> dict[str, float]:
        return {
            "distinct": self.distinct,
            "cpu_s": round(self.cpu_s, 2),
            "wall_s": round(self.wall_s, 2),
            "states_per_cpu_s": round(self.distinct / self.cpu_s),
            "peak_bytes": self.peak_bytes,
            "bytes_a_state": round(self.peak_bytes / self.distinct, 1),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A command that explores the model and prints the number of states that it stored.

    `exact` is False for the hash compaction of SPIN, which may merge different states.
    """

    name: str
    command: Sequence[str]
    folder: Path
    exact: bool = True

    def run(self) -> Measurement:
        started = time.monotonic()
        with subprocess.Popen(
            self.command, cwd=self.folder, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            output = process.stdout.read()
            _, status, spent = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        stored = re.search(r"(\d+) states, stored", output)
        assert stored, (self.name, output)
        assert process.returncode == 0, (self.name, output)
        return Measurement(
            distinct=int(stored[1]),
            cpu_s=spent.ru_utime + spent.ru_stime,
            wall_s=time.monotonic() - started,
            peak_bytes=spent.ru_maxrss * 1024,
        )


def ours(
    constants: Mapping[str, int],
    *,
    engine: str = "compiled",
    fingerprints: bool = False,
    threads: int = 1,
    states: int = 1_000_000_000,
    memory: int | None = None,
) -> Contender:
    """Returns the command that explores KIP-320 with an engine of this project."""
    how = {
        "constants": constants,
        "properties": JUDGED,
        "engine": engine,
        "fingerprints": fingerprints,
        "threads": threads,
        "states": states,
        "memory": memory,
    }
    kept = ", fingerprints" * fingerprints + f", {threads} threads" * (threads > 1)
    return Contender(
        name=f"{engine}{kept}",
        command=[sys.executable, "-c", EXPLORE, json.dumps(how)],
        folder=Path(__file__).parents[2],
    )
