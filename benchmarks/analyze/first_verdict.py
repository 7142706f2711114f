"""Measures the time to a first verdict on 10,000 operations, for whole commands from start to exit.

    python -m benchmarks.analyze.first_verdict

One baseline is a Spark program that only starts a session and runs one mapInArrow. Spark is also
measured with the archive of its classes, which `urteil doctor --spark-archive` makes; the baseline
is then the same command without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.analyze.synthesis import Synthesis, synthesize
from benchmarks.pairs import Pairing, paired, write_results

ROWS: Final = 34_000  # about 10,000 operations
RUNS: Final = 3
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
        _done(made, URTEIL, "doctor", "--spark-archive", **archived)
        return [
            paired(
                ("urteil analyze, 10,000 operations", lambda: _done(made, *analyze)),
                (
                    "a bare Spark session and one mapInArrow",
                    lambda: _done(made, sys.executable, "-c", BARE),
                ),
                runs=RUNS,
            ),
            paired(
                (
                    "urteil analyze with the archive of Spark's classes",
                    lambda: _done(made, *analyze, **archived),
                ),
                ("urteil analyze without it", lambda: _done(made, *analyze)),
                runs=RUNS,
            ),
            paired(
                (
                    "urteil analyze --engine local, 10,000 operations",
                    lambda: _done(made, *analyze, "--engine", "local"),
                ),
                (
                    "python -c 'import pyarrow'",
                    lambda: _done(made, sys.executable, "-c", "import pyarrow"),
                ),
                runs=RUNS,
            ),
        ]


def _done(folder: str, *words: str, **environment: str) -> None:
    cache = {"XDG_CACHE_HOME": str(Path(folder) / "cache")}  # without an archive
    variables = {**os.environ, **cache, **environment}
    subprocess.run(words, check=True, cwd=folder, capture_output=True, env=variables)


if __name__ == "__main__":
    found = run()
    for pairing in found:
        sys.stdout.write(
            f"{pairing.ours}: {pairing.ours_s.median} s; {pairing.baseline}: "
            f"{pairing.baseline_s.median} s; ratio {pairing.ratio.median}\n"
        )
    sys.stdout.write(f"  kept in {write_results('first_verdict', found)}\n")
