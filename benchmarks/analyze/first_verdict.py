"""Measures the time to a first verdict on 10,000 operations: whole commands, from start to exit.

    python -m benchmarks.analyze.first_verdict

Each command on the left is compared with the baseline on the right:

    urteil analyze                   a Spark program that starts a session and runs one mapInArrow
    urteil analyze with an archive   urteil analyze without an archive
      of Spark's classes (urteil doctor --spark-archive)
    urteil analyze --engine local    python -c 'import pyarrow'

On a machine with other work, only the CPU times are meaningful. A CPU time includes all processes
of a command.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.analyze.costs import Spent, run_command
from benchmarks.analyze.synthesis import Synthesis, synthesize
from benchmarks.pairs import Pairing, pairing, write_results

ROWS: Final = 54_500  # 10,057 operations
RUNS: Final = 5
URTEIL: Final = str(Path(sys.executable).with_name("urteil"))
BARE: Final = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
assert spark.range(1000).mapInArrow(lambda batches: batches, "id long").toArrow().num_rows == 1000
spark.stop()
"""


def run() -> list[Pairing]:
    with tempfile.TemporaryDirectory() as made:
        history = Path(made) / "history"
        synthesize(Synthesis(folder=history, rows=ROWS))
        analyze = (URTEIL, "analyze", str(history))
        archived = {"XDG_CACHE_HOME": str(Path(made) / "archived")}
        _spent(made, (URTEIL, "doctor", "--spark-archive"), archived)
        on_spark = ("urteil analyze, 10,000 operations", analyze, {})
        return [
            *_pairings(
                made,
                on_spark,
                ("a bare Spark session and one mapInArrow", (sys.executable, "-c", BARE), {}),
            ),
            *_pairings(
                made,
                ("urteil analyze with the archive of Spark's classes", analyze, archived),
                ("urteil analyze without it", analyze, {}),
            ),
            *_pairings(
                made,
                (
                    "urteil analyze --engine local, 10,000 operations",
                    (*analyze, "--engine", "local"),
                    {},
                ),
                (
                    "python -c 'import pyarrow'",
                    (sys.executable, "-c", "import pyarrow"),
                    {},
                ),
            ),
        ]


_Command = tuple[str, tuple[str, ...], dict[str, str]]  # its name, its words, its environment


def _pairings(folder: str, ours: _Command, baseline: _Command) -> Iterator[Pairing]:
    names, words, variables = zip(ours, baseline, strict=True)
    commands = list(zip(words, variables, strict=True))
    for command in commands:  # a warm-up
        _spent(folder, *command)
    spent = [[_spent(folder, *command) for command in commands] for _ in range(RUNS)]
    for field, kind in enumerate(("CPU", "wall")):
        seconds = [(mine[field], other[field]) for mine, other in spent]
        yield pairing(f"{names[0]}: {kind}", f"{names[1]}: {kind}", seconds)


def _spent(folder: str, words: tuple[str, ...], environment: dict[str, str]) -> Spent:
    variables = {
        **os.environ,
        "XDG_CACHE_HOME": str(Path(folder) / "cache"),  # without an archive
        "PYTHONPYCACHEPREFIX": str(Path(folder) / "bytecode"),
        **environment,
    }
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return run_command(words, cwd=folder, env=variables)


if __name__ == "__main__":
    found = run()
    for one in found:
        sys.stdout.write(
            f"{one.ours} {one.ours_s.median} s; {one.baseline} {one.baseline_s.median} s; "
            f"ratio {one.ratio.median}\n"
        )
    sys.stdout.write(f"  kept in {write_results('first_verdict', found)}\n")
