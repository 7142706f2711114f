"""Measures the cost of checkpoints of a search, and the savings of a resumed search, in CPU
seconds.

A checkpoint stores the progress of a search in files. The model is KIP-320 on three brokers with
the leader epochs 0 to 2: 10.8 million states, in one thread. The first search writes a checkpoint
every half second, far more often than any user needs. The second search stops after nine million
states, and writes one checkpoint. The third search resumes from this checkpoint. The first and the
third search are each paired with a search without checkpoints. The CPU times include the kernel's
time for writing.

This benchmark is not part of `make bench`. Start it with
`python -m benchmarks.explore.checkpoints`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.explore import LARGE, RUNS
from benchmarks.explore.contender import Contender, Measurement, ours
from benchmarks.pairs import pairing, write_results

EVERY_S = 0.5
NEVER_S = 1e9
KEPT = 9_000_000  # states of the checkpoint from which a search is resumed
WITH = """
from pathlib import Path
from checkers.explicit.checkpoint import Checkpoint
from checkers.explicit.checkpoints import Checkpoints

kept = Checkpoint.read(Path(sys.argv[4])) if len(sys.argv) > 4 else None
mine = Checkpoints(Path(sys.argv[2]), float(sys.argv[3]), {}, "", resumed=kept)
found = explore(spec, checkpoints=mine, """


def with_checkpoints(plain: Contender, folder: Path, every_s: float, *resumed: Path) -> Contender:
    """Returns the command of `plain`, changed so that it writes checkpoints into the folder every
    `every_s` seconds.

    If `resumed` names a folder, the search is resumed from the checkpoint in this folder.
    """
    python, flag, text, how = plain.command
    words = [str(folder), str(every_s), *map(str, resumed)]
    text = text.replace("\nfound = explore(spec, ", WITH)
    return replace(plain, command=[python, flag, text, how, *words])


@contextmanager
def new_folder() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="urteil-bench-") as folder:
        yield Path(folder)


def bytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def main() -> None:
    plain = ours(LARGE)
    plain.run()  # compiles the spec
    writing: list[tuple[Measurement, Measurement]] = []
    resuming: list[tuple[Measurement, Measurement]] = []
    kept = stored = files = 0
    loads = [os.getloadavg()[0]]
    for _ in range(RUNS):
        with new_folder() as folder:
            often = with_checkpoints(plain, folder / "often", EVERY_S)
            writing.append((often.run(), plain.run()))
            files = len(list((folder / "often").glob("*.bin")))
            part = with_checkpoints(ours(LARGE, states=KEPT), folder / "part", NEVER_S)
            kept = part.run().distinct
            stored = bytes_in(folder / "part")
            rest = with_checkpoints(plain, folder / "rest", NEVER_S, folder / "part")
            resuming.append((rest.run(), plain.run()))
        loads.append(os.getloadavg()[0])
    assert len({run.distinct for runs in (*writing, *resuming) for run in runs}) == 1
    pairs = [
        pairing(name, f"{plain.name}, CPU", [(a.cpu_s, b.cpu_s) for a, b in spent])
        for name, spent in (
            (f"a checkpoint each {EVERY_S} s, CPU", writing),
            (f"resumed after {kept:,} states, CPU", resuming),
        )
    ]
    for pair in pairs:
        sys.stdout.write(f"{pair}\n")
    facts: dict[str, object] = {
        "model": f"Kip320 {LARGE}",
        "load": [round(load, 1) for load in loads],
        "states_of_the_checkpoint": kept,
        "bytes_of_the_checkpoint": stored,
        "bytes_a_state": round(stored / kept, 2),
        "checkpoints_written": files,
        "run with checkpoints": writing[-1][0].figures(),
        "run resumed": resuming[-1][0].figures(),
        "run without": writing[-1][1].figures(),
    }
    sys.stdout.write(f"kept in {write_results('explore-checkpoints', pairs, facts)}\n")


if __name__ == "__main__":
    main()
